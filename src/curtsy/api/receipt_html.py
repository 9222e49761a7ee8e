"""The receipt as an HTML page to print or to send to the site's owner; it loads no resources."""

from html import escape

from curtsy.api.schemas.receipts import CourtesyReceipt, ReceiptDay

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 3rem auto; padding: 0 1rem;
       color: #1b1b1b; background: #fff; }
h1 { font-size: 1.6rem; margin-bottom: 0; } p.lead { margin-top: .25rem; color: #555; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th { font-size: .8rem; vertical-align: bottom; white-space: normal; }
th:first-child, td:first-child { text-align: left; }
tfoot td { font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { color: #555; } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 40rem) { table { display: block; overflow-x: auto; } }
"""
HEADS = ("Day (UTC)", "Requests", "Smallest gap", "Waits you asked for", "Unchanged (304)",
         "Received", "Not sent again", "Left out by robots.txt")  # fmt: skip


def page(receipt: CourtesyReceipt) -> str:
    hosts = ", ".join(receipt.hosts) or receipt.source
    facts = {
        "Our user agent": receipt.user_agent,
        "Limits, as of now": _promised(receipt),
        "robots.txt": "read and obeyed" if receipt.obeys_robots else "not requested",
        "As of": receipt.as_of,
    }
    terms = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    heads = "".join(f"<th scope=col>{head}</th>" for head in HEADS)
    days = "".join(f"<tr>{_cells(day.day or '', day)}</tr>" for day in receipt.days)
    none = f"<tr><td colspan={len(HEADS)}>No request in these days.</td></tr>"
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width'>"
        f"<title>Courtesy receipt: {escape(receipt.source)}</title><style>{STYLE}</style>"
        f"<h1>Courtesy receipt</h1><p class=lead>Our requests to {escape(hosts)}</p>"
        f"<dl>{terms}</dl><table><thead><tr>{heads}</tr></thead><tbody>{days or none}</tbody>"
        f"<tfoot><tr>{_cells('Total', receipt.total)}</tr></tfoot></table></html>"
    )


def _promised(receipt: CourtesyReceipt) -> str:
    gap, limit, at_once = (receipt.promised_gap_seconds, receipt.promised_requests_per_hour,
                           receipt.promised_at_once)  # fmt: skip
    promises = [f"one request every {gap:g} s"] if gap else []
    promises += [f"{limit} in any hour"] if limit else []
    promises.append(f"{at_once} at once" if at_once > 1 else "one at a time")
    return ", ".join(promises)


def _cells(name: str, day: ReceiptDay) -> str:
    gap = f"{day.smallest_gap_seconds:.3f} s" if day.smallest_gap_seconds is not None else "–"
    cells = (name, f"{day.requests:,}", gap, f"{day.retry_afters_honoured:,}",
             f"{day.not_modified:,}", _size(day.bytes), _size(day.bytes_saved),
             f"{day.robots_refusals:,}")  # fmt: skip
    return "".join(f"<td>{escape(cell)}</td>" for cell in cells)


def _size(number: int) -> str:
    size, units = float(number), ["bytes", "kB", "MB", "GB"]
    while size >= 1_000 and len(units) > 1:
        size, units = size / 1_000, units[1:]
    return f"{number} bytes" if units[0] == "bytes" else f"{size:.1f} {units[0]}"
