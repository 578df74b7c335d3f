"""Look for terms in loaded recordings, as `identify` does."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from deltadyn.arrays import FloatArray
from deltadyn.errors import UnknownNameError
from deltadyn.identification.loading import Loaded
from deltadyn.identification.options import FitOptions
from deltadyn.identification.parametrisation import parametrise
from deltadyn.identification.terms.carry import Carried, carry
from deltadyn.identification.terms.choose import Choice, Search, choose
from deltadyn.identification.terms.found import CAUSES, NAMES, Terms, found_terms
from deltadyn.identification.terms.idle import drop_idle_terms
from deltadyn.identification.terms.intervals import hull, scatter
from deltadyn.recording.prepare import gears
from deltadyn.robot import Robot

BAND = 40.0  # Hz: beyond, estimated accelerations and gears are not what the model says
SAMPLES = 80_000  # that are looked at; longer logs are looked at in stretches
STRETCH = 8_000  # samples
SHORTEST = 2.0  # s of data in which terms are looked for
MODELS = ("exact", "rigid")


@dataclass(frozen=True, eq=False)
class Looked:
    """What was found in recordings, and how a fit carries it.

    `choice` has the sets of terms that remain of all; `settled` is that of the chosen terms alone.
    """

    search: Search
    choice: Choice
    settled: Choice
    carried: Carried
    share: float
    _told: dict[tuple[str, ...], Terms] = field(default_factory=dict, repr=False)

    held: ClassVar[dict[str, float]] = {}  # nothing was dropped

    @property
    def given(self) -> Robot:
        """The robot as it was given."""
        return self.search.robot

    def terms(self, names: Sequence[str], values: FloatArray, std: FloatArray) -> Terms:
        """The result, with intervals of parameters by name; methods of one study share it.

        They are those of the choice, whatever `values` a method fits.
        """
        key = tuple(names)
        if key not in self._told:
            wide = hull(self.choice, key, share=self.share)
            self._told[key] = found_terms(
                self.choice, wide, scatter(self.settled, wide.structure), self.settled
            )
        return self._told[key]


def look(loaded: Loaded, asked: FitOptions, without: Collection[str] = ()) -> Looked | None:
    """The terms of the machine behind these recordings; None where there is too little to see.

    Terms that are named in `without` are not looked for.
    """
    model = str(asked.model)
    if model not in MODELS:
        return None
    if asked.band == "auto":  # not where the rigid model stops to explain: terms explain more
        loaded.compare_up_to(BAND)
    parts, share = loaded.stretches(SAMPLES, STRETCH)
    if sum(float(part.t[-1] - part.t[0]) for part in parts) < SHORTEST:
        return None
    par = parametrise(loaded.robot, model, tied=asked.limbs, com_offset=asked.com_offset)
    automatic = asked.terms is None or asked.terms == "auto"
    names = () if automatic else tuple(asked.terms or ())
    for name in names:
        check_term(name)
    refused = {"torque_ratio"} if asked.gains else set()
    if asked.tied is True:
        refused.add("limbs")
    refused.update(without)
    search = Search(loaded.robot, par, parts, None if automatic else names, names, refused)
    choice = drop_idle_terms(choose(search), share)
    # Fitted as if its terms had been asked for by name: the same titles give the same fit.
    titles = choice.titles()
    named = replace(search, allowed=titles, asked=titles)
    settled = choose(named) if automatic else choice
    if asked.band == "auto" and "elastic" in titles:
        loaded.compare_up_to(gears.BAND)
    return Looked(named, choice, settled, carry(named, settled), share)


def check_term(name: str) -> None:
    """Refuse what is no term, or no order of one, such as "ripple64"."""
    stem, known = name.rstrip("0123456789"), tuple(n for n in NAMES if n not in CAUSES)
    if stem not in known or (stem != name and stem not in ("ripple", "eccentricity")):
        raise UnknownNameError("term", name, known, or_else="'ripple64', with its order")
