"""Terms without samples: what saved information keeps of them, and which of them a fit drops.

Orders of ripple, velocities of friction, delays and wind-up are found in samples. A factor has the
columns of the terms that were found when it was gathered, and no others: a fit from it may leave
terms out, but finds no new ones. A term that logs were corrected for is left out along its column.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import DeltadynError, InputError
from deltadyn.identification.extra import Extra
from deltadyn.identification.information import Information
from deltadyn.identification.terms.carry import Carried
from deltadyn.identification.terms.found import FoundTerm, Terms
from deltadyn.identification.terms.intervals import Hull, Scatter, Waves
from deltadyn.identification.terms.structure import Structure
from deltadyn.robot import Robot
from deltadyn.robot.file import robot_from_text, robot_text

FIXED = ("elastic",)  # the information follows the motion of the arms behind the gears
_DAMAGED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
NEED_SAMPLES = "orders, velocities, delays and wind-up are found in samples"


@dataclass(frozen=True, eq=False)
class Recalled:
    """What information was gathered with, for a fit that keeps some of its terms.

    `held` are the values at which the parameters of those that were `dropped` stay.
    """

    carried: Carried
    given: Robot
    told: Terms
    dropped: tuple[str, ...]
    held: dict[str, float] = field(default_factory=dict)

    def terms(self, names: Sequence[str], values: FloatArray, std: FloatArray) -> Terms:
        """What remains, with the hull over this fit and over the models that remained before."""
        old = self.told.hull
        known = set(names) <= set(old.names)  # else the limbs are tied now, and were not
        if tuple(names) == old.names and not self.dropped:
            return self.told
        places = [old.names.index(name) for name in names] if known else []
        empty = np.zeros((0, len(names)))
        hull = Hull(
            tuple(names),
            np.concatenate([values[None], old.x[:, places] if known else empty]),
            np.concatenate([std[None], old.std[:, places] if known else empty]),
            old.products[places] if known else np.zeros(len(names)),
            old.structure,
            old.factor,
        )
        found = tuple(term for term in self.told.found if term.title not in self.dropped)
        return replace(self.told, found=found, hull=hull, note=_note(self.dropped))


def _note(dropped: Sequence[str]) -> str:
    """Why there are these terms and no others."""
    words = f"Fitted from information: {NEED_SAMPLES}, so that no other terms are looked for."
    if dropped:
        words += f" Left out: {', '.join(dropped)}; probabilities are those of all terms."
    return words


def recorded(information: Information, carried: Carried, given: Robot, told: Terms) -> Information:
    """The information with the record of its terms, to be fitted or saved."""
    hull, scatter = told.hull, told.scatter
    record = {
        "robot": robot_text(carried.nominal),
        "given": robot_text(given),
        "tied": carried.tied,
        "priors": dict(carried.priors),
        "at": dict(carried.at),
        "limbs": dict(carried.limbs),
        "terms": told.as_dict(),
        "hull": {
            "names": list(hull.names),
            "x": hull.x.tolist(),
            "std": hull.std.tolist(),
            "products": hull.products.tolist(),
            "scores": dict(hull.structure.scores),
            "factor": hull.factor,
        },
        "scatter": {name: getattr(scatter, name).tolist() for name in SCATTER},
        "waves": {name: getattr(scatter.waves, name).tolist() for name in WAVES},
    }
    return replace(information, terms=json.dumps(record))


SCATTER = ("c0", "c1", "reach", "drift")
WAVES = ("travel", "rms", "doubt")


def recall(information: Information, asked: str | Sequence[str] | None) -> Recalled | None:
    """What information was gathered with, without the terms that are not asked for.

    "auto" and None keep all of them, "file" none. None where it was gathered without terms.
    """
    names = None if asked in (None, "auto") else () if asked == "file" else tuple(asked or ())
    if not information.terms:
        if names:
            allowed = f"'auto' or 'file': the information was gathered without, and {NEED_SAMPLES}"
            raise InputError("terms", names, allowed)
        return None
    record, told = _parsed(information.terms)
    there = told.titles
    for name in names or ():
        if not any(name in (term.title, term.name) for term in told.found):
            have = ", ".join(map(repr, there)) or "none"
            raise InputError("terms", name, f"of those in the information, {have}: {NEED_SAMPLES}")
    dropped = tuple(
        term.title
        for term in told.found
        if names is not None and term.title not in names and term.name not in names
    )
    for title in dropped:
        if title in FIXED:
            allowed = f"{title!r} among them: the information follows the arms behind the gears"
            raise InputError("terms", names, allowed)
    with _as_saved():
        return _without(record, told, dropped)


def _parsed(text: str) -> tuple[dict[str, Any], Terms]:
    """The record of the terms, and the terms."""
    with _as_saved():
        record = json.loads(text)
        return record, _told(record)


@contextmanager
def _as_saved() -> Iterator[None]:
    """What a damaged record raises, as an error of the information."""
    try:
        yield
    except DeltadynError:
        raise
    except _DAMAGED as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise InputError("record of terms", reason, "that of Information.save") from error


def _without(record: dict[str, Any], told: Terms, dropped: tuple[str, ...]) -> Recalled:
    """The record without some of its terms."""
    gone = {name for term in told.found if term.title in dropped for name in term.values}
    at, priors = record["at"], record["priors"]
    tied, limbs = record["tied"], record["limbs"]
    if "limbs" in dropped:
        tied, limbs = None, {}
    nominal = robot_from_text(record["robot"])
    carried = Carried(
        nominal,
        nominal,
        tied,
        Extra(),
        {name: tuple(pair) for name, pair in priors.items() if name not in gone},
        {name: value for name, value in at.items() if name not in gone},
        limbs,
    )
    # the whole value of a dropped parameter is 0: of the log's, that is -at beyond the correction
    held = {name: -at.get(name, 0.0) for name in gone}
    return Recalled(carried, robot_from_text(record["given"]), told, dropped, held)


def _waves(record: dict[str, Any], dof: int) -> Waves:
    """The waves of a record; earlier versions kept none."""
    if "waves" not in record:
        return Waves.none(dof)
    travel, rms, doubt = (np.array(record["waves"][name], dtype=np.float64) for name in WAVES)
    return Waves(travel.reshape(2, dof), rms.reshape(-1, dof), doubt)


def _told(record: dict[str, Any]) -> Terms:
    """The terms of a record."""
    terms, hull = record["terms"], record["hull"]
    found = tuple(
        FoundTerm(
            item["term"],
            item["term"].rstrip("0123456789"),
            item["probability"],
            {n: (p["value"], p["std"], p["unit"]) for n, p in item["parameters"].items()},
            item["setting"],
            (item["unseen_residual_percent"][0], item["unseen_residual_percent"][1]),
            tuple(item["velocities"]),
        )
        for item in terms["found"]
    )
    shape = (-1, len(hull["names"]))
    own = Hull(
        tuple(hull["names"]),
        np.array(hull["x"]).reshape(shape),
        np.array(hull["std"]).reshape(shape),
        np.array(hull["products"]),
        Structure(hull["scores"], np.array(terms["unexplained"])),
        hull["factor"],
    )
    c0, c1, reach, drift = (np.array(record["scatter"][name]) for name in SCATTER)
    scatter = Scatter(c0, c1, reach, drift, _waves(record, len(c0)))
    rivals = tuple((tuple(item["terms"]), item["probability"]) for item in terms["rivals"])
    told = Terms(
        found,
        rivals,
        tuple(terms["considered"]),
        terms["probability"],
        tuple(terms["rest_rad_s"]),
        tuple(terms["unexplained"]),
        terms["missing"],
        own,
        scatter,
    )
    idle = tuple((item["term"], item["probability"]) for item in terms.get("not_carried", ()))
    return replace(told, note=_note(()), idle=idle)
