"""The order of batches: which come in turn, which too late, and how many samples are missing.

Numbers count batches, times count samples. Both are looked at: a number that is left out tells that
a batch is lost, the pause in time how many samples it had. Every sample that came or is known to
be missing is in exactly one place:

    received = used + refused + duplicate + late
    sent = used + refused + late + lost    between the first and the last sample that was used

What was lost and comes after all is late from then on.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from deltadyn.streams.packing import SEQUENCES, Batch

HOLES = 256  # gaps that are remembered, to know what comes late
PATIENCE = 3  # batches in a row after which a new clock, or a new rate, is believed
ON_TIME = 1.5  # sample times between batches: more is a gap
JUMP = 10.0  # s without a missing number: more is a clock that was set, not samples that were lost


@dataclass(frozen=True)
class Placed:
    """Where a batch stands behind those before.

    `in_turn`: it is after them; `anew`: the sender's clock was set back; neither: it is late, and
    `found` of its samples were taken for lost. In turn, `pause` (s) is the time since the last
    sample where it is a gap (else 0), with `lost` samples and `missing` batches; `jump` tells that
    the clock went ahead by more than the numbers explain, `counts_anew` that the numbers begin
    again.
    """

    in_turn: bool
    anew: bool = False
    found: int = 0
    pause: float = 0.0
    lost: int = 0
    missing: int = 0
    jump: bool = False
    counts_anew: bool = False


@dataclass
class _Hole:
    """Time without samples, both ends open (s), and what of it has not come yet."""

    begin: float
    end: float
    samples: int
    batches: int


class Order:
    """Times and numbers of the last batches; memory does not grow."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin a new clock."""
        self.end: float | None = None  # time of the last sample used
        self._sequence: int | None = None
        self._size = 0  # samples of the last batch
        self._late: list[float] = []  # begins of batches behind that clock, in a row
        self._holes: deque[_Hole] = deque(maxlen=HOLES)
        self._aside: list[int] = []  # samples of batches that were refused since

    def place(self, batch: Batch, rate: float) -> Placed:
        """Where a batch stands; `rate` (Hz) is that of the samples."""
        if self.end is None:
            return Placed(in_turn=True)
        if batch.t0 <= self.end:
            return self._behind(batch, rate)
        self._late.clear()
        pause, ahead = batch.t0 - self.end, 1
        if batch.sequence is not None and self._sequence is not None:
            ahead = (batch.sequence - self._sequence) % SEQUENCES
        counts_anew = ahead == 0 or ahead > SEQUENCES // 2
        missing = 0 if counts_anew else max(0, ahead - 1 - len(self._aside))
        if pause * rate <= ON_TIME and not missing:
            return Placed(in_turn=True, counts_anew=counts_anew)
        by_time = max(0, round(pause * rate) - 1 - sum(self._aside))
        by_number = missing * self._size
        jump = by_time > 2 * by_number + JUMP * rate
        lost = by_number if jump else by_time
        self._holes.append(_Hole(self.end, batch.t0, lost, missing))
        return Placed(
            True, pause=pause, lost=lost, missing=missing, jump=jump, counts_anew=counts_anew
        )

    def _behind(self, batch: Batch, rate: float) -> Placed:
        """A batch that begins before the last sample: late, or the first of a new clock.

        What fits into a gap is late, however much of it comes. Else three in a row that run
        forward are a clock that was set back.
        """
        half = 0.5 / rate
        for hole in self._holes:
            if hole.begin + half < batch.t0 and batch.end < hole.end - half and hole.samples > 0:
                found = min(len(batch), hole.samples)
                hole.samples -= found
                missing = min(1, hole.batches)
                hole.batches -= missing
                return Placed(False, found=found, missing=missing)
        if self._late and batch.t0 <= self._late[-1]:
            self._late.clear()
        self._late.append(batch.t0)
        return Placed(False, anew=len(self._late) >= PATIENCE)

    def used(self, batch: Batch) -> None:
        """A batch in turn was used."""
        self.end, self._sequence, self._size = batch.end, batch.sequence, len(batch)
        self._aside.clear()

    def refused(self, batch: Batch) -> None:
        """A batch was refused: it is not lost."""
        if self.end is not None and batch.t0 > self.end and len(self._aside) < HOLES:
            self._aside.append(len(batch))
