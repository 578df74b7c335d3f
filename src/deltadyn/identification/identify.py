"""From recordings to an identified robot, by any method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.data import Rates
from deltadyn.identification.fit import Excerpt, Fit
from deltadyn.identification.gains import Gains, drive_gains, with_gains
from deltadyn.identification.identifiability import (
    Identifiability,
    hold_unidentifiable,
    identifiability,
    require_identifiable,
)
from deltadyn.identification.information import Information
from deltadyn.identification.least_squares import axis_weights, residual_rms, torque_rms
from deltadyn.identification.loading import Data, Loaded, in_memory, refuse_shared
from deltadyn.identification.methods import method_by_name
from deltadyn.identification.parametrisation import SOURCES, Parametrisation, parametrise
from deltadyn.identification.payload_check import check_payloads
from deltadyn.identification.problem import Problem, Solution, rows_of
from deltadyn.identification.realisation import realised
from deltadyn.identification.selection import LimbChoice, compare_limbs
from deltadyn.identification.stribeck import Stribeck, settle_stribeck
from deltadyn.identification.uncertainty import covariance
from deltadyn.robot import Robot

EXCERPT = 4000  # samples that a fit keeps for its report
UNEXPLAINED = 0.5  # of an axis' RMS torque: a fit that leaves more deserves a word
HEAVIER = 0.2  # share of the platform's mass by which a fit may exceed the file without a word


def identify(
    robot: Robot,
    recordings: Data | Information,
    method: str = "convex",
    *,
    model: str | None = None,
    tied: bool | Literal["auto"] | None = None,
    com_offset: bool | None = None,
    band: float | Literal["auto"] | None = "auto",
    rates: Rates = "auto",
    bandwidth: npt.ArrayLike | None = None,
    weights: str | npt.ArrayLike = "covariance",
    unidentifiable: Literal["raise", "hold"] = "raise",
    gains: bool = False,
    stribeck: bool = False,
    check: bool = True,
    validation: Data | None = None,
    seed: int = 0,
    progress: bool = False,
    **options: Any,
) -> Fit:
    """Fit a model's parameters to recordings of a robot, or to their information.

    A recording may be a file: it is read in pieces, and may be larger than the memory; `Streamed`
    takes options of the reader, and logs that come in chunks. The robot gives geometry, what the
    model assumes, the friction terms to look for, and the values at which parameters stay that the
    data cannot tell. `tied` gives the limbs common bodies: by default where the robot's are equal,
    "auto" where a test does not speak against it. `band`, `rates` and `bandwidth` as in `prepare`.
    `weights` of the axes are "covariance" (one over the residual's deviation, iterated), "equal",
    or numbers (dof,). `unidentifiable="hold"` keeps what the data cannot tell at the robot's own
    values. `gains=True` finds the drives' gains from recordings with different known payloads,
    `stribeck=True` adds Stribeck friction and finds its velocities from the data. `validation`
    names recordings that must not be among the others. Further options belong to the method: see
    docs/identification.md.
    """
    chosen = method_by_name(method)
    chosen.check(method, model, options)
    given: dict[str, Any] = {
        "method": method,
        "model": model or chosen.model,
        "tied": tied,
        "com_offset": com_offset,
        "band": band,
        "rates": rates,
        "bandwidth": bandwidth,
        "weights": weights,
        "unidentifiable": unidentifiable,
        "gains": gains,
        "stribeck": stribeck,
        "check": check,
        "seed": seed,
        **options,
    }
    if unidentifiable not in ("raise", "hold"):
        raise InputError("unidentifiable", unidentifiable, "'raise' or 'hold'")
    if chosen.alone is not None:
        if not isinstance(recordings, Information):
            recordings = in_memory(robot, recordings)
        fit: Fit = chosen.alone(robot, recordings, given)
        refuse_shared(fit.data, validation)
        return fit
    name: str = given["model"]
    if name not in SOURCES:
        raise UnknownNameError("model", name, SOURCES)
    if not isinstance(recordings, Information):
        loaded = Loaded(robot, recordings, band, rates, bandwidth, check, progress)
        found = settle_stribeck(loaded, name, _or_none(tied)) if stribeck else None
        robot = loaded.robot
        information = loaded.information(SOURCES[name])
        refuse_shared(loaded.sources, validation)  # a file is known when it was read
        work = _Work(robot, information, loaded, given, progress, found)
        return work.fit(com_offset)
    if stribeck:
        raise InputError("stribeck", True, "False: information has no samples to search in")
    return _Work(robot, recordings, None, given, progress).fit(com_offset)


def _or_none(tied: bool | str | None) -> bool | None:
    return tied if isinstance(tied, bool) else None


@dataclass(eq=False)
class _Work:
    """One fit in the making."""

    robot: Robot
    information: Information
    loaded: Loaded | None
    given: dict[str, Any]
    progress: bool = False
    stribeck: Stribeck | None = None

    def fit(self, com_offset: bool | None) -> Fit:
        """Identifiability, then the method, then what the answer is worth."""
        model, robot = self.given["model"], self.robot
        limbs = self._limbs()
        par = parametrise(robot, model, tied=self._tied(limbs), com_offset=com_offset)
        gains: Gains | None = None
        if self.given["gains"]:
            gains = drive_gains(self.information, par)
            self.information = with_gains(self.information, gains.values)
        weights = self._weights(par)
        known = identifiability(robot, self.information, par, weights)
        held: dict[str, float] = {}
        if self.given["unidentifiable"] == "hold":
            rest = hold_unidentifiable(par, known)
            kept = dict(zip(par.names, par.prior.tolist(), strict=True))
            held = {name: value for name, value in kept.items() if name not in rest.names}
            par, weights = rest, self._weights(rest)
        else:
            require_identifiable(known)
        if self.given["check"]:
            mass = robot.platform.mass + robot.effector.mass
            check_payloads(self.information, par, weights, mass)
        parts = None if self.loaded is None else self.loaded.parts
        seed, progress = self.given["seed"], self.progress
        problem = Problem(robot, par, self.information, weights, parts, seed, progress, held)
        method = method_by_name(self.given["method"])
        options = {key: self.given[key] for key in method.options if key in self.given}
        solution = method.solve(problem, **options)
        return self._finished(problem, solution, known, limbs, gains)

    def _finished(
        self,
        problem: Problem,
        solution: Solution,
        known: Identifiability,
        limbs: LimbChoice | None,
        gains: Gains | None,
    ) -> Fit:
        par, information, x = problem.par, problem.information, solution.x
        body = realised(problem, solution)
        reduced = information.reduced(par)
        friction = "" if self.stribeck is None else self.stribeck.status
        return Fit(
            method=self.given["method"],
            robot=body.robot,
            nominal=problem.robot,
            parametrisation=par,
            values=x,
            uncertainty=covariance(information, par, x, problem.weights),
            residual=residual_rms(reduced, information, x),
            torque_level=torque_rms(information),
            weights=problem.weights,
            identifiability=known,
            consistency=body.consistency,
            status=" ".join(text for text in (solution.status, body.sentence, friction) if text),
            converged=solution.converged,
            consistent=body.consistent,
            data=() if self.loaded is None else self.loaded.sources,
            band=None if self.loaded is None else self.loaded.band,
            options=self.given,
            held=tuple(problem.held),
            standard=body.standard,
            certificate=solution.certificate,
            limbs=limbs,
            gains=gains,
            warnings=self._warnings(par, x, limbs),
            details=solution.details,
            excerpt=self._excerpt(par, x),
        )

    def _limbs(self) -> LimbChoice | None:
        """Whether the limbs are alike, by a test; None where the model has no choice."""
        if self.given["model"] not in ("exact", "rigid") or not self.robot.equal_limbs:
            return None
        return compare_limbs(self.robot, self.information, self.given["model"])

    def _tied(self, limbs: LimbChoice | None) -> bool | None:
        tied: bool | str | None = self.given["tied"]
        if tied == "auto":
            return None if limbs is None else limbs.tied
        if tied is not None and not isinstance(tied, bool):
            raise InputError("tied", tied, "True, False, 'auto' or None")
        return tied

    def _weights(self, par: Parametrisation) -> FloatArray:
        weights, dof = self.given["weights"], self.robot.dof
        if isinstance(weights, str):
            if weights == "covariance":
                return axis_weights(self.information, par)
            if weights == "equal":
                return np.ones(dof)
            raise InputError("weights", weights, f"'covariance', 'equal' or {dof} numbers")
        numbers = np.asarray(weights, dtype=np.float64)
        if numbers.shape != (dof,) or not (np.isfinite(numbers) & (numbers > 0)).all():
            raise InputError("weights", numbers, f"{dof} numbers above 0")
        return numbers

    def _warnings(
        self, par: Parametrisation, x: FloatArray, limbs: LimbChoice | None
    ) -> tuple[str, ...]:
        """What deserves a look, in sentences."""
        found = []
        for name in ("M_P", "m_P"):
            if name in par.names:
                index = par.names.index(name)
                more = x[index] - par.prior[index]
                if more > max(0.1, HEAVIER * par.prior[index]):
                    found.append(
                        f"The platform weighs {more:.2f} kg more than in the robot file: a payload "
                        "that was not declared? Set `payload` of the recording."
                    )
        if limbs is not None and par.tied and not limbs.tied:
            found.append("The limbs differ: pass tied=False.")
        reduced = self.information.reduced(par)
        left = residual_rms(reduced, self.information, x) / torque_rms(self.information)
        poor = [
            name
            for name, share in zip(self.robot.axis_names(), left, strict=True)
            if share > UNEXPLAINED
        ]
        if poor:
            found.append(
                f"On axis {', '.join(poor)} the fit leaves more than {100 * UNEXPLAINED:.0f} % of "
                "the torque: check signs, units, the order of the axes and the delay of the log."
            )
        return tuple(found)

    def _excerpt(self, par: Parametrisation, x: FloatArray) -> Excerpt | None:
        """Measured and fitted torque of the first part, for the report."""
        if self.loaded is None:
            return None
        part = next(iter(self.loaded.parts()))
        Y, tau = rows_of(self.robot, par, self.information, part)
        rows = slice(0, EXCERPT)
        left, known = tau[rows] - Y[rows] @ x, part.limited(part.tau)[rows]
        return Excerpt(part.times[rows], known, known - left)
