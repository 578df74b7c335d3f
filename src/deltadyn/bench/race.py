"""A compiled peer on our states: its torques are compared first, then it runs against our own."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, Self

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.bench.cases import Case
from deltadyn.bench.compiler import PeerMissingError, Program
from deltadyn.bench.timing import timed
from deltadyn.bench.tree import Tree
from deltadyn.errors import DeltadynError

Way = Literal["whole", "open"]
OWN_PASSES = 20  # of ours in a round; the peer has its many blocks
SAME = 1e-9  # of the largest torque: below it the peer has done the same work


class DifferentTorqueError(DeltadynError):
    """A peer whose torques are not ours: its time says nothing."""

    def __init__(self, peer: str, way: str, difference: float) -> None:
        self.peer, self.way, self.difference = peer, way, difference
        super().__init__(
            f"{peer}'s torques ({way}) differ from ours by {difference:.1e} of the largest; "
            f"allowed: {SAME:.0e}; its time is not believed"
        )


@dataclass(frozen=True)
class Times:
    """Seconds per sample in one interleaved run, the best of several rounds."""

    own: float
    whole: float
    open: float
    difference: float  # of the torques, relative to the largest


class Race:
    """A peer's program with the states loaded; use it as a context."""

    def __init__(self, program: Program, case: Case) -> None:
        self.program, self.case = program, case
        self._folder = tempfile.TemporaryDirectory(prefix="deltadyn-race-")
        folder, tree = Path(self._folder.name), Tree.of(case.robot)
        numbers, model = folder / "numbers", folder / "model.xml"
        self._torques = folder / "torques"
        tree.numbers(case.state).tofile(numbers)
        words = [str(program.path), str(numbers), str(self._torques)]
        if program.peer == "MuJoCo":
            model.write_text(tree.mjcf(), "utf-8")
            words.append(str(model))
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,  # where MuJoCo leaves its log
        )
        if self._answer() != "ready":
            said = _pipe(self._process.stderr).read().strip()
            self.__exit__(None, None, None)
            raise PeerMissingError(program.peer, f"its program failed: {said}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _pipe(self._process.stdin).close()
        self._process.wait(60)
        for pipe in (self._process.stdout, self._process.stderr):
            _pipe(pipe).close()
        self._folder.cleanup()

    def torques(self) -> dict[Way, FloatArray]:
        """The peer's torques (N, dof) by both ways, in N m."""
        whole, open_tree = np.fromfile(self._torques).reshape(2, -1, self.case.robot.dof)
        return {"whole": whole, "open": open_tree}

    def difference(self) -> float:
        """The largest difference from our torques, relative to the largest; refused above SAME."""
        ours = self.case.torque()
        worst = 0.0
        for way, theirs in self.torques().items():
            found = float(np.abs(theirs - ours).max() / np.abs(ours).max())
            if not found <= SAME:
                raise DifferentTorqueError(self.program.peer, way, found)
            worst = max(worst, found)
        return worst

    def seconds(self, way: Way) -> float:
        """Seconds per sample in the fastest block of one pass over all samples."""
        pipe = _pipe(self._process.stdin)
        pipe.write(f"{way}\n")
        pipe.flush()
        answer = self._answer()
        if not answer:
            raise PeerMissingError(self.program.peer, "its program stopped before the end")
        return float(answer)

    def run(self, own: Callable[[], object], rounds: int) -> Times:
        """Our function and the peer by turns, after the comparison of the torques."""
        difference = self.difference()
        ours, whole, open_tree = [], [], []
        for _ in range(rounds):
            ours += [timed(own) for _ in range(OWN_PASSES)]
            whole.append(self.seconds("whole"))
            open_tree.append(self.seconds("open"))
        return Times(min(ours) / len(self.case.p), min(whole), min(open_tree), difference)

    def _answer(self) -> str:
        return str(_pipe(self._process.stdout).readline()).strip()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None  # all three are pipes
    return pipe
