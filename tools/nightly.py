"""The long campaigns, one after the other, and a table of what each promise came to.

Run: python -m tools.nightly [--list] [--only NAME,...] [--out FOLDER]

A campaign is a command with a time limit. Its figure is read from what it wrote, and held against
what is promised. A campaign that fails does not stop the others; exit status 1 says that one did.
Each leaves NAME.log in the folder; summary.json there keeps the last result of every campaign.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path("build") / "nightly"
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
COVERED = 92.0  # percent of 95 % intervals that hold the truth, over all machines
ALARMS = 3.0  # false contacts over the stated number


@dataclass(frozen=True)
class Figure:
    """What a campaign came to, in words, and whether that is what was promised."""

    text: str
    reached: bool


@dataclass(frozen=True)
class Campaign:
    """A command of `python -m` with its promise.

    Words of the command may hold {out}, the folder of results. `figure` reads the folder.
    """

    name: str
    promise: str
    command: str
    minutes: float  # limit of time
    figure: Callable[[Path], Figure]
    environment: Mapping[str, str] = field(default_factory=dict)

    def words(self, out: Path) -> list[str]:
        """The whole command."""
        return [sys.executable, "-m", *(word.format(out=out) for word in self.command.split())]

    def outputs(self, out: Path) -> list[Path]:
        """The files and folders of results that the command names."""
        words = self.command.split()
        return [Path(word.format(out=out)) for word in words if word.startswith("{out}/")]


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    name: str
    promise: str
    figure: str
    passed: bool
    minutes: float
    date: str


def stated(name: str) -> Callable[[Path], Figure]:
    """A JSON file that holds its own `figure` (text) and `reached` (true or false)."""

    def read(out: Path) -> Figure:
        found = _json(out / name)
        return Figure(str(found["figure"]), found["reached"] is True)

    return read


def junit(name: str) -> Callable[[Path], Figure]:
    """Tests that ran, and how many of them failed; none at all is a failure."""

    def read(out: Path) -> Figure:
        suites = list(ElementTree.parse(out / name).getroot().iter("testsuite"))
        ran, skipped, bad = (
            sum(int(suite.get(key, "0")) for suite in suites for key in keys)
            for keys in (("tests",), ("skipped",), ("failures", "errors"))
        )
        ran -= skipped
        more = f", {skipped} skipped" if skipped else ""
        return Figure(f"{ran - bad} of {ran} tests passed{more}", ran > 0 and not bad)

    return read


def intervals(name: str) -> Callable[[Path], Figure]:
    """Fits that ended, and how many of their 95 % intervals hold the truth."""

    def read(out: Path) -> Figure:
        lines = (out / name).read_text("utf-8").splitlines()
        trials = [trial for trial in map(json.loads, lines) if trial["way"] == "auto"]
        held = [inside for trial in trials for inside in trial["covered"].values()]
        ended = sum(not trial["broken"] for trial in trials)
        share = 100 * sum(held) / max(1, len(held))
        text = f"{ended} of {len(trials)} fits end, {share:.1f} % of {len(held)} intervals hold"
        return Figure(text, bool(held) and ended == len(trials) and share >= COVERED)

    return read


def foreign(out: Path) -> Figure:
    """Conventions that are decided and wrong, and right logs that are changed."""
    cases = _json(out / "foreign.json")
    bad = sum(case["foreign"] and case["decided"] and bool(case["wrong"]) for case in cases)
    right = [case for case in cases if not case["foreign"]]
    alarms = sum(case["changed"] or case["refused"] or bool(case["wrong"]) for case in right)
    text = f"{bad} of {len(cases) - len(right)} decided wrong, {alarms} of {len(right)} changed"
    return Figure(text, bool(cases) and not bad and not alarms)


def homing(out: Path) -> Figure:
    """Right logs that are changed or refused, and homing errors that are neither found nor open."""
    cases = _json(out / "homing.json")
    right, off = ([c for c in cases if any(c["offset_deg"]) is kind] for kind in (False, True))
    wrong = [sum(case["answer"] == "wrong" for case in part) for part in (right, off)]
    found = sum(case["answer"] == "right" for case in off)
    text = f"{wrong[0]} of {len(right)} right logs and {wrong[1]} of {len(off)} homing errors wrong"
    return Figure(f"{text}; {found} decided", bool(cases) and not any(wrong))


def contacts(out: Path) -> Figure:
    """False contacts at the limit for one an hour, over the hours of empty motion."""
    hours = count = 0.0
    for record in _json(out / "force.json").values():
        for row in record.get("alarms", ()):
            hours += row["hours"]
            count += row["count"]["1.0"]
    return Figure(f"{count:.0f} in {hours:.0f} h", hours > 0 and count <= ALARMS * hours)


def picks(out: Path) -> Figure:
    """Picks that the bank of hypotheses saw, and its false ones."""
    rows = [row for row in _json(out / "payload.json")["rows"] if row["by"] == "bank"]
    pairs = [row["seen"].split("/") for row in rows]
    seen, made = (sum(int(pair[k]) for pair in pairs) for k in (0, 1))
    false = sum(row["false"] for row in rows)
    return Figure(f"{seen} of {made} seen, {false} false", 0 < made == seen and not false)


def family(out: Path) -> Figure:
    """Largest rest of a fit, and distance of its exported C, over all kinds of robots."""
    lines = [line.split("|") for line in (out / "family.log").read_text("utf-8").splitlines()]
    rows = [cells for cells in lines if len(cells) == 8 and cells[3].strip().endswith("%")]
    left = max((float(cells[3].strip(" %")) for cells in rows), default=100.0)
    apart = max((float(cells[5]) for cells in rows), default=1.0)
    text = f"{len(rows)} kinds, rest {left:.2f} %, C {apart:.0e} of the torque"
    return Figure(text, left <= 1.5 and apart <= 1e-12)


def calibration(out: Path) -> Figure:
    """Figures of calibration that are reached, of those that are asked for."""
    asked = [row for row in _json(out / "calibration.json") if row["reached"] is not None]
    reached = sum(row["reached"] for row in asked)
    return Figure(f"{reached} of {len(asked)} figures reached", 0 < len(asked) == reached)


def materials(out: Path) -> Figure:
    """Packages in the bill of materials, and those without a licence."""
    found = _json(out / "sbom.json")["components"]
    bare = sum(not item["licenses"][0]["license"]["name"] for item in found)
    return Figure(f"{len(found)} packages, {bare} without a licence", bool(found) and not bare)


CAMPAIGNS = (
    Campaign(
        "crash",
        "killed or refused by the disk at any write, every command leaves old or new results whole",
        "tests.crash.campaign --out {out}/crash.json",
        240,
        stated("crash.json"),
    ),
    Campaign(
        "lowest",
        "the core's tests pass with the lowest versions that pyproject.toml allows",
        "tools.lowest --json {out}/lowest.json",
        60,
        stated("lowest.json"),
    ),
    Campaign(
        "licences",
        "every dependency has a known licence that fits",
        "tools.licences --json {out}/licences.json",
        5,
        stated("licences.json"),
    ),
    Campaign(
        "sbom",
        "a bill of materials of the package with all its extras",
        "tools.sbom {out}/sbom.json",
        5,
        materials,
    ),
    Campaign(
        "machines",
        f"every fit ends; 95 % intervals hold {COVERED:g} % of the truths",
        "benchmarks.machines --seeds 0-19 --workers 2 "
        "--json {out}/machines.jsonl --table {out}/machines.md",
        120,
        intervals("machines.jsonl"),
    ),
    Campaign(
        "machines-4",
        f"the same with a fourth axis; {COVERED:g} %",
        "benchmarks.machines --seeds 0-19 --dof 4 --workers 2 "
        "--json {out}/machines-4.jsonl --table {out}/machines-4.md",
        180,
        intervals("machines-4.jsonl"),
    ),
    Campaign(
        "verdict",
        "no accurate model refused, no plain good with an alarm or a missed parameter",
        "benchmarks.verdict --seeds 0-9 --workers 2 "
        "--json {out}/verdict.jsonl --figure {out}/verdict.json",
        90,
        stated("verdict.json"),
    ),
    Campaign(
        "foreign",
        "no log decided wrong, no right log changed",
        "benchmarks.foreign --cases 200 --out {out}/foreign.json",
        30,
        foreign,
    ),
    Campaign(
        "homing",
        "no constant torque taken for a homing error, none of these hidden",
        "benchmarks.homing --cases 200 --out {out}/homing.json",
        30,
        homing,
    ),
    Campaign(
        "force",
        f"at most {ALARMS:g} false contacts an hour where 1 is stated",
        "benchmarks.force --seeds 0-4 --hours 8 --presets lab,industrial "
        "--json {out}/force.json --page {out}/force.html",
        900,
        contacts,
    ),
    Campaign(
        "payload",
        "every pick seen, no false one",
        "benchmarks.payload --machines none,load,all --seeds 0-9 --empty 1000 "
        "--estimator bank,least-squares --json {out}/payload.json",
        600,
        picks,
    ),
    Campaign(
        "family-path",
        "every kind: a fit leaves 1.5 %, its C is within 1e-12",
        "benchmarks.family",
        60,
        family,
    ),
    Campaign(
        "calibration",
        "every figure that is asked for",
        "benchmarks.calibration --robots 20 --json {out}/calibration.json",
        60,
        calibration,
    ),
    Campaign(
        "drift",
        "every planted fault found, at most one false alarm in 20 years of a robot",
        "benchmarks.drift --robots 200 --days 365 --seed 8 --json {out}/drift.json",
        120,
        stated("drift.json"),
    ),
    Campaign(
        "fleet",
        "a billion samples of 1,000 robots: linear within 10 %, 2 workers 1.8 times, below 1 GiB",
        "benchmarks.fleet --robots 1000 --samples 1e9 --workers 1,2 --json {out}/fleet.json",
        180,
        stated("fleet.json"),
    ),
    Campaign(
        "soak",
        "100 million samples through payload and force: memory flat, every sample accounted for",
        "benchmarks.soak --samples 1e8 --json {out}/soak.json",
        360,
        stated("soak.json"),
    ),
    Campaign(
        "studio-soak",
        "an hour of windows that come, work and vanish: memory flat, nothing left",
        "benchmarks.studio_soak --minutes 60 --json {out}/studio-soak.json",
        90,
        stated("studio-soak.json"),
    ),
    Campaign(
        "long-log",
        "an hour at 2 kHz from CSV to a fit with fixed terms in 6 s on two cores, below 1 GiB",
        "benchmarks.long_log --hours 1 --tries 3 --json {out}/long-log.json",
        30,
        stated("long-log.json"),
    ),
    Campaign(
        "damaged",
        "100,000 damaged inputs for each parser: our own errors alone",
        "tests.parsers --cases 100000 --out {out}/parsers",
        480,
        stated("parsers/figure.json"),
    ),
    Campaign(
        "guided",
        "20,000 inputs that new lines lead to: our own errors alone",
        "tests.parsers.guided --runs 20000 --out {out}/guided",
        240,
        stated("guided/figure.json"),
    ),
    Campaign(
        "family",
        "1,000 states of every kind: the engines' torque",
        "pytest -q --full tests/family tests/reference/family --junitxml {out}/family.xml",
        120,
        junit("family.xml"),
        {"DELTADYN_FAMILY_STATES": "1000"},
    ),
    Campaign(
        "states",
        "10 million random states: C and kernels within 1e-12 of NumPy",
        "benchmarks.states --states 10000000 --json {out}/states.json",
        180,
        stated("states.json"),
    ),
    Campaign(
        "sanitizers",
        "no finding in exported C and kernels, whatever they are given",
        "tools.sanitize --calls 1000000 --compilers gcc,clang --json {out}/sanitizers.json",
        120,
        stated("sanitizers.json"),
    ),
    Campaign(
        "roundings",
        "tests hold under other processors' roundings; designs of a seed are as good there",
        "tools.roundings --json {out}/roundings.json",
        900,
        stated("roundings.json"),
    ),
    Campaign(
        "mutants",
        "85 % of 500 planted faults are noticed by the tests",
        "tools.mutants --sample 500 --seed 0 --workers 2 --json {out}/mutants.json",
        600,
        stated("mutants.json"),
    ),
    Campaign(
        "coverage",
        "tests take 92 % of the branches",
        "tools.coverage --workers 2 --json {out}/coverage.json",
        180,
        stated("coverage.json"),
    ),
)


def run(campaign: Campaign, out: Path) -> Result:
    """Run one campaign, its words in NAME.log, and read its figure."""
    start, date = time.monotonic(), datetime.now(UTC).date().isoformat()
    log = out / f"{campaign.name}.log"
    for path in campaign.outputs(out):  # an old result must not pass for a new one
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    environment = os.environ | THREADS | dict(campaign.environment)
    with log.open("wb") as file:
        process = subprocess.Popen(
            campaign.words(out),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        failure = _ended(process, campaign.minutes)
    figure = _figure(campaign, out)
    text = f"{figure.text}; {failure}" if failure else figure.text
    minutes = (time.monotonic() - start) / 60
    passed = figure.reached and not failure
    return Result(campaign.name, campaign.promise, text, passed, round(minutes, 1), date)


def _ended(process: subprocess.Popen[bytes], minutes: float) -> str:
    """Wait for a process, and end it with all that it started where its time is over."""
    try:
        status = process.wait(60 * minutes)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"stopped after {minutes:g} min"
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return f"exit status {status}" if status else ""


def _figure(campaign: Campaign, out: Path) -> Figure:
    """The figure of a campaign; what cannot be read is a failure that says so."""
    try:
        return campaign.figure(out)
    except (OSError, ValueError, KeyError, TypeError, ElementTree.ParseError) as error:
        return Figure(f"no figure: {type(error).__name__}: {error}", False)


def _json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def record(out: Path, results: Sequence[Result]) -> None:
    """Put results into summary.json; campaigns that did not run keep their last."""
    path = out / "summary.json"
    known = {row["name"]: row for row in _json(path)} if path.exists() else {}
    known |= {result.name: asdict(result) for result in results}
    names = [campaign.name for campaign in CAMPAIGNS if campaign.name in known]
    part = path.with_suffix(".part")
    part.write_text(json.dumps([known[name] for name in names], indent=1) + "\n", "utf-8")
    part.replace(path)


def table(results: Sequence[Result]) -> str:
    """Campaign, promise, figure, verdict and minutes, in columns."""
    rows = [("campaign", "promise", "figure", "", "minutes")]
    rows += [
        (row.name, row.promise, row.figure, "passed" if row.passed else "FAILED", f"{row.minutes}")
        for row in results
    ]
    wide = [max(len(row[k]) for row in rows) for k in range(5)]
    return "\n".join(
        "  ".join(f"{cell:{size}}" for cell, size in zip(row, wide, strict=True)).rstrip()
        for row in rows
    )


def chosen(names: str | None) -> list[Campaign]:
    """The campaigns of a list of names, all without one."""
    if names is None:
        return list(CAMPAIGNS)
    wanted = [name.strip() for name in names.split(",")]
    known = [campaign.name for campaign in CAMPAIGNS]
    for name in wanted:
        if name not in known:
            raise SystemExit(f"--only: there is no campaign {name!r}; there are {', '.join(known)}")
    return [campaign for campaign in CAMPAIGNS if campaign.name in wanted]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaigns and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", metavar="NAME,...", help="run these alone")
    parser.add_argument("--list", action="store_true", help="print names, limits and commands")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the results")
    asked = parser.parse_args(arguments)
    campaigns = chosen(asked.only)
    if asked.list:
        for campaign in campaigns:
            own = " ".join(f"{key}={value}" for key, value in campaign.environment.items())
            command = campaign.command.format(out=asked.out)
            print(f"{campaign.name} (at most {campaign.minutes:g} min): {campaign.promise}")
            print(f"    {own + ' ' if own else ''}python -m {command}")
        return 0
    out = (asked.out if asked.out.is_absolute() else ROOT / asked.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    results = []
    for campaign in campaigns:
        print(f"{campaign.name} ...", flush=True)
        results.append(run(campaign, out))
        record(out, results)
        print(table(results[-1:]).splitlines()[1], flush=True)
    print(f"\n{table(results)}")
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
