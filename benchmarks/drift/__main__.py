"""A simulated year of many robots, watched night by night.

    python -m benchmarks.drift --robots 200 --days 365 --seed 0 [--whole 5] [--json FILE]

The first robots have whole logs: a plant written apart from the library (tests/machines) with
belts, a log every week, each identified with fixed terms. The others are drawn with the statistics
of those, a night each day. Every robot has a season; most record their temperature. Half of the
robots get a fault.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.drift.draw import Statistics, drawn_year, statistics
from benchmarks.drift.faults import KINDS, Fault, drawn
from benchmarks.drift.score import Score, Scores
from benchmarks.drift.whole import Year, all_years
from deltadyn.history.drift import Drift, drift

WEEK = 7.0  # days between whole logs
STATED = 20.0  # years of a robot per false alarm


def main() -> None:
    """Run, print the table, write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--robots", type=int, default=200)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--whole", type=int, default=5, help="robots with whole logs, at least 1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", default=None, metavar="FILE")
    parser.add_argument("--pages", default=None, metavar="FOLDER", help="pages of whole robots")
    asked = parser.parse_args()
    start = time.process_time()
    rng = np.random.default_rng(asked.seed)
    years, found = whole(asked.whole, asked.days, asked.seed, rng)
    scores = Scores()
    logged = Scores()
    for year, item in zip(years, found, strict=True):
        scores.add(year, item)
        logged.add(year, item)
        print(item, "\n   planted:", year.fault, flush=True)
        if asked.pages:
            item.page(Path(asked.pages) / f"{item.serial}.html")
    known = statistics(years, found)
    for number in range(asked.robots - asked.whole):
        year = drawn_robot(number, asked.days, asked.seed, known)
        scores.add(year, drift(year.entries))
    record = record_of(scores) | {
        "robots": asked.robots,
        "days": asked.days,
        "whole": record_of(logged),
        "seconds": time.process_time() - start,
    }
    print(table(scores, record))
    if asked.json:
        Path(asked.json).write_text(json.dumps(record, indent=1), "utf-8")


def whole(
    count: int, days: int, seed: int, rng: np.random.Generator
) -> tuple[list[Year], list[Drift]]:
    """Robots with whole logs, one of each kind of fault and one without; what was found in each."""
    faults: list[Fault | None] = [
        drawn(kind, days, rng, repaired=0.0) if kind else None for kind in (None, *KINDS)
    ]
    chosen = [faults[number % len(faults)] for number in range(count)]
    years = list(all_years(chosen, np.arange(0.0, days, WEEK), seed))
    return years, [drift(year.entries) for year in years]


def drawn_robot(number: int, days: int, seed: int, known: Statistics) -> Year:
    """The drawn robot of a number: every second one has a fault, of the kinds in turn."""
    kind = KINDS[number // 2 % len(KINDS)] if number % 2 else None
    rng = np.random.default_rng([seed, number])
    return drawn_year(f"drawn-{number + 1}", kind, days, known, rng)


def record_of(scores: Scores) -> dict[str, Any]:
    """The figures, with the sentence for a table and whether it is what is promised."""
    faults = {kind: _kind(score) for kind, score in scores.kinds.items() if score.planted}
    planted = sum(score.planted for score in scores.kinds.values())
    found = sum(score.found for score in scores.kinds.values())
    allowed = scores.robot_years / STATED
    return {
        "figure": f"{found} of {planted} faults found, {len(scores.false)} false alarms in "
        f"{scores.robot_years:.0f} robot-years ({allowed:.1f} stated)",
        # a Poisson count: 2 deviations above what is stated
        "reached": bool(found == planted and len(scores.false) <= allowed + 2 * np.sqrt(allowed)),
        "faults": faults,
        "robot_years": scores.robot_years,
        "false_alarms": scores.false,
        "false_per_robot_year": len(scores.false) / max(scores.robot_years, 1e-9),
        "further_alarms": scores.further,
        "repairs": scores.repairs,
        "repairs_found": scores.repairs_found,
        "odd_nights": scores.odd,
        "causes": scores.told,
    }


def _kind(score: Score) -> dict[str, Any]:
    delays = score.delays or [float("nan")]
    return {
        "planted": score.planted,
        "found": score.found,
        "delay_median_days": float(np.median(delays)),
        "delay_worst_days": float(np.max(delays)),
        "date_covered": score.covered,
        "cause_right": score.named,
        "size_ratio_median": float(np.median(score.sizes)) if score.sizes else None,
        "size_ratio_spread": [float(x) for x in np.quantile(score.sizes, (0.05, 0.95))]
        if score.sizes
        else None,
        "size_inside": score.inside,
        "missed": score.missed,
    }


def table(scores: Scores, record: dict[str, Any]) -> str:
    """The figures as a table of Markdown."""
    lines = [
        "| fault | found | delay in days, median (worst) | date within its interval | cause right "
        "| size found over planted, median (5 to 95 %) |",
        "|---|---|---|---|---|---|",
    ]
    for kind, item in record["faults"].items():
        low, high = item["size_ratio_spread"] or (float("nan"),) * 2
        lines.append(
            f"| {kind} | {item['found']} of {item['planted']} | {item['delay_median_days']:.1f} "
            f"({item['delay_worst_days']:.1f}) | {item['date_covered']} | {item['cause_right']} | "
            f"{item['size_ratio_median']:.3f} ({low:.2f} to {high:.2f}) |"
        )
    lines += ["", record["figure"], f"repairs found: {scores.repairs_found} of {scores.repairs}"]
    lines += [f"causes told (right, of all): {scores.told}", f"odd nights: {scores.odd}"]
    lines += [f"further alarms of a fault: {scores.further}"]
    lines += [f"false: {text}" for text in scores.false]
    lines += [f"missed: {text}" for item in scores.kinds.values() for text in item.missed]
    lines += [f"{record['seconds']:.0f} s of the processor"]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
