"""First contact: does `check` find how a foreign log counts?

Run: OMP_NUM_THREADS=1 python -m benchmarks.foreign [--cases N] [--first SEED] [--out FILE]

N logs of random machines with random conventions, and N logs that are right, each with a robot file
of its own, written in ten tools' words and languages (tests/foreign, torque by MuJoCo). `dd.check`
reads each file as it is. A case is right where the angles and torques, with what the check found
applied, are those of the machine: every axis' scale within 6 % and its sign, and every torque with
its sign at one common scale (within 30 %: the torque constant of currents is not known). An offset
is right within 12 degrees beside the other axes. A right log on which a convention is changed, or
that is refused, is a false alarm.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tests.foreign import Foreign, foreign_log

import deltadyn as dd
from benchmarks.machine import machine_name
from deltadyn.arrays import FloatArray
from deltadyn.recording import Recording

SCALE, COMMON, OFFSET = 0.06, 1.3, 12.0  # allowed: relative, ratio, degrees


@dataclass(frozen=True)
class Case:
    """What the check made of a log; `wrong` names what is not right."""

    seed: int
    foreign: bool
    style: str
    dof: int
    decided: bool
    changed: bool
    refused: bool
    wrong: tuple[str, ...]
    offsets_deg: tuple[float, ...]  # of the arms, found less true
    seconds: float  # of processor time

    @property
    def right(self) -> bool:
        """Whether nothing is wrong; a right log must also be left alone."""
        return not self.wrong and (self.foreign or not (self.changed or self.refused))


def judged(case: Foreign, foreign: bool, seed: int) -> Case:
    """Check a log with its robot file, and compare with the truth."""
    robot = case.save_robot()
    began = time.process_time()
    found = dd.check(robot, [case.path])
    seconds = time.process_time() - began
    (log,) = found.logs
    base = (seed, foreign, case.style.name, case.robot.dof)
    if log.recording is None or log.conventions is None:
        return Case(*base, False, False, True, ("not read",), (), seconds)
    own = log.conventions
    wrong, offsets = _compared(case, own.apply(log.recording))
    return Case(*base, own.decided, bool(own.changed), not log.ok, wrong, offsets, seconds)


def _compared(case: Foreign, log: Recording) -> tuple[tuple[str, ...], tuple[float, ...]]:
    t = log.t - log.t[0]

    def true(values: FloatArray) -> FloatArray:
        return np.array([np.interp(t, case.motion.t, column) for column in values.T]).T

    q, tau = true(case.motion.q), true(case.motion.tau)
    angle, torque = _slopes(q, log.q), _slopes(tau, log.tau)
    offsets = np.degrees(np.mean(log.q - q, axis=0))[:3]
    wrong = []
    if np.any(angle < 0):
        wrong.append("sign")
    elif np.any(np.abs(angle - 1) > SCALE):
        wrong.append("unit or side")
    if np.any(torque <= 0) or torque.max() > COMMON * torque.min():
        wrong.append("order or sign of the torque")
    if not wrong and np.any(np.abs(offsets - np.median(offsets)) > OFFSET):
        wrong.append("offset")
    return tuple(wrong), tuple(np.round(offsets, 2).tolist())


def _slopes(x: FloatArray, y: FloatArray) -> FloatArray:
    """Slope of each column of y over that of x."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    found: FloatArray = np.sum(x * y, axis=0) / np.sum(x * x, axis=0)
    return found


def cases(count: int, first: int) -> Iterator[Case]:
    """Foreign and right logs in turn."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + count):
            for foreign in (True, False):
                folder = Path(name)
                yield judged(foreign_log(folder, seed, right=not foreign), foreign, seed)
                for path in folder.iterdir():
                    path.unlink()


def summary(found: Sequence[Case]) -> dict[str, Any]:
    """Shares and times."""
    foreign, right = ([c for c in found if c.foreign is kind] for kind in (True, False))
    decided = [c for c in foreign if c.decided]
    errors = np.abs([c.offsets_deg for c in foreign if c.right and c.offsets_deg])
    return {
        "foreign logs": len(foreign),
        "right": sum(c.right for c in foreign),
        "not decided": len(foreign) - len(decided),
        "decided and wrong": sum(not c.right for c in decided),
        "wrong": dict(Counter(word for c in foreign for word in c.wrong)),
        "right logs": len(right),
        "false alarms": sum(not c.right for c in right),
        "offset error, median and 90 % (deg)": np.quantile(errors, [0.5, 0.9]).round(2).tolist(),
        "seconds, median and largest": [
            round(float(np.median([c.seconds for c in found])), 2),
            round(max(c.seconds for c in found), 2),
        ],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the cases that are not right, then the summary."""
    parser = argparse.ArgumentParser(description="Conventions of foreign logs.")
    parser.add_argument("--cases", type=int, default=20, help="of each kind")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--out", type=Path, help="write all cases there as JSON")
    asked = parser.parse_args(arguments)
    print(machine_name(), flush=True)
    found = []
    for case in cases(asked.cases, asked.first):
        found.append(case)
        if not case.right:
            print(case, flush=True)
    print(json.dumps(summary(found), indent=1))
    if asked.out:
        asked.out.write_text(json.dumps([asdict(case) for case in found], indent=1))


if __name__ == "__main__":
    main()
