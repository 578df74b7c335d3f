"""From recordings to an identified robot, by any method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies.consistency import Consistency, consistency
from deltadyn.identification.bodies.realise import nearest_consistent, robot_from_standard
from deltadyn.identification.fit import Excerpt, Fit
from deltadyn.identification.gains import Gains, drive_gains, with_gains
from deltadyn.identification.identifiability import (
    Identifiability,
    hold_unidentifiable,
    identifiability,
    require_identifiable,
)
from deltadyn.identification.information import Information, IntArray, triangle
from deltadyn.identification.loading import Data, Loaded, in_memory, refuse_shared
from deltadyn.identification.methods.base import axis_weights, residual_rms, solved, torque_rms
from deltadyn.identification.methods.convex import solve_convex
from deltadyn.identification.methods.registry import bodies_of, method_by_name
from deltadyn.identification.methods.stribeck import Stribeck, settle_stribeck
from deltadyn.identification.parametrisation import (
    LIMB_NAMES,
    SOURCES,
    Parametrisation,
    parametrise,
)
from deltadyn.identification.problem import Problem, Solution, rows_of
from deltadyn.identification.selection import LimbChoice, compare_limbs
from deltadyn.identification.uncertainty import covariance
from deltadyn.recording.prepare.data import Rates
from deltadyn.robot import Robot
from deltadyn.robot.settings import GrayBox

# Payloads that were not declared: recordings whose platform weighs more than the first's.


SURE = 6.0  # standard deviations over groups of blocks
LEAST = 0.05  # kg
SHARE = 0.03  # of the platform's mass: what gear losses can make it seem
SEEMS = 0.15  # of the payload: what elastic gears and wrong gains can make it seem
GROUPS = 8


def check_payloads(
    information: Information, par: Parametrisation, weights: FloatArray, platform: float
) -> None:
    """Refuse a recording that carried another payload, against the first, than was declared."""
    present = np.unique(information.recording)
    if len(present) < 2:
        return
    mass = _masses(information, par, weights, present)
    order = np.concatenate([_groups(int((information.recording == r).sum())) for r in present])
    parts = [
        _masses(information.of_blocks(order != g), par, weights, present)
        for g in range(GROUPS)
        if (order == g).any()
    ]
    spread = np.array(parts) - np.mean(parts, axis=0)
    std = np.sqrt((len(parts) - 1) / len(parts) * (spread**2).sum(axis=0))
    extra = [float(information.extra[information.recording == r][0]) for r in present]
    for r, declared, more, doubt in zip(present[1:], extra[1:], mass, std, strict=True):
        carried = max(abs(declared), abs(extra[0]))
        if abs(more) > max(LEAST, SHARE * platform, SEEMS * carried, SURE * float(doubt)):
            first, name = (information.recordings[index] for index in (present[0], r))
            raise InputError(
                f"payload of {name!r} (kg beyond the robot's own)",
                declared,
                f"about {declared + more:.2f} kg: it carried {more:+.2f} kg "
                f"(± {doubt:.2f}) against what is declared for it and {first!r}; "
                "set `payload` of the recordings, or pass check=False",
            )


def _masses(
    information: Information, par: Parametrisation, weights: FloatArray, present: IntArray
) -> FloatArray:
    """Mass in kg that every recording after the first carried beyond what is declared."""
    reduced = information.reduced(par) * weights[:, None, None]
    push = information.factors[..., :-1] @ information.payload * weights[:, None]
    own = information.recording[:, None] == present[1:]  # (B, r)
    extra = push[..., None] * own[:, None, None, :]
    rows = np.concatenate([reduced[..., :-1], extra, reduced[..., -1:]], axis=-1)
    return solved(triangle(rows.reshape(-1, rows.shape[-1])))[len(par.names) :]


def _groups(blocks: int) -> IntArray:
    return np.arange(blocks, dtype=np.int64) * GROUPS // max(blocks, 1)


# The robot of a fit: bodies that have the fitted parameters, or come nearest to them.


NEAR = 1e-6  # of the torque: a robot whose torque differs less has the fitted parameters


@dataclass(frozen=True, eq=False)
class Realisation:
    """A robot for a fit, whether it has its very parameters, and a sentence where it has not."""

    robot: Robot
    consistent: bool
    consistency: Consistency
    sentence: str
    standard: dict[str, float] | None


def realised(problem: Problem, solution: Solution) -> Realisation:
    """The robot of a solution; where no robot can have its parameters, the nearest that can."""
    if solution.standard is not None:
        try:
            robot = robot_from_standard(problem.robot, solution.standard)
        except InputError as error:  # consistent, and yet no part of a Delta robot
            return _instead(problem, solution.x, error)
        return Realisation(robot, True, consistency(robot), "", solution.standard)
    if problem.par.model == "gray-box":
        return _gray_box(problem, solution.x)
    return _nearest(problem, solution.x)


def _instead(problem: Problem, x: FloatArray, error: InputError) -> Realisation:
    """The nearest robot where the bodies of a method cannot be parts of one."""
    found = _nearest(problem, x)
    sentence = (
        f"The bodies found cannot be parts of a robot file ({error.quantity} is "
        f"{error.value}); the robot has others with the same torque. {found.sentence}"
    )
    return replace(found, sentence=sentence.rstrip())


def _nearest(problem: Problem, x: FloatArray) -> Realisation:
    return _rigid(problem, x) if problem.par.source == "rigid" else _exact(problem, x)


def _exact(problem: Problem, x: FloatArray) -> Realisation:
    """From the exact model's base parameters, tied or per arm."""
    par, robot = problem.par, problem.robot
    wide = dict(zip(par.wide_names, par.wide(x), strict=True))
    tied = robot.equal_limbs and all(
        len({wide[f"{family}{i}"] for i in (1, 2, 3)}) == 1 for family in LIMB_NAMES
    )
    values: dict[str, float] = {}
    for name, value in wide.items():
        family = name[:-1] if name[-1] in "123" and name[:-1] in LIMB_NAMES else ""
        if family == "G_s" and not any(wide[f"G_s{i}"] for i in (1, 2, 3)):
            continue
        values[family if family and tied else name] = float(value)
    found = nearest_consistent(robot, tuple(values), np.array(list(values.values())), tied)
    new = robot_from_standard(robot, found.standard)
    if found.exact:
        return Realisation(new, True, consistency(new), "", found.standard)
    report = consistency(values, robot=robot)
    return Realisation(new, False, report, found.sentence, found.standard)


def _rigid(problem: Problem, x: FloatArray) -> Realisation:
    """From base parameters of the rigid model: the nearest bodies in torque on the data."""
    bodies, K = bodies_of(problem)
    factor = problem.factor_with_held()
    level = float(np.linalg.norm(problem.factor()[:, -1]))
    wanted = np.concatenate([x, list(problem.held.values())])
    target = factor.copy()
    target[:-1, -1], target[-1, -1] = factor[:-1, :-1] @ wanted, 0.0
    found = solve_convex(target, K, bodies)
    apart = float(np.linalg.norm(factor[:-1, :-1] @ (found.x - wanted))) / level
    new = robot_from_standard(problem.robot, found.standard)
    sentence = ""
    if apart > NEAR:
        reasons = "; ".join(item.text for item in found.active[:3])
        sentence = (
            "No consistent bodies have these base parameters; the robot is the nearest in torque, "
            f"{100 * apart:.2g} % of it away on the data ({reasons})."
        )
    return Realisation(new, apart <= NEAR, consistency(new), sentence, found.standard)


def _gray_box(problem: Problem, x: FloatArray) -> Realisation:
    """Factors of the gray-box model, and friction as far as a robot can have it."""
    par, robot = problem.par, problem.robot
    values = dict(zip(par.names, (float(v) for v in x), strict=True))
    new = robot.replace(gray_box=GrayBox(values["rho1"], values["rho2"]))
    negative = []
    friction: dict[str, tuple[float, ...]] = {}
    for family, field in (("Fv", "viscous"), ("Fc", "coulomb")):
        fitted = [values.get(f"{family}{axis + 1}", 0.0) for axis in range(robot.dof)]
        negative += [f"{family}{axis + 1}" for axis, value in enumerate(fitted) if value < 0]
        friction[field] = tuple(max(value, 0.0) for value in fitted)
    new = new.with_friction(**friction)
    wide = {name: float(v) for name, v in zip(par.wide_names, par.wide(x), strict=True)}
    sentence = ""
    if negative:
        sentence = f"{', '.join(negative)} came out negative; the robot has 0 there."
    return Realisation(new, not negative, consistency(wide, robot=robot), sentence, None)


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
