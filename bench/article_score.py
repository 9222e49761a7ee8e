"""`python -m bench.article_score PAGES`: how well and how fast articles are extracted from a folder
of saved pages whose true text is known: the scraper, the way it took before, and trafilatura.

PAGES holds `<id>.html` or `<id>.html.gz`, itself or in a folder `html`. The truths are an object
of `{id: {"articleBody": …, "url": …}}`, where `title`, `author` and `date` may stand too.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.article_contestants import CONTESTANTS, SavedPage, hand_over, saved_pages
from bench.article_measures import Score, agrees, pooled_f1, score

METADATA = ("title", "author", "date")
REFERENCE = "trafilatura"
"""Where no truth is known, metadata are compared with what this contestant says."""
RESAMPLES = 2_000


@dataclass(slots=True)
class Results:
    """What one contestant did, by page."""

    scores: dict[str, Score] = field(default_factory=dict)
    parts: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.article_score", description=__doc__)
    parser.add_argument("pages", type=Path)
    parser.add_argument("--truths", type=Path, help="default: PAGES/ground-truth.json")
    parser.add_argument("--seed", type=int, default=16, help="of the split into tune and check")
    parser.add_argument(
        "--worst", type=int, default=0, help="print this many pages of the tune part"
    )
    chosen = parser.parse_args(arguments)
    truths = json.loads((chosen.truths or chosen.pages / "ground-truth.json").read_bytes())
    pages = [page for page in saved_pages(chosen.pages, truths) if page.id in truths]
    if not pages:
        raise SystemExit("No page of the folder has a truth.")
    results, reasons = measure(pages, truths)
    tune, check = split([page.id for page in pages], chosen.seed)
    print(f"{len(pages)} pages, seed {chosen.seed}: {len(tune)} to tune, {len(check)} to check")
    for name, ids in {"all": tune + check, "tune": tune, "check": check}.items():
        report(name, ids, results, reasons, truths)
    if chosen.worst:
        show_worst(tune, results, reasons, chosen.worst)


def split(ids: Sequence[str], seed: int) -> tuple[list[str], list[str]]:
    shuffled = sorted(ids)
    random.Random(seed).shuffle(shuffled)
    at = len(shuffled) * 2 // 3
    return shuffled[:at], shuffled[at:]


def measure(
    pages: Sequence[SavedPage], truths: Mapping[str, Any]
) -> tuple[dict[str, Results], dict[str, str | None]]:
    """Lets the contestants take turns on every page, after one turn that is not counted."""
    results = {name: Results() for name in CONTESTANTS}
    reasons = {}
    for extract in CONTESTANTS.values():
        extract(pages[0])
    for number, page in enumerate(pages):
        order = list(CONTESTANTS.items())
        turn = number % len(order)
        for name, extract in order[turn:] + order[:turn]:
            parts, spent = timed(extract, page)
            results[name].parts[page.id] = parts
            results[name].milliseconds[page.id] = spent
            text = parts.get("text") or ""
            results[name].scores[page.id] = score(truths[page.id]["articleBody"], text)
        reasons[page.id] = hand_over(page)
    return results, reasons


def timed(
    extract: Callable[[SavedPage], Mapping[str, Any]], page: SavedPage
) -> tuple[Mapping[str, Any], float]:
    began = time.process_time()
    parts = extract(page)
    return parts, 1_000 * (time.process_time() - began)


def report(
    part: str,
    ids: Sequence[str],
    results: Mapping[str, Results],
    reasons: Mapping[str, str | None],
    truths: Mapping[str, Any],
) -> None:
    handed = sum(reasons[page] is not None for page in ids) / len(ids)
    print(f"\n{part} ({len(ids)} pages; {handed:.1%} handed over)")
    print(f"{'':16}{'F1':>7}{'pooled':>7}{'P':>7}{'R':>7}{'title':>7}{'author':>7}{'date':>7}"
          f"{'mean':>8}{'p50':>7}{'p95':>7} ms")  # fmt: skip
    for name, of in results.items():
        scores = [of.scores[page] for page in ids]
        right = [metadata(key, ids, of, results[REFERENCE], truths) for key in METADATA]
        spent = sorted(of.milliseconds[page] for page in ids)
        print(f"{name:16}{fmean(s.f1 for s in scores):7.4f}{pooled_f1(scores):7.4f}"
              f"{fmean(s.precision for s in scores):7.4f}{fmean(s.recall for s in scores):7.4f}"
              f"{''.join(f'{r:7.3f}' for r in right)}"
              f"{fmean(spent):8.2f}{at(spent, 0.5):7.2f}{at(spent, 0.95):7.2f}")  # fmt: skip
    ours, *others = results
    for other in others:
        low, mean, high = difference(ids, results[ours], results[other])
        share = sum(results[ours].milliseconds[p] for p in ids) / sum(
            results[other].milliseconds[p] for p in ids
        )
        print(f"{ours} against {other}: F1 {mean:+.4f} (95 %: {low:+.4f} to {high:+.4f}), "
              f"{share:.3f} of its time")  # fmt: skip


def metadata(
    key: str, ids: Sequence[str], of: Results, reference: Results, truths: Mapping[str, Any]
) -> float:
    """Returns the share of pages that are right, or that agree with the reference."""
    named = [page for page in ids if key in truths[page]]
    if named:
        return fmean(agrees(key, truths[page][key], of.parts[page].get(key)) for page in named)
    pairs = ((reference.parts[page].get(key), of.parts[page].get(key)) for page in ids)
    return fmean(agrees(key, theirs, mine) for theirs, mine in pairs)


def difference(ids: Sequence[str], ours: Results, theirs: Results) -> tuple[float, float, float]:
    """Returns the mean difference of F1 and the bounds of its paired bootstrap."""
    differences = [ours.scores[page].f1 - theirs.scores[page].f1 for page in ids]
    rng = random.Random(0)
    means = sorted(fmean(rng.choices(differences, k=len(ids))) for _ in range(RESAMPLES))
    return at(means, 0.025), fmean(differences), at(means, 0.975)


def at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def show_worst(
    ids: Sequence[str],
    results: Mapping[str, Results],
    reasons: Mapping[str, str | None],
    number: int,
) -> None:
    ours = next(iter(results.values()))
    print("\nThe worst pages of the tune part: F1, precision, recall of each contestant")
    for page in sorted(ids, key=lambda id_: ours.scores[id_].f1)[:number]:
        each = "  ".join(
            f"{of.scores[page].f1:.3f} {of.scores[page].precision:.3f} {of.scores[page].recall:.3f}"
            for of in results.values()
        )
        print(f"{page[:20]:22}{each}  {reasons[page] or ''}")


if __name__ == "__main__":
    main(sys.argv[1:])
