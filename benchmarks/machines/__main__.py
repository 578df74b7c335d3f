"""The table of machines as they are: python -m benchmarks.machines --seeds 0-5.

Random machines of every cause are identified with the defaults, with the robot file's model alone
and by an oracle that knows their terms, and compared with their truth and on held-out motion. The
trials and the table go to files while it runs. A run that was stopped goes on where it stood: what
the file of trials has is not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tests.machines import CAUSES

from benchmarks.machine import machine_name
from benchmarks.machines.table import by_cause, by_way, failures, markdown, mean, plain, put
from benchmarks.machines.trial import WAYS, Asked, Trial, measure

ROBOTS = {3: "sipro-d3-1200", 4: "example-delta-4"}  # by the number of axes
FOLDER = Path("build/machines")  # of trials and tables


def seeds_of(text: str) -> list[int]:
    """The seeds of a text such as "0-5" or "3,7,9"."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def words_of(allowed: Iterable[str], what: str) -> Callable[[str], tuple[str, ...]]:
    """Reads words with commas between them, each one of those allowed."""
    names = tuple(allowed)

    def read(text: str) -> tuple[str, ...]:
        words = tuple(text.split(","))
        for word in words:
            for one in word.split("+"):
                if one not in names:
                    message = f"{what} {one!r}; allowed: {', '.join(names)}"
                    raise argparse.ArgumentTypeError(message)
        return words

    return read


def run(asked: Sequence[Asked], workers: int) -> Iterator[list[Trial]]:
    """The trials of all machines, as they are done."""
    if workers == 1:
        yield from map(measure, asked)
        return
    from joblib import Parallel, delayed  # of use only here

    done = Parallel(n_jobs=workers, return_as="generator")(delayed(measure)(item) for item in asked)
    yield from done


def read_trials(paths: Iterable[str]) -> list[Trial]:
    """Trials of earlier runs."""
    lines = [line for path in paths for line in Path(path).read_text("utf-8").splitlines()]
    return [Trial(**json.loads(line)) for line in lines if line.strip()]


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    out = argparse.ArgumentParser(
        prog="python -m benchmarks.machines", description=(__doc__ or "").splitlines()[0]
    )
    out.add_argument("--seeds", type=seeds_of, default=seeds_of("0-5"), help="as 0-5 or 1,4")
    out.add_argument(
        "--causes", type=words_of(CAUSES, "cause"), default=CAUSES, help="with commas, + joins"
    )
    robot = out.add_mutually_exclusive_group()
    robot.add_argument("--robot", help="of the catalogue, or a file; sipro-d3-1200 if left out")
    robot.add_argument(
        "--dof", type=int, choices=tuple(ROBOTS), help="a usual robot of 3 or 4 axes"
    )
    out.add_argument(
        "--methods",
        type=words_of(WAYS, "method"),
        default=("auto", "file", "oracle"),
        help=", ".join(WAYS),
    )
    out.add_argument("--strength", type=float, help="of the cause; drawn, 0.5 to 1.5, if left out")
    out.add_argument(
        "--without",
        metavar="TERM",
        help="a term that is not looked for; 'cause': those that the machine has",
    )
    out.add_argument("--workers", type=int, default=1, help="processes")
    out.add_argument(
        "--json", metavar="FILE", help=f"of the trials, one a line; in {FOLDER} if left out"
    )
    out.add_argument("--table", metavar="FILE", help="of the table; beside that of the trials")
    out.add_argument("--read", metavar="FILE", nargs="+", help="trials of earlier runs")
    out.add_argument("--out", metavar="PAGE", help="put the table into a page")
    out.add_argument("--name", default="machines", help="of the place in the page")
    out.add_argument("--by", choices=("cause", "method"), default="cause", help="rows of the table")
    return out


def asked_for(arguments: argparse.Namespace) -> list[Asked]:
    """The machines to measure: all causes of a seed, then the next seed."""
    robot = arguments.robot or ROBOTS[arguments.dof or 3]
    without = (arguments.without,) if arguments.without else ()
    return [
        Asked(cause, seed, robot, arguments.strength, tuple(arguments.methods), without)
        for seed in arguments.seeds
        for cause in arguments.causes
    ]


def file_of(arguments: argparse.Namespace) -> Path:
    """Where the trials go: by default a name that says what was asked for."""
    if arguments.json:
        return Path(arguments.json)
    robot = Path(arguments.robot or ROBOTS[arguments.dof or 3]).stem
    seeds = arguments.seeds
    parts = [robot, f"seeds-{min(seeds)}-{max(seeds)}"]
    parts += [f"strength-{arguments.strength:g}"] if arguments.strength is not None else []
    parts += [f"without-{arguments.without}"] if arguments.without else []
    return FOLDER / ("_".join(parts) + ".jsonl")


def key_of(trial: Trial | Asked) -> tuple[str, int, str]:
    """What tells machines of a run apart."""
    return trial.cause, trial.seed, trial.robot


def campaign(arguments: argparse.Namespace) -> list[Trial]:
    """Measure what is asked for and not yet in the file; the files grow with every machine."""
    path = file_of(arguments)
    path.parent.mkdir(parents=True, exist_ok=True)
    every = asked_for(arguments)
    wanted = {(*key_of(item), way) for item in every for way in item.ways}
    known = read_trials([str(path)]) if path.exists() else []
    trials = [trial for trial in known if (*key_of(trial), trial.way) in wanted]
    have = {(*key_of(trial), trial.way) for trial in trials}
    left_ways = (
        replace(item, ways=tuple(way for way in item.ways if (*key_of(item), way) not in have))
        for item in every
    )
    asked = [item for item in left_ways if item.ways]
    print(f"machine: {machine_name()}; {len(asked)} of {len(every)} machines to measure; {path}")
    start = time.perf_counter()
    for done, found in enumerate(run(asked, arguments.workers), 1):
        trials += found
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(trial.as_dict()) + "\n" for trial in found)
        write_table(arguments, path, trials)
        left = (time.perf_counter() - start) / done * (len(asked) - done)
        for trial in found:
            print(f"[{done}/{len(asked)}, {left / 60:.0f} min left] {progress(trial)}", flush=True)
    return trials


def write_table(arguments: argparse.Namespace, path: Path, trials: Sequence[Trial]) -> None:
    """The table of the trials so far, and what failed."""
    target = Path(arguments.table) if arguments.table else path.with_suffix(".md")
    told = failures(trials, way_of(trials))
    said = "\n".join(f"- {line}" for line in told)
    target.write_text(f"{markdown(rows_of(arguments, trials))}\n\n{said}\n", "utf-8")


def way_of(trials: Sequence[Trial]) -> str:
    """The way to judge: the default, where it is among them."""
    return "auto" if any(trial.way == "auto" for trial in trials) else trials[0].way


def rows_of(arguments: argparse.Namespace, trials: Sequence[Trial]) -> list[list[str]]:
    """The table by cause or by method."""
    return by_cause(trials, way_of(trials)) if arguments.by == "cause" else by_way(trials)


def main() -> None:
    """Print the table and what failed."""
    arguments = parser().parse_args()
    trials = read_trials(arguments.read) if arguments.read else campaign(arguments)
    rows = rows_of(arguments, trials)
    print(f"\n{plain(rows)}\n")
    print("\n".join(failures(trials, way_of(trials))))
    spent = [t.machine_seconds for t in trials if t.machine_seconds is not None]
    if spent:
        print(f"processor seconds per machine, with its logs and all fits: {mean(spent, 1)}")
    if arguments.out:
        put(Path(arguments.out), arguments.name, markdown(rows))


def progress(trial: Trial) -> str:
    """One trial in a line."""
    if trial.broken:
        return f"{trial.name}: {trial.broken}"
    terms = ", ".join(trial.found) or "no term"
    missed = [name for name, inside in trial.covered.items() if not inside]
    return (
        f"{trial.name}: {terms}; {trial.error:.2f} %, {len(trial.covered) - len(missed)} of "
        f"{len(trial.covered)} covered{' (not ' + ', '.join(missed) + ')' if missed else ''}, "
        f"band {trial.inside:.0f} %{', a term is missing' if trial.missing else ''}"
    )


if __name__ == "__main__":
    main()
