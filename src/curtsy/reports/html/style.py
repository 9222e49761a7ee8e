"""The style sheet of the page, and the content policy that allows it and nothing else."""

import base64
import hashlib

STYLE = """
:root { color-scheme: light dark; --ink: #1a2230; --soft: #566171; --line: #dfe4ea; --back: #fff;
  --card: #f5f7f9; --good: #2f6fb0; --bad: #c8500f; --p50: #2f6fb0; --p95: #7d4ba3;
  --better: #17693b; --worse: #a8330b; --capacity: #c8500f; --politeness: #8db4d9;
  --closed: #b9c1cb; --backoff: #d9b665; --notice: #fff6e5; --edge: #d99a2b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #a3adba; --line: #313b48;
  --back: #12171e; --card: #1b222c; --good: #5a9bdc; --bad: #f08a4b; --p50: #5a9bdc;
  --p95: #bd93e0; --better: #6cc992; --worse: #f59a72; --capacity: #f08a4b;
  --politeness: #4a7cab; --closed: #5f6b7a; --backoff: #b3914a; --notice: #2a2416;
  --edge: #b3832d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.25rem 3rem; background: var(--back);
  color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.1rem; margin: 2.4rem 0 .6rem; }
p { margin: .4rem 0; max-width: 46rem; }
.lead, .note, caption, footer { color: var(--soft); }
.note, footer { font-size: .87rem; }
.period { font-size: 1.05rem; margin: 0; }
.cards { display: grid; grid-template-columns: repeat(4, 1fr); gap: .7rem; margin: 1.4rem 0 0;
  padding: 0; list-style: none; }
.cards.small { grid-template-columns: repeat(5, 1fr); margin-top: .7rem; }
.cards li { background: var(--card); border-radius: .5rem; padding: .7rem .85rem; }
.cards span { display: block; }
.label, .change { font-size: .82rem; color: var(--soft); }
.small .value { font-size: 1.15rem; }
.value { font-size: 1.6rem; font-weight: 600; line-height: 1.35; font-variant-numeric:
  tabular-nums; }
.change.better { color: var(--better); } .change.worse { color: var(--worse); }
.findings { background: var(--notice); border-left: 4px solid var(--edge); padding: .7rem 1rem
  .7rem 2rem; margin: 0; border-radius: 0 .4rem .4rem 0; }
.findings li { margin: .15rem 0; overflow-wrap: anywhere; }
.calm { background: var(--card); border-left: 4px solid var(--better); padding: .6rem 1rem;
  border-radius: 0 .4rem .4rem 0; max-width: none; }
figure { margin: 0; break-inside: avoid; }
svg { display: block; overflow: visible; }
figure { padding-left: 2.7rem; }
figure .legend { margin-left: -2.7rem; }
.chart { margin-top: .3rem; }
.tick { font-size: 11px; fill: var(--soft); }
.grid { stroke: var(--line); } .axis { stroke: var(--soft); }
.good { fill: var(--good); } .bad { fill: var(--bad); }
.line { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; stroke-linejoin: round;
  stroke-linecap: round; }
.line.p50 { stroke: var(--p50); } .line.p95 { stroke: var(--p95); stroke-dasharray: 5 4; }
.swatch .p50 { fill: var(--p50); } .swatch .p95 { fill: var(--p95); }
.hover { fill: transparent; } .hover:hover { fill: var(--ink); fill-opacity: .09; }
.part { stroke: var(--back); stroke-width: 1.5; }
.capacity { fill: var(--capacity); } .politeness { fill: var(--politeness); }
.closed { fill: var(--closed); } .backoff { fill: var(--backoff); } .slow { fill: var(--p95); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.3rem; margin: .4rem 0; padding: 0;
  list-style: none; font-size: .87rem; }
.swatch { display: inline-block; margin-right: .4rem; vertical-align: -1px; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric:
  tabular-nums; }
caption { text-align: left; padding: 0 0 .3rem; font-size: .87rem; }
th, td { padding: .35rem .55rem; text-align: left; vertical-align: top; border-bottom: 1px solid
  var(--line); }
th:first-child { padding-left: 0; } td:last-child { padding-right: 0; }
thead th { font-size: .8rem; font-weight: 600; color: var(--soft); white-space: nowrap;
  vertical-align: bottom; }
tbody th { font-weight: 500; overflow-wrap: anywhere; min-width: 7.5rem; }
.narrow table { width: auto; min-width: min(100%, 38rem); }
.number { text-align: right; white-space: nowrap; }
.bars { width: 22%; min-width: 4.5rem; vertical-align: middle; }
.words { min-width: 13rem; }
.worse { color: var(--worse); } .better { color: var(--better); }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: .1rem
  1.5rem; margin: .5rem 0; font-size: .93rem; }
.facts div { display: flex; justify-content: space-between; gap: 1rem; border-bottom: 1px solid
  var(--line); padding: .3rem 0; }
dt { color: var(--soft); } dd { margin: 0; font-weight: 500; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
details { margin: .5rem 0; font-size: .9rem; } summary { cursor: pointer; color: var(--soft); }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .8rem; }
@media (max-width: 30rem) { body { padding: 1.2rem .9rem 2rem; } h1 { font-size: 1.35rem; }
  .cards, .cards.small { grid-template-columns: 1fr 1fr; gap: .5rem; margin-top: .5rem; }
  .value { font-size: 1.25rem; } .small li:last-child { grid-column: span 2; }
  .bars, .aside, .words:has(+ .words) { display: none; } .words { min-width: 7.5rem; }
  table { font-size: .84rem; } thead th { white-space: normal; } tbody th { min-width: 5.5rem; }
  th, td { padding: .35rem .4rem; } }
@media (min-width: 30.01rem) and (max-width: 48rem) { .cards { grid-template-columns: 1fr 1fr; }
  .cards.small { grid-template-columns: repeat(3, 1fr); } }
@page { size: A4; margin: 14mm; }
@media print { :root { color-scheme: light; --ink: #111; --soft: #444; --line: #ccc; --back: #fff;
  --card: #f5f7f9; --good: #2f6fb0; --bad: #c8500f; --p50: #2f6fb0; --p95: #7d4ba3;
  --better: #17693b; --worse: #a8330b; --capacity: #c8500f; --politeness: #8db4d9;
  --closed: #b9c1cb; --backoff: #d9b665; --notice: #fff6e5; --edge: #d99a2b; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { padding: 0; max-width: none; font-size: 10pt; } h2 { break-after: avoid; }
  .table { overflow: visible; } .table, tr, .cards li, .findings li { break-inside: avoid; }
  thead { display: table-header-group; } details { display: none; }
  .cards { grid-template-columns: repeat(4, 1fr); }
  .cards.small { grid-template-columns: repeat(5, 1fr); }
  .cards li { padding: .5rem .6rem; }
  .label, .change { font-size: .75rem; } }
"""


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


STYLE_SOURCE = f"style-src {_source(STYLE)}"
"""Names the style sheet in a content policy."""
CONTENT_POLICY = f"default-src 'none'; base-uri 'none'; form-action 'none'; {STYLE_SOURCE}"
"""In the page itself, so that it also holds for a file; a server sends one with more in it."""
