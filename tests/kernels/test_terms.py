"""Terms of the equations of motion, forward dynamics and payload from the kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.dynamics.factory import KIND_NAMES, KINDS, full_friction, make_robot, make_states
from tests.kernels.comparison import both, close, needs_kernels
from tests.kernels.robots import wide_robot
from tests.reference.convert import to_robot
from tests.reference.engines import (
    forward_dynamics,
    mujoco_engine,
    pinocchio_engine,
    random_robot,
    random_states,
    terms,
)

import deltadyn as dd
from deltadyn import backends as kernels
from deltadyn.backends.kernels import compiled_mass
from deltadyn.backends.layout import PLACES
from deltadyn.dynamics import packed_parameters
from deltadyn.errors import InputError, UnreachableError
from deltadyn.robot import Robot
from deltadyn.robot.settings import Friction

pytestmark = needs_kernels


@pytest.mark.parametrize(("dof", "equal"), KINDS, ids=KIND_NAMES)
@pytest.mark.parametrize("seed", range(2))
def test_terms_of_random_robots(dof: int, equal: bool, seed: int) -> None:
    robot = make_robot(dof, equal, seed=seed, friction=full_friction(dof))
    state = make_states(robot, 150, seed=seed)
    ours, expected = both(lambda: dd.equations_of_motion(robot, state))
    for name in ("M", "C", "c", "g", "f"):
        close(getattr(ours, name), getattr(expected, name))
    np.testing.assert_array_equal(ours.M, ours.M.transpose(0, 2, 1))
    mass = compiled_mass(robot, state)
    assert mass is not None
    close(mass, expected.M)
    direct = kernels.equations_of_motion(packed_parameters(robot), state.q, state.qd)
    for name in ("M", "C", "g"):
        close(getattr(direct, name), getattr(expected, name))
    one = kernels.equations_of_motion(packed_parameters(robot), state.q[3], state.qd[3])
    for name in ("M", "C", "g"):
        close(getattr(one, name), getattr(expected, name)[3])


@pytest.mark.parametrize("model", ["half-half", "virtual-work", "projected-rod"])
@pytest.mark.parametrize("dof", [3, 4])
def test_special_cases_of_the_exact_model(model: str, dof: int) -> None:
    """They have the exact model's terms with other parameters, some without a spindle."""
    robot = make_robot(dof, True)
    state = make_states(robot, 80)
    ours, expected = both(lambda: dd.equations_of_motion(robot, state, model))
    for name in ("M", "C", "g"):
        close(getattr(ours, name), getattr(expected, name))


@pytest.mark.full
@pytest.mark.parametrize("dof", [3, 4])
def test_terms_and_accelerations_of_independent_engines(dof: int) -> None:
    rng = np.random.default_rng(dof)
    spec = random_robot(rng, dof, thin=True, equal_limbs=False)
    q, qd, _ = random_states(spec, rng, 40)[:3]
    par = packed_parameters(to_robot(spec, thin=True))
    ours = kernels.equations_of_motion(par, q, qd)
    tau = rng.normal(size=q.shape) * 20
    qdd = kernels.forward_dynamics(par, q, qd, tau, friction=False)
    force = rng.normal(size=(40, 3)) * 10
    wrench = np.pad(force, ((0, 0), (0, dof - 3)))
    pushed = kernels.forward_dynamics(par, q, qd, tau, wrench, friction=False)
    c = np.einsum("nij,nj->ni", ours.C, qd)
    for engine in (mujoco_engine(spec), pinocchio_engine(spec)):
        known = terms(engine, q, qd)
        expected = forward_dynamics(engine, q, qd, tau)
        loaded = forward_dynamics(engine, q, qd, tau, force)
        pairs = [(ours.M, known.M), (c, known.c), (ours.g, known.g), (qdd, expected)]
        for mine, theirs in [*pairs, (pushed, loaded)]:
            # the engines close the loop by iteration: 1e-13, times a condition below 1e3
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-10 * np.abs(theirs).max())


@pytest.mark.parametrize(("dof", "equal"), KINDS, ids=KIND_NAMES)
def test_rate_of_the_mass_matrix_less_twice_c_is_skew(dof: int, equal: bool) -> None:
    robot = make_robot(dof, equal)
    state = make_states(robot, 60)
    par, step = packed_parameters(robot), 1e-5
    before, after = (
        kernels.equations_of_motion(par, state.q + h * state.qd, state.qd).M for h in (-step, step)
    )
    rate = (after - before) / (2 * step)
    C = kernels.equations_of_motion(par, state.q, state.qd).C
    both_ways = rate - C - C.transpose(0, 2, 1)
    # of central differences: third derivatives times 1e-10, and 1e-16 / 1e-5 of roundings
    assert np.abs(both_ways).max() < 1e-7 * np.abs(C).max()
    assert np.abs(C).max() > 0.01


DRIVES: dict[str, Callable[[int], Friction]] = {
    "none": lambda _: Friction(),
    "smooth": lambda _: Friction(viscous=0.2, coulomb=1.5, coulomb_negative=0.5, smoothing=0.2),
    "all but load": lambda dof: replace(full_friction(dof), passive=(), load=None),
    "load": lambda dof: replace(full_friction(dof), passive=()),
    "passive joints": full_friction,
}


@pytest.mark.parametrize(("dof", "equal"), KINDS, ids=KIND_NAMES)
@pytest.mark.parametrize("kind", DRIVES)
def test_forward_dynamics(dof: int, equal: bool, kind: str) -> None:
    robot = make_robot(dof, equal, friction=DRIVES[kind](dof))
    state = make_states(robot, 130)
    tau = dd.inverse_dynamics(robot, state)
    q, qd, force = state.q, state.qd, np.arange(3.0, 3.0 + dof)

    def accelerations(**more: object) -> Callable[[], object]:
        return lambda: dd.forward_dynamics(robot, q, qd, tau, **more)  # type: ignore[arg-type]

    ours, expected = both(accelerations())
    close(ours, expected)
    # there and back through a matrix whose condition is below 1e3
    np.testing.assert_allclose(ours, state.qdd, rtol=0, atol=1e-9 * np.abs(ours).max())
    close(*both(accelerations(external_force=force)))
    close(*both(accelerations(friction=False)))
    close(*both(lambda: dd.forward_dynamics(robot, q[0], qd[0], tau[0])))
    close(*both(lambda: dd.forward_dynamics(robot, q, qd[0], tau[0])))
    if kind in ("load", "passive joints"):
        return
    par = packed_parameters(robot)
    close(kernels.forward_dynamics(par, q, qd, tau), expected)
    close(kernels.forward_dynamics(par, q[7], qd[7], tau[7]), expected[7])
    without = dd.forward_dynamics(robot, q, qd, tau, friction=False)
    close(kernels.forward_dynamics(par, q, qd, tau, friction=False), without)


def test_a_direct_call_refuses_friction_by_load() -> None:
    robot = make_robot(3, True, friction=Friction(load=0.1))
    par, zero = packed_parameters(robot), np.zeros(3)
    with pytest.raises(InputError, match=r"friction\.load is .*use deltadyn\.forward_dynamics"):
        kernels.forward_dynamics(par, zero, zero, zero)
    assert np.isfinite(kernels.forward_dynamics(par, zero, zero, zero, friction=False)).all()
    with pytest.raises(InputError, match=r"shape of tau is \[2\]; allowed: \(3,\)"):
        kernels.forward_dynamics(par, zero, zero, np.zeros(2), friction=False)
    with pytest.raises(InputError, match=r"shape of q is \[5\]"):
        kernels.forward_dynamics(par, np.zeros(5), zero, zero, friction=False)
    with pytest.raises(InputError, match=r"shape of qd is \[4\]"):
        kernels.equations_of_motion(par, zero, np.zeros(4))


@pytest.mark.parametrize("dof", [3, 4])
def test_rows_that_cannot_be(dof: int) -> None:
    robot, q = wide_robot(dof)
    q[[5, 99]] = 0.0  # arms straight out: the struts are too short
    zero = np.zeros(q.shape)
    ours, expected = both(lambda: dd.forward_dynamics(robot, q, zero, zero, unreachable="nan"))
    close(ours, expected)
    par = packed_parameters(robot)
    direct = kernels.equations_of_motion(par, q, zero)
    loaded = kernels.payload_torque(par, q, zero, zero)
    for found in (ours, *direct, *loaded, kernels.forward_dynamics(par, q, zero, zero)):
        rows = found.reshape(len(q), -1)
        assert np.flatnonzero(np.isnan(rows).all(axis=1)).tolist() == [5, 99]
        assert np.isfinite(np.delete(rows, [5, 99], axis=0)).all()
    with pytest.raises(UnreachableError) as ours_said:
        dd.forward_dynamics(robot, q, zero, zero)
    with kernels.switched_off(), pytest.raises(UnreachableError) as numpy_said:
        dd.forward_dynamics(robot, q, zero, zero)
    assert str(ours_said.value) == str(numpy_said.value)


def test_a_singular_mass_matrix_gives_nan() -> None:
    """Of a robot without masses nothing follows from its torques."""
    robot = make_robot(3, True)
    par = packed_parameters(robot).copy()
    par[PLACES["M_P"].start : PLACES["G_s"].stop] = 0.0
    state = make_states(robot, 10)
    qdd = kernels.forward_dynamics(par, state.q, state.qd, state.qd)
    assert np.isnan(qdd).all()


def lighter(robot: Robot, mass: float) -> Robot:
    payload = robot.payload
    return robot.with_payload(mass, payload.offset, payload.inertia_zz)


@pytest.mark.parametrize(("dof", "equal"), KINDS, ids=KIND_NAMES)
def test_payload_column(dof: int, equal: bool) -> None:
    """tau + m column is the torque of the robot with a load m at the same place."""
    robot = lighter(make_robot(dof, equal, friction=full_friction(dof)), 0.0)
    state = make_states(robot, 120)
    found = kernels.payload_torque(packed_parameters(robot), state.q, state.qd, state.qdd)
    with kernels.switched_off():
        empty = dd.inverse_dynamics(robot, state, friction=False)
        loaded = dd.inverse_dynamics(lighter(robot, 2.5), state, friction=False)
    close(found.tau, empty)
    close(found.tau + 2.5 * found.column, loaded)
    assert np.abs(found.column).min(axis=0).max() > 0
    one = kernels.payload_torque(packed_parameters(robot), state.q[9], state.qd[9], state.qdd[9])
    close(one.tau, empty[9])
    close(one.column, found.column[9])
