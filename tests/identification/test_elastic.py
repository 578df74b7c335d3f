"""Elastic gears: found on a bench that has them, and not on one that has none."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.machines import make_machine

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.loading import Loaded
from deltadyn.identification.parametrisation import parametrise
from deltadyn.identification.terms.choose import Choice, Search, choose
from deltadyn.identification.terms.elastic import (
    Geared,
    GearedPoint,
    elastic,
    link_part,
    motor_torque,
)
from deltadyn.identification.terms.gears import GearSearch, elastic_drives, geared
from deltadyn.identification.terms.library import Point
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.data import Prepared
from deltadyn.recording.prepare.gears import derivatives
from deltadyn.simulation.plant.machine import build_machine
from deltadyn.simulation.presets import INDUSTRIAL
from deltadyn.simulation.run import Run

ROBOT = "nt-robot"  # an arm on its gear swings at 31 Hz with the motor held
MOTIONS = ("y2", "y3", "y1", "y1")


@cache
def runs(gear: float | None = 80.0) -> list[Run]:
    robot = dd.load_robot(ROBOT)
    return [
        dd.simulate(
            robot, getattr(dd.motion, name)(robot), preset="industrial", seed=seed,
            gear_frequency=gear,
        )
        for seed, name in enumerate(MOTIONS)
    ]  # fmt: skip


@cache
def search(gear: float | None = 80.0) -> Search:
    loaded = Loaded(dd.load_robot(ROBOT), [run.recording for run in runs(gear)])
    return Search(loaded.robot, parametrise(loaded.robot, "exact"), list(loaded.parts()))


@cache
def choice() -> Choice:
    return choose(search())


@cache
def held_out() -> tuple[Run, Prepared]:
    robot = dd.load_robot(ROBOT)
    run = dd.simulate(robot, dd.motion.y1(robot), preset="industrial", seed=77)
    loaded = Loaded(robot, run.recording)
    return run, next(iter(loaded.parts()))


def true_values() -> dict[str, float]:
    """Base parameters of the bench's machine, the limbs' by their mean."""
    machine = build_machine(dd.load_robot(ROBOT), INDUSTRIAL)
    wide = parametrise(machine.robot, "exact", tied=False)
    own = dict(zip(wide.names, wide.prior.tolist(), strict=True))
    for name in ("m_x", "A", "G"):
        own[name] = float(np.mean([own[f"{name}{i}"] for i in (1, 2, 3)]))
    return own


def relative(left: FloatArray, of: FloatArray) -> float:
    return float(np.sqrt(np.mean(left**2) / np.mean(of**2)))


@pytest.mark.full
def test_the_bench_with_elastic_gears_is_named_exactly() -> None:
    assert set(choice().titles()) == {"stribeck", "load", "limbs", "ripple64", "elastic"}


@pytest.mark.full
def test_base_parameters_are_right_behind_elastic_gears() -> None:
    """A rigid model errs by a third in m_x and by 5 % in Coulomb friction."""
    names, found = choice().par.names, choice().z
    true = true_values()
    for name, value in zip(names, found[: len(names)], strict=True):
        assert value == pytest.approx(true[name], rel=0.02 if name == "m_x" else 0.012), name


def test_stiffness_and_rotor_are_near_those_of_the_bench() -> None:
    machine = build_machine(dd.load_robot(ROBOT), INDUSTRIAL)
    assert machine.stiffness is not None
    found = elastic_drives(choice(), choice().robot.drives)
    assert found.stiffness is not None
    np.testing.assert_allclose(np.array(found.stiffness), machine.stiffness, rtol=0.06)
    np.testing.assert_allclose(found.rotor_inertia, machine.robot.drives.output_inertia, rtol=0.08)


def test_torque_of_unseen_motion_is_explained_to_the_noise() -> None:
    """A rigid model leaves 7.7 %; noise is 0.5 %."""
    _, part = held_out()
    seen = geared(choice(), choice().robot, part, np.zeros(len(part)))
    moving = np.abs(seen.part.limited(seen.state.qd)) > 0.3
    left = seen.part.limited(seen.part.tau - seen.torque)[moving]
    assert relative(left, seen.part.limited(seen.part.tau)) < 0.007


def test_motor_torque_follows_from_the_motion_of_the_arms() -> None:
    """Up to 100 Hz, beyond arm and rotor's resonance on the gear; a rigid model errs by 10 %."""
    run, part = held_out()
    truth, found = run.truth, choice()
    state = State.from_joints(found.robot, truth.q, truth.qd, truth.qdd)
    whole = replace(
        part, t=truth.t, state=state, tau=truth.tau, rate=1 / np.diff(truth.t).mean(), grid=None
    ).with_band(100.0)
    point = GearedPoint(found.z[: len(found.par.names)], found.values, found.chosen)
    clock = np.zeros(len(truth.t))
    torque = motor_torque(Geared(found.robot, found.par, point, whole, clock, found.level))
    moving = np.abs(whole.limited(truth.qd)) > 0.3
    left = whole.limited(truth.tau - torque)[moving]
    assert relative(left, whole.limited(truth.tau)) < 0.012


def test_a_corrected_part_has_the_motion_of_the_arms() -> None:
    run, part = held_out()
    seen = link_part(geared(choice(), choice().robot, part, np.zeros(len(part))), part)
    truth = run.truth
    inner = slice(200, -200)  # without the filter's ends
    arms = np.column_stack([np.interp(part.t, truth.t, q) for q in truth.q.T])
    wound = np.abs(part.state.q - arms)[inner].max()
    assert wound > 5e-4
    assert np.sqrt(np.mean((seen.state.q - arms)[inner] ** 2)) < 0.1 * wound


@pytest.mark.full
def test_rigid_gears_are_not_taken_for_elastic_ones() -> None:
    assert "elastic" not in choose(search(None)).titles()


def test_elastic_gears_can_be_refused() -> None:
    stiff = replace(search(), refused=("elastic", "geometry", "other", "eccentricity"))
    assert "elastic" not in choose(stiff).titles()


def test_columns_are_the_slopes_of_the_residual() -> None:
    """J by finite differences at what was found; columns of c and R lack the torque's noise."""
    look = GearSearch(search().robot, search().par, search().parts[:1])
    found = choice()
    point = GearedPoint(found.z[: len(found.par.names)], found.values, found.chosen)
    here = look.geared(point)[0]
    base = _residual(here)
    for term in found.chosen:
        for parameter, column in zip(term.parameters, here.columns_of(term), strict=True):
            step = 1e-3 * parameter.size
            more = {**point.values, parameter.name: point.values[parameter.name] + step}
            there = look.geared(replace(point, values=more))[0]
            slope = (base - _residual(there)) / step
            own = here.part.limited(np.stack([np.asarray(a) for a in column], axis=1))
            allowed = 0.2 if term.name == "elastic" else 0.03
            assert relative(slope - own, own) < allowed, parameter.name


def test_linearised_torque_gives_back_the_point() -> None:
    """y - J p0 is the residual at the point."""
    look = GearSearch(search().robot, search().par, search().parts[:1])
    first = look.first()[0]
    terms = (elastic(look.geared(first)[0]),)
    point = GearedPoint(first.x, {"compliance": 4e-5, "rotor": 0.01, "relaxation": 1e-4}, terms)
    here = look.geared(point)[0]
    y = here.measured - here.wide @ here.par.wide(point.x)
    for parameter, column in zip(terms[0].parameters, here.columns_of(terms[0]), strict=True):
        y -= point.values[parameter.name] * np.stack([np.asarray(a) for a in column], axis=1)
    np.testing.assert_allclose(y, here.part.tau - here.torque, atol=1e-8)


def _residual(sample: Geared) -> FloatArray:
    return sample.part.limited(sample.part.tau - sample.torque)


def test_derivatives_of_a_wave() -> None:
    t = np.arange(0, 1, 0.0025)
    z = np.sin(2 * np.pi * 28 * t)
    first, second = derivatives(z, 400.0)
    omega = 2 * np.pi * 28
    inner = slice(4, -4)
    np.testing.assert_allclose(first[inner], omega * np.cos(omega * t)[inner], atol=1e-3 * omega)
    np.testing.assert_allclose(second[inner], -(omega**2) * z[inner], atol=1e-3 * omega**2)


def test_a_point_without_gears_is_the_rigid_model() -> None:
    look = GearSearch(search().robot, search().par, search().parts[:1])
    rigid = look.geared(Point(search().par.prior, {}))[0]
    torque = rigid.par.torque(rigid.robot, rigid.state, rigid.point.x)
    inertial = rigid.part.limited(rigid.torque - torque)  # the direction is thinned after its jump
    assert relative(inertial, rigid.part.limited(torque)) < 0.01


@pytest.mark.parametrize(("cause", "seed"), [("none", 0), ("geom", 1)])
def test_gears_that_are_asked_for_and_cannot_be_are_refused(cause: str, seed: int) -> None:
    """On rigid machines the best rotor, or the best compliance, is negative."""
    machine = make_machine(dd.load_robot("sipro-d3-1200"), cause, seed=seed)
    with pytest.raises(InputError, match=r"terms is 'elastic'; allowed: gears that the log shows"):
        dd.identify(machine.robot, list(machine.record(2, 3.0)), terms=("elastic",))


def test_gears_are_not_looked_for_with_the_rigid_model() -> None:
    robot = dd.load_robot(ROBOT)
    with pytest.raises(InputError, match="the exact model"):
        dd.identify(robot, runs()[0].recording, model="rigid", terms=("elastic",))


def test_belts_are_elastic_where_they_are_asked_for() -> None:
    """Springs that harden and creep: the best springs of the model leave a third of the error."""
    machine = make_machine(dd.load_robot("sipro-d3-1200"), "belt", seed=2)
    logs = list(machine.record(4, 4.0))
    fit = dd.identify(machine.robot, logs, terms=("elastic",))
    rigid = dd.identify(machine.robot, logs, terms="file", band=28.0)
    assert np.all(fit.residual < 0.6 * rigid.residual)
    stiffness = 1 / np.mean(machine.numbers["compliance"])
    assert fit.robot.drives.stiffness is not None
    np.testing.assert_allclose(fit.robot.drives.stiffness, stiffness, rtol=0.4)
