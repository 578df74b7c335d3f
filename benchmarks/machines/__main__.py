"""The table of machines as they are: python -m benchmarks.machines --seeds 0-5.

Random machines of every cause are identified with the defaults, with the robot file's model alone
and by an oracle that knows their terms, and compared with their truth and on held-out motion.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from tests.machines import CAUSES

from benchmarks.machine import machine_name
from benchmarks.machines.table import by_cause, by_way, failures, markdown, plain, put
from benchmarks.machines.trial import WAYS, Asked, Trial, measure


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
    out.add_argument("--robot", default="sipro-d3-1200", help="of the catalogue, or a file")
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
    out.add_argument("--json", metavar="FILE", help="add the trials to a file, one a line")
    out.add_argument("--read", metavar="FILE", nargs="+", help="trials of earlier runs")
    out.add_argument("--out", metavar="PAGE", help="put the table into a page")
    out.add_argument("--name", default="machines", help="of the place in the page")
    out.add_argument("--by", choices=("cause", "method"), default="cause", help="rows of the table")
    return out


def main() -> None:
    """Print the table and what failed."""
    arguments = parser().parse_args()
    trials: list[Trial] = []
    if arguments.read:
        trials = read_trials(arguments.read)
    else:
        without = (arguments.without,) if arguments.without else ()
        asked = [
            Asked(
                cause, seed, arguments.robot, arguments.strength, tuple(arguments.methods), without
            )
            for cause in arguments.causes
            for seed in arguments.seeds
        ]
        print(f"machine: {machine_name()}")
        for found in run(asked, arguments.workers):
            trials += found
            for trial in found:
                print(progress(trial), flush=True)
            if arguments.json:
                with open(arguments.json, "a", encoding="utf-8") as file:
                    file.writelines(json.dumps(trial.as_dict()) + "\n" for trial in found)
    way = "auto" if any(trial.way == "auto" for trial in trials) else trials[0].way
    rows = by_cause(trials, way) if arguments.by == "cause" else by_way(trials)
    print(f"\n{plain(rows)}\n")
    print("\n".join(failures(trials, way)))
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
