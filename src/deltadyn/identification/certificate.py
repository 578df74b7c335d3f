"""The proof that comes with a convex fit: a lower bound of the objective beside its value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """Objective of the answer, a bound that no answer goes below, and their difference.

    All have the unit of the objective; `gap` is primal - dual and is at the level of rounding where
    the answer is optimal. `reference` is a size below which the objective itself is rounding.
    """

    primal: float
    dual: float
    gap: float
    reference: float = 0.0

    @classmethod
    def of(cls, primal: float, dual: float, reference: float = 0.0) -> Certificate:
        """The certificate of a primal and a dual objective."""
        return cls(float(primal), float(dual), float(primal) - float(dual), float(reference))

    @property
    def relative(self) -> float:
        """The gap as a share of the objective or the reference; 0 where all are 0."""
        size = max(abs(self.primal), self.reference)
        return abs(self.gap) / size if size > 0 else 0.0

    def holds(self, tolerance: float) -> bool:
        """Whether the objective is proved optimal up to this share of it."""
        return self.relative <= tolerance

    @property
    def sentence(self) -> str:
        """The proof in words."""
        return (
            f"The objective is {self.primal:.9g}, no answer goes below {self.dual:.9g}: "
            f"a gap of {self.relative:.1e}."
        )

    def __str__(self) -> str:
        return self.sentence
