"""From recordings to an identified robot, by any method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

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
from deltadyn.identification.methods.registry import method_of
from deltadyn.identification.methods.stribeck import Stribeck, settle_stribeck
from deltadyn.identification.methods.two_step import TwoStep
from deltadyn.identification.options import FitOptions, record_of
from deltadyn.identification.parametrisation import (
    LIMB_NAMES,
    SOURCES,
    Parametrisation,
    parametrise,
)
from deltadyn.identification.problem import Method, Problem, Solution, rows_of
from deltadyn.identification.selection import LimbChoice, compare_limbs
from deltadyn.identification.uncertainty import covariance
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
    bodies, K = problem.bodies()
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
    method: str | Method = "convex",
    options: FitOptions | None = None,
    *,
    validation: Data | None = None,
    progress: bool = False,
    **keywords: Any,
) -> Fit:
    """Fit a model's parameters to recordings of a robot, or to their information.

    A recording may be a file: it is read in pieces, and may be larger than the memory; `Streamed`
    takes options of the reader, and logs that come in chunks. The robot gives geometry, what the
    model assumes, the friction terms to look for, and the values at which parameters stay that the
    data cannot identify. `method` is a name of `METHODS`, or one of its classes with options, such
    as `Convex(strength=1e-3)`. `options` say how recordings are prepared and what is fitted. Each
    field of the method and of `FitOptions` may be given as a keyword instead:
    `identify(robot, log, "l1", model="rigid", band=20.0, tolerance=1e-6)`. `validation` names
    recordings that must not be among the others.
    """
    asked = (options or FitOptions()).of(keywords)
    way = method_of(method, keywords)
    way.check_model(asked.model)
    asked = replace(asked, model=asked.model or way.model)
    if isinstance(way, TwoStep):
        whole = recordings if isinstance(recordings, Information) else in_memory(robot, recordings)
        fit = way.fit(robot, whole, asked)
        refuse_shared(fit.data, validation)
        return fit
    model = str(asked.model)
    if model not in SOURCES:
        raise UnknownNameError("model", model, SOURCES)
    if isinstance(recordings, Information):
        if asked.stribeck:
            raise InputError("stribeck", True, "False: information has no samples to search in")
        return _Work(robot, recordings, None, way, asked, progress).fit()
    loaded = Loaded(robot, recordings, asked, progress=progress)
    found = settle_stribeck(loaded, model, asked.limbs) if asked.stribeck else None
    information = loaded.information(SOURCES[model])
    refuse_shared(loaded.sources, validation)  # a file is known when it was read
    return _Work(loaded.robot, information, loaded, way, asked, progress, found).fit()


@dataclass(eq=False)
class _Work:
    """One fit in the making."""

    robot: Robot
    information: Information
    loaded: Loaded | None
    method: Method
    options: FitOptions
    progress: bool = False
    stribeck: Stribeck | None = None

    def fit(self) -> Fit:
        """Identifiability, then the method, then what the answer is worth."""
        asked, robot, model = self.options, self.robot, str(self.options.model)
        limbs = self._limbs()
        tied = limbs.tied if asked.tied == "auto" and limbs is not None else asked.limbs
        par = parametrise(robot, model, tied=tied, com_offset=asked.com_offset)
        gains: Gains | None = None
        if asked.gains:
            gains = drive_gains(self.information, par)
            self.information = with_gains(self.information, gains.values)
        weights = self._weights(par)
        known = identifiability(robot, self.information, par, weights)
        held: dict[str, float] = {}
        if asked.unidentifiable == "hold":
            rest = hold_unidentifiable(par, known)
            kept = dict(zip(par.names, par.prior.tolist(), strict=True))
            held = {name: value for name, value in kept.items() if name not in rest.names}
            par, weights = rest, self._weights(rest)
        else:
            require_identifiable(known)
        if asked.check:
            mass = robot.platform.mass + robot.effector.mass
            check_payloads(self.information, par, weights, mass)
        parts = None if self.loaded is None else self.loaded.parts
        problem = Problem(
            robot, par, self.information, weights, parts, asked.seed, self.progress, held
        )
        return self._finished(problem, self.method.solve(problem), known, limbs, gains)

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
            method=self.method.name,
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
            options=record_of(self.method, self.options),
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
        model = str(self.options.model)
        if model not in ("exact", "rigid") or not self.robot.equal_limbs:
            return None
        return compare_limbs(self.robot, self.information, model)

    def _weights(self, par: Parametrisation) -> FloatArray:
        given = self.options.given_weights(self.robot.dof)
        return axis_weights(self.information, par) if given is None else given

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
