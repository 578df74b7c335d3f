"""Constraint loads against the cut loops of two independent engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.dynamics.factory import (
    full_friction,
)
from tests.dynamics.known_loads import known
from tests.dynamics.loads_by_hand import (
    Z,
    largest_difference,
)
from tests.reference.convert import to_robot
from tests.reference.engines import (
    Engine,
    EngineBody,
    EngineRobot,
    States,
    close,
    mujoco_engine,
    pinocchio_engine,
    random_robot,
    random_states,
    starting_points,
)

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import constraint_loads
from deltadyn.kinematics import State
from deltadyn.robot import Robot
from deltadyn.robot.settings import Friction

# Relative to the largest force: the closures of the engines solve up to 14 equations with a
# condition number of some 1e2, so 1e-14 remains. A wrong term of one part in 1e10 would show.
AGREEMENT = 1e-11


@dataclass(frozen=True, eq=False)
class Cut:
    """Forces at the cuts: on the strut tips, and of the platform on the effector, with u."""

    tips: FloatArray  # (N, 3, 3)
    effector_force: FloatArray  # (N, 3)
    effector_moment: FloatArray  # (N, 3), about p
    u: FloatArray  # (N, 3, 3)
    rods_need: FloatArray  # (N, 3), sum of m (a + g) over spindle and effector


def cut_loops(engine: Engine, states: States, force: FloatArray, robot: Robot) -> Cut:
    """ID(x, xd, xdd) + friction = S^T tau + Jc^T f + J_p^T F_ext, solved in the passive rows."""
    dof, rows = engine.robot.dof, []
    active = [0, 3, 6, 12][:dof]
    for k, start in enumerate(starting_points(engine.robot, states.q)):
        s = close(engine, start, states.qd[k])
        xdd = s.gamma @ states.qdd[k] + s.drift
        tree = engine.inverse_dynamics(s.x, s.xd, xdd) + passive_torque(robot.friction, s.xd)
        names = [f"tip_{i}" for i in (1, 2, 3)] + ["platform"] + ["effector"] * (dof - 3)
        frames = engine.frames(s.x, names)
        at_p = frames["platform"].jacobian[:3]
        Jc = [frames[name].jacobian[:3] - at_p for name in names[:3]]
        if dof == 4:
            effector = frames["effector"]
            tilt = -np.cross(np.eye(3), effector.rotation[:, 2]) @ effector.jacobian[3:]
            Jc += [effector.jacobian[:3] - at_p, tilt[:2]]
        passive = [j for j in range(len(s.x)) if j not in active]
        J = np.concatenate(Jc)[:, passive].T
        f = np.linalg.solve(J, (tree - at_p.T @ force[k])[passive])
        upright = np.cross(Z, [*f[12:14], 0.0]) if dof == 4 else np.zeros(3)
        struts = engine.frames(s.x, [f"strut_{i}" for i in (1, 2, 3)]).values()
        u = np.array([frame.rotation[:, 0] for frame in struts])
        need = spindle_momentum(engine, s.x, s.xd, xdd)
        rows.append((f[:9].reshape(3, 3), f[9:12] if dof == 4 else np.zeros(3), upright, u, need))
    return Cut(*(np.array(column) for column in zip(*rows, strict=True)))


def passive_torque(friction: Friction, xd: FloatArray) -> FloatArray:
    """What friction in the passive joints asks for in the coordinates of the open tree."""
    torque = np.zeros_like(xd)
    maps: dict[str, list[list[int]]] = {
        "elbow_swing": [[1], [4], [7]],
        "elbow_sway": [[2], [5], [8]],
        "platform_swing": [[0, 1], [3, 4], [6, 7]],  # the strut's swing is theta + (beta - theta)
        "platform_sway": [[2], [5], [8]],
        "prismatic": [[15]],
        "universal_fork": [[13], [17]],
        "universal_cross": [[14], [16]],
    }
    for item in friction.passive:
        for coordinates in maps[item.joint]:
            rate = xd[coordinates].sum()
            torque[coordinates] += item.viscous * rate + item.coulomb * np.sign(rate)
    return torque


def spindle_momentum(engine: Engine, x: FloatArray, xd: FloatArray, xdd: FloatArray) -> FloatArray:
    """Sum of m (a + g) over both rods, effector and payload."""
    total, robot = np.zeros(3), engine.robot
    if robot.spindle is None:
        return total
    payload = EngineBody(robot.payload_mass, np.array(robot.payload_offset), np.zeros((3, 3)))
    bodies = [
        ("upper", robot.spindle.upper),
        ("lower", robot.spindle.lower),
        ("effector", robot.spindle.effector),
        ("effector", payload),
    ]
    for name, body in bodies:
        frame = engine.frames(x, [name])[name]
        a, wd = np.split(frame.jacobian @ xdd + engine.drifts(x, xd, [name])[name], 2)
        w, r = frame.jacobian[3:] @ xd, frame.rotation @ body.com
        total += body.mass * (a + np.cross(wd, r) + np.cross(w, np.cross(w, r)))
        total += body.mass * robot.gravity * Z
    return total


def engine_robot(dof: int, seed: int, *, thin: bool = True) -> EngineRobot:
    """A robot whose effector has no products of inertia, as the library assumes."""
    drawn = random_robot(np.random.default_rng([dof, seed]), dof, thin=thin, equal_limbs=False)
    if drawn.spindle is None:
        return drawn
    body = drawn.spindle.effector
    zz = body.inertia_com[2, 2]
    upright = replace(body, inertia_com=np.diag([zz / 2, zz / 2, zz]))
    return replace(drawn, spindle=replace(drawn.spindle, effector=upright))


@pytest.mark.parametrize("friction", ["no friction", "in the spindle", "in all joints"])
@pytest.mark.parametrize(
    "maker", [mujoco_engine, pytest.param(pinocchio_engine, marks=pytest.mark.full)]
)
@pytest.mark.parametrize("dof", [3, 4])
def test_cut_loops(dof: int, maker: Callable[[EngineRobot], Engine], friction: str) -> None:
    passive = [] if friction == "no friction" else list(full_friction(dof).passive)
    if friction == "in the spindle":
        passive = [item for item in passive if item.joint.startswith(("prismatic", "universal"))]
    for seed in range(3):
        drawn, rng = engine_robot(dof, seed), np.random.default_rng([seed, dof])
        robot, states = to_robot(drawn, thin=True), random_states(drawn, rng, 40)
        robot = robot.with_friction(passive=tuple(passive))
        force = rng.uniform(-80.0, 80.0, (40, 3))
        cut = cut_loops(maker(drawn), states, force, robot)
        loads = constraint_loads(robot, State.from_joints(robot, *states), force)
        assert largest_difference(loads.platform, cut.tips) < AGREEMENT
        if friction == "in all joints":
            continue  # the open tree's tips are points: friction has no moment on its platform
        lever = np.array(drawn.platform_radius)[:, None] * drawn.radial
        from_struts = np.cross(lever, -cut.tips).sum(axis=1)
        couples = known(loads.couple)[..., None] * np.cross(drawn.tangential, cut.u)
        moment = from_struts - couples.sum(axis=1) - cut.effector_moment
        assert np.max(np.abs(moment)) < AGREEMENT * np.max(np.abs(known(loads.couple)))
        if dof == 4:
            assert loads.spindle_upper is not None
            expected = cut.rods_need - cut.effector_force
            assert largest_difference(loads.spindle_upper, expected) < AGREEMENT


@pytest.mark.parametrize("dof", [3, 4])
def test_cut_loops_of_bodies_of_any_shape(dof: int) -> None:
    """The rigid model takes struts and telescope as they are, universal joints at the elbows."""
    for seed in range(3):
        drawn, rng = engine_robot(dof, seed, thin=False), np.random.default_rng([seed, dof])
        robot, states = to_robot(drawn, thin=False), random_states(drawn, rng, 40)
        force = rng.uniform(-80.0, 80.0, (40, 3))
        cut = cut_loops(mujoco_engine(drawn), states, force, robot)
        state = State.from_joints(robot, *states)
        loads = constraint_loads(robot, state, force, model="rigid")
        assert largest_difference(loads.platform, cut.tips) < AGREEMENT
        exact = constraint_loads(robot, state, force)
        assert largest_difference(exact.platform, cut.tips) > 1e-4
        lever = np.array(drawn.platform_radius)[:, None] * drawn.radial
        from_struts = np.cross(lever, -cut.tips).sum(axis=1)
        moment = from_struts + loads.platform_moment - cut.effector_moment
        assert np.max(np.abs(moment)) < AGREEMENT * np.max(np.abs(loads.platform_moment))
        if dof == 4:
            assert loads.spindle_upper is not None
            expected = cut.rods_need - cut.effector_force
            assert largest_difference(loads.spindle_upper, expected) < AGREEMENT
