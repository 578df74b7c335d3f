"""The payload estimator "bank" for other languages: every number of it, and of its model."""

from __future__ import annotations

import math
from dataclasses import dataclass

from deltadyn.arrays import FloatArray
from deltadyn.backends.packed import packed_parameters
from deltadyn.errors import InputError
from deltadyn.payload.bank import SPAWNING, BankNumbers
from deltadyn.payload.bank_estimator import AT_ONCE, NOT_KNOWN, BankEstimator
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.payload.events import AVERAGED
from deltadyn.payload.rows import ACROSS, RowNumbers, lossless


@dataclass(frozen=True, eq=False)
class BankExport:
    """What an export of the bank needs."""

    dof: int
    events: bool
    reach: float  # rad: an arm's angle that moved further since the last sample has jumped
    patience: int
    longest: float  # s: a longer pick is flagged
    rows: RowNumbers
    bank: BankNumbers
    lossless: tuple[float, ...]  # the robot's numbers without losses, as in backends/layout.py
    known: bool  # whether an empty run stands behind the deviations

    @classmethod
    def of(cls, estimator: PayloadEstimator) -> BankExport:
        """The numbers of an estimator; what it has seen does not matter."""
        if not isinstance(estimator, BankEstimator):
            raise InputError("estimator", type(estimator).__name__, "a PayloadEstimator 'bank'")
        own = estimator.numbers
        numbers = packed_parameters(lossless(estimator.robot))
        return cls(
            dof=own.dof,
            events=own.events,
            reach=own.reach,
            patience=own.patience,
            longest=float(estimator.options.longest),
            rows=estimator.row_numbers,
            bank=estimator.bank_numbers,
            lossless=tuple(numbers.tolist()),
            known=estimator.tare.known,
        )

    def __post_init__(self) -> None:
        if not min(self.bank.variance) > 0:
            raise InputError("variance of the rows", min(self.bank.variance), "above 0 (N m)^2")

    @property
    def size(self) -> int:
        """Hypotheses that there is room for."""
        return self.bank.keep + SPAWNING + 2

    @property
    def models(self) -> int:
        """Models that the second window reaches over."""
        return 2 * self.rows.second + 1

    @property
    def kernel(self) -> FloatArray:
        """Weights (length, 4) of the first window: angle, rate, acceleration, torque."""
        return self.rows.kernels.T

    @property
    def change_halves(self) -> int:
        """From the last sample of a row to a change in it, in halves of a sample."""
        n = self.rows
        return round(2 * (n.behind + n.second * n.step) - 2 * ACROSS * n.step * n.every)

    @property
    def row_halves(self) -> int:
        """From row to row, in halves of a sample."""
        return 2 * self.rows.step * self.rows.every

    @property
    def whole(self) -> dict[str, int]:
        """Whole numbers by name."""
        bank, n = self.bank, self.rows
        names = "warm_up early keep near_rest shortest gap lag still"
        return {
            "events": int(self.events),
            "patience": self.patience,
            "length": n.length,
            "model_step": n.step,
            "models": self.models,
            "row_step": n.every,
            "bank_size": self.size,
            "spawning": SPAWNING,
            "shares": len(bank.share),
            "change_halves": self.change_halves,
            "row_halves": self.row_halves,
            "edge_first": bank.signal.first,
            "edge_delays": bank.signal.delays,
            **{name: int(getattr(bank, name)) for name in names.split()},
        }

    @property
    def real(self) -> dict[str, float]:
        """Numbers by name; chances as logarithms."""
        bank, n = self.bank, self.rows
        names = "rev_limit spread extra extra_early huber rest_speed rest_share lightest pick_odds"
        more = "peak_keep release_odds lost_odds zero gain"
        found = {name: float(getattr(bank, name)) for name in f"{names} {more}".split()}
        for name in ("pick_rest", "pick_moving", "release_rest", "release_moving"):
            chance = getattr(bank, name)
            found[f"log_{name}"] = math.log(chance)
            found[f"log_no_{name}"] = math.log1p(-chance)
        return {
            "reach": self.reach,
            "rate": n.rate,
            "over_direction": n.over_smoothing,
            "over_reversal": n.over_reversal,
            "at_once": (bank.gap + AT_ONCE) * n.interval,
            "not_known": NOT_KNOWN,
            "averaged": AVERAGED,
            "longest": self.longest,
            "edge_most": bank.signal.most,
            "edge_pick_keep": bank.signal.pick_keep,
            "edge_row_keep": bank.signal.row_keep,
            "edge_prior_rows": bank.signal.prior_rows,
            **found,
        }

    @property
    def arms(self) -> dict[str, tuple[float, ...]]:
        """Numbers of each arm by name; those of theta are nine."""
        bank = self.bank
        return {
            "phi": bank.phi,
            "variance": bank.variance,
            "reversal": bank.reversal,
            "unlinked": tuple(1 / (1 - phi**2) for phi in bank.phi),
            "theta": bank.theta,
            "theta_variance": tuple(x * x for x in bank.deviation),
            "walk": bank.walk,
        }
