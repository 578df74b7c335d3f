"""From recordings to an identified robot, by any method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.base import hidden
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies.realise import realised
from deltadyn.identification.extra import Extra
from deltadyn.identification.fit import Excerpt, Fit
from deltadyn.identification.gains import Gains, check_payloads, drive_gains, with_gains
from deltadyn.identification.identifiability import (
    Identifiability,
    hold_unidentifiable,
    identifiability,
    require_identifiable,
    untold,
)
from deltadyn.identification.information import Information
from deltadyn.identification.loading import Data, Loaded, cut, in_memory, refuse_shared
from deltadyn.identification.methods.base import axis_weights, residual_rms, torque_rms
from deltadyn.identification.methods.registry import METHODS, method_of
from deltadyn.identification.methods.stribeck import Stribeck
from deltadyn.identification.methods.two_step import TwoStep
from deltadyn.identification.options import FitOptions, record_of
from deltadyn.identification.parametrisation import (
    SOURCES,
    Parametrisation,
    parametrise,
)
from deltadyn.identification.prior import prior_rows
from deltadyn.identification.problem import Method, Problem, Solution, Solver, rows_of
from deltadyn.identification.selection import LimbChoice, compare_limbs
from deltadyn.identification.shared import Shared
from deltadyn.identification.summary import with_sources
from deltadyn.identification.terms.look import Looked
from deltadyn.identification.terms.recall import NEED_SAMPLES, Recalled, recall, recorded
from deltadyn.identification.uncertainty import covariance
from deltadyn.options import merged, names_of, parted
from deltadyn.robot import Robot

EXCERPT = 4000  # samples that a fit keeps for its report
HEAVIER = 0.2  # share of the platform's mass by which a fit may exceed the file without a word


def identify(
    robot: Robot,
    recordings: Data | Information | Shared,
    method: str | Method = "convex",
    options: FitOptions | None = None,
    *,
    validation: Data | None = None,
    progress: bool = False,
    **keywords: Any,
) -> Fit:
    """Fit a model's parameters to recordings of a robot, or to their information.

    Several fits of the same recordings take `Shared(robot, recordings)`: terms are looked for once.

    A recording may be a file: it is read in pieces, and may be larger than the memory; `Streamed`
    takes options of the reader, and logs that come in chunks. The robot gives geometry, what the
    model assumes, the friction terms to look for, and the values at which parameters stay that the
    data cannot identify. `method` is a name of `METHODS`, or one of its classes with options, such
    as `Convex(strength=1e-3)`. `options` say how recordings are prepared and what is fitted. Each
    field of the method and of `FitOptions` may be given as a keyword instead:
    `identify(robot, log, "l1", model="rigid", band=20.0, tolerance=1e-6)`. `validation` names
    recordings that must not be among the others.
    """
    common, of_method = parted(FitOptions, keywords)
    asked = merged(FitOptions, options, common)
    way = method_of(method, of_method, names_of(FitOptions))
    way.check_model(asked.model)
    asked = replace(asked, model=asked.model or way.model)
    if isinstance(way, TwoStep):
        given = recordings.recordings if isinstance(recordings, Shared) else recordings
        whole = given if isinstance(given, Information) else in_memory(robot, given)
        fit = with_sources(way.fit(robot, whole, asked))
        refuse_shared(fit.data, validation)
        return fit
    if not isinstance(way, Solver):
        raise InputError("method", type(way).__name__, "a Solver, with its own `solve`, or TwoStep")
    model = str(asked.model)
    if model not in SOURCES:
        raise UnknownNameError("model", model, SOURCES)
    if isinstance(recordings, Information):
        if asked.stribeck:
            raise InputError("stribeck", True, "False: information has no samples to search in")
        keeps = asked.terms if looks_for_terms(way, asked) else "file"
        known = recall(recordings, keeps)
        if known is None:
            return _Work(robot, recordings, None, way, asked, progress).fit()
        if robot.name != known.given.name:
            raise InputError("robot", robot.name, f"{known.given.name!r}, as in the information")
        nominal = known.carried.nominal
        return _Work(nominal, recordings, None, way, asked, progress, None, known).fit()
    shared = recordings if isinstance(recordings, Shared) else Shared(robot, recordings)
    ready = shared.ready(robot, asked, looks=looks_for_terms(way, asked), progress=progress)
    information = ready.information(SOURCES[model])
    loaded = ready.loaded
    refuse_shared(loaded.sources, validation)  # a file is known when it was read
    work = _Work(
        ready.nominal, information, loaded, way, asked, progress, ready.stribeck, ready.looked
    )
    return work.fit()


def looks_for_terms(way: Method | type[Method], asked: FitOptions) -> bool:
    """Whether terms beyond the robot file's model are looked for."""
    if asked.terms is None:  # terms are told apart in a band that the model explains
        return way.finds_terms and asked.band is not None
    if asked.terms == "file":
        return False
    if not way.finds_terms:
        able = ", ".join(repr(n) for n, kind in METHODS.items() if kind.finds_terms)
        allowed = f"'file' for {way.name!r}, a method as in its paper; {able} look for terms"
        raise InputError("terms", asked.terms, allowed)
    return True


@dataclass(eq=False)
class _Work:
    """One fit in the making.

    Where `loaded` has an `extra`, the information has its columns. `priors` are values and standard
    deviations of parameters that are known before, by name; see `prior_rows`.
    """

    robot: Robot
    information: Information
    loaded: Loaded | None
    method: Solver
    options: FitOptions
    progress: bool = False
    stribeck: Stribeck | None = None
    looked: Looked | Recalled | None = None
    priors: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.looked is not None:
            self.priors = {**self.looked.carried.priors, **self.priors}
        self._gathered = self.information

    def fit(self) -> Fit:
        """Identifiability, then the method, then what the answer is worth."""
        asked, robot, model = self.options, self.robot, str(self.options.model)
        limbs = self._limbs() if self.looked is None else None
        tied = limbs.tied if asked.tied == "auto" and limbs is not None else asked.limbs
        if self.looked is not None and tied is None:
            tied = self.looked.carried.tied
        par = parametrise(robot, model, tied=tied, com_offset=asked.com_offset)
        par = self._extended(par)
        if self.looked is not None:
            par = par.without(self.looked.held, self.looked.held)
        gains: Gains | None = None
        if asked.gains:
            gains = drive_gains(self.information, par)
            self.information = with_gains(self.information, gains.values)
        weights = self._weights(par)
        lost = untold(self.information, par, weights, self._prior(par))
        if lost:
            par = par.without(lost)
            weights = self._weights(par)
        before = self._prior(par)
        known = identifiability(robot, self.information, par, weights, prior_rows=before)
        weak = tuple(name for name in known.held if name in self.priors)
        if weak:  # of a term that was found: its prior alone tells it
            lost, par = (*lost, *weak), par.without(weak)
            weights, before = self._weights(par), self._prior(par)
            known = identifiability(robot, self.information, par, weights, prior_rows=before)
        held: dict[str, float] = {}
        if asked.unidentifiable == "hold":
            rest = hold_unidentifiable(par, known)
            kept = dict(zip(par.names, par.prior.tolist(), strict=True))
            held = {name: value for name, value in kept.items() if name not in rest.names}
            par, weights = rest, self._weights(rest)
            before = self._prior(par)
        else:
            require_identifiable(known)
        if asked.check:
            mass = robot.platform.mass + robot.effector.mass
            check_payloads(self.information, par, weights, mass, before)
        problem = Problem(
            robot,
            par,
            self.information,
            weights,
            None if self.loaded is None else self.loaded.parts,
            asked.seed,
            self.progress,
            held,
            self._extra,
            before,
            None if self.looked is None else self.looked.carried.machine,
        )
        return self._finished(problem, self.method.solve(problem), known, limbs, gains, lost)

    def _prior(self, par: Parametrisation) -> FloatArray:
        """What is known of the parameters before, as rows."""
        rows = prior_rows(par, self.priors)
        if self.looked is None:
            return rows
        return np.concatenate([rows, self.looked.carried.limb_rows(par)])

    @property
    def _extra(self) -> Extra | None:
        return None if self.loaded is None else self.loaded.extra

    def _extended(self, par: Parametrisation) -> Parametrisation:
        """The parameters with those of the log, where the information has its columns."""
        names, units = self.information.log_names, self.information.log_units
        if not names:
            return par
        return par.with_extra(names, units, [self.priors.get(name, (0.0,))[0] for name in names])

    def _finished(
        self,
        problem: Problem,
        solution: Solution,
        known: Identifiability,
        limbs: LimbChoice | None,
        gains: Gains | None,
        lost: tuple[str, ...],
    ) -> Fit:
        par, information, x = problem.par, problem.information, solution.x
        body = realised(problem, solution)
        reduced = information.reduced(par)
        friction = "" if self.stribeck is None else self.stribeck.status
        values, robot, terms = x, body.robot, None
        gathered = self._gathered
        spread = covariance(information, par, x, problem.weights, problem.prior_rows)
        if self.looked is not None:
            carried = self.looked.carried
            at = np.array([carried.at.get(name, 0.0) for name in par.names])
            values = x + at
            robot = carried.with_sensors(robot, dict(zip(par.names, values, strict=True)))
            terms = self.looked.terms(par.names, values, spread.std)
            if isinstance(self.looked, Looked):
                gathered = recorded(gathered, carried, self.looked.given, terms)
        fit = Fit(
            method=self.method.name,
            robot=robot,
            nominal=problem.robot,
            parametrisation=par if terms is None else replace(par, prior=par.prior + at),
            values=values,
            terms=terms,
            given=None if self.looked is None else self.looked.given,
            information=gathered,
            uncertainty=spread,
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
            held=(*problem.held, *lost, *par.unseen),
            standard=body.standard,
            certificate=solution.certificate,
            limbs=limbs,
            gains=gains,
            warnings=(
                *self._warnings(par, x, limbs),
                *_untold_words(lost),
                *_unseen_words(problem.robot, par),
            ),
            solver_details=solution.details,
            fixed=solution.fixed,
            excerpt=self._excerpt(par, x),
            rows=information.rows.sum(axis=0),
            left_out=information.left_out.sum(axis=0),
            findings=() if self.loaded is None else self.loaded.findings,
        )
        return with_sources(fit)

    def _limbs(self) -> LimbChoice | None:
        """Whether the limbs are alike, by a test; None where the model has no choice."""
        model = str(self.options.model)
        if model not in ("exact", "rigid") or not self.robot.equal_limbs:
            return None
        try:
            return compare_limbs(self.robot, self.information, model)
        except InputError:
            if self.information.log_names:  # the log's columns tell the limbs apart already
                return None
            raise

    def _weights(self, par: Parametrisation) -> FloatArray:
        given = self.options.given_weights(self.robot.dof)
        return axis_weights(self.information, par) if given is None else given

    def _warnings(
        self, par: Parametrisation, x: FloatArray, limbs: LimbChoice | None
    ) -> tuple[str, ...]:
        """What deserves a look, in sentences."""
        found = []
        if (
            self.loaded is None
            and self.looked is None
            and looks_for_terms(self.method, self.options)
        ):
            found.append(f"No terms beyond the robot file were looked for: {NEED_SAMPLES}.")
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
            found.append(
                "The limbs differ, or a term that the robot file lacks makes them seem so: leave "
                '`terms` at "auto", which tells them apart.'
            )
        return tuple(found)

    def _excerpt(self, par: Parametrisation, x: FloatArray) -> Excerpt | None:
        """Measured and fitted torque of the first part, for the report."""
        if self.loaded is None:
            return None
        part = self.loaded.first_part()
        if part.grid is None and self._extra is None:
            chosen = part.filter
            ends, step = (0, 1) if chosen is None else (2 * chosen.margin, chosen.step)
            part = cut(self.robot, part, slice(0, ends + EXCERPT * step))
        machine = self.robot if self.looked is None else self.looked.carried.machine
        Y, tau, _ = rows_of(machine, par, self.information, part, self._extra)
        rows = slice(0, EXCERPT)
        left, known = tau[rows] - Y[rows] @ x, part.limited(part.tau)[rows]
        return Excerpt(part.times[rows], known, known - left)


def _unseen_words(robot: Robot, par: Parametrisation) -> tuple[str, ...]:
    """What no motion of this robot tells."""
    return tuple(item.why for item in hidden(robot, par.tied)) if par.unseen else ()


def _untold_words(lost: tuple[str, ...]) -> tuple[str, ...]:
    """What is said of parameters of the log that the data cannot tell."""
    if not lost:
        return ()
    be, it = ("stays", "its value") if len(lost) == 1 else ("stay", "their values")
    return (f"{', '.join(lost)} {be} at {it} before: these data tell no more than other columns.",)
