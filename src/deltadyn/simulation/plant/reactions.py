"""Reactions of a motion in MuJoCo's model of the machine, without its soft constraints.

The mass matrix M, the bias b and the Jacobian J of the loops are MuJoCo's; the motion is the exact
one. The joints' accelerations a follow from the drives' and from J a = -Jd v, the multipliers f of
the loops from M a + b = S tau + J^T f, and `mj_rnePostConstraint` hands them down the tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray, restore
from deltadyn.dynamics.inverse import check_state
from deltadyn.errors import extra_module
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.simulation.plant.mjcf import driven_joints, mjcf
from deltadyn.simulation.plant.mujoco import joint_values


@dataclass(frozen=True, eq=False)
class MujocoReactions:
    """Forces (N) and moments (N m) in base axes, as in `constraint_loads`, without friction.

    A strut is one body on a universal joint here and the platform slides, so that pairs have no
    couples; `shoulder_moment` is what remains of it then. The rows of the spindle are None without
    one.
    """

    tau: FloatArray  # (N, dof), N m, on rails N
    platform: FloatArray  # (N, legs, 3), of the platform on the strut
    elbow: FloatArray  # (N, legs, 3), of the arm on the strut
    shoulder_force: FloatArray  # (N, legs, 3), of the base on the arm; on rails across the rail
    shoulder_moment: FloatArray  # (N, legs, 3), across the motor axis
    upper_force: FloatArray | None  # (N, 3), of the base on the upper rod
    upper_moment: FloatArray | None
    slide_force: FloatArray | None  # (N, 3), of the upper rod on the lower one
    slide_moment: FloatArray | None  # about the lower joint
    lower_force: FloatArray | None  # (N, 3), of the effector on the lower rod
    lower_moment: FloatArray | None


def mujoco_reactions(robot: Robot, motion: State) -> MujocoReactions:
    """Reactions of a motion by MuJoCo, a witness for `constraint_loads(..., friction=False)`.

    Struts and telescope are rigid bodies of any shape, as for `model="rigid"`. Needs the extra
    `mujoco`; takes about a millisecond a sample.
    """
    check_state(robot, motion)
    engine: Any = extra_module("mujoco", "mujoco_reactions", "mujoco")
    model = engine.MjModel.from_xml_string(mjcf(robot, 1e-3))
    rows = [_sample(engine, model, robot, motion, k) for k in range(len(motion))]
    stacked = [
        None if part[0] is None else restore(np.array(part), motion.single)
        for part in zip(*rows, strict=True)
    ]
    return MujocoReactions(*stacked)  # type: ignore[arg-type]


def _sample(
    engine: Any, model: Any, robot: Robot, motion: State, k: int
) -> tuple[FloatArray | None, ...]:
    data = engine.MjData(model)
    row = slice(k, k + 1)
    one = State.from_joints(
        robot, motion.q[row], motion.qd[row], motion.qdd[row], hint=motion.p[row]
    )
    values = joint_values(robot, one)
    for j in range(model.njnt):
        data.qpos[j], data.qvel[j] = values[model.joint(j).name]
    engine.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    engine.mj_fullM(model, data, M)
    J = data.efc_J.reshape(-1, model.nv)[: data.ne].copy()
    driven = [int(model.joint(name).id) for name in driven_joints(robot)]
    passive = [j for j in range(model.nv) if j not in driven]

    fixed = np.zeros(model.nv)
    fixed[driven] = one.qdd[0]
    bend = _bend(engine, model, data)
    free = np.linalg.lstsq(J[:, passive], -bend - J @ fixed, rcond=1e-9)[0]
    data.qacc[:] = fixed
    data.qacc[passive] = free
    needed = M @ data.qacc + data.qfrc_bias
    f = np.linalg.lstsq(J[:, passive].T, needed[passive], rcond=1e-9)[0]
    tau = (needed - J.T @ f)[driven]
    data.efc_force[:] = 0.0
    data.efc_force[: data.ne] = f
    engine.mj_rnePostConstraint(model, data)

    legs = range(robot.legs)
    tips = np.array([f[3 * i : 3 * i + 3] for i in legs])
    elbow = np.array([_between(model, data, f"strut_{i + 1}")[0] for i in legs])
    force, moment = (
        np.array([_between(model, data, f"arm_{i + 1}")[part] for i in legs]) for part in (0, 1)
    )
    frames = robot.geometry.frames
    pins = np.array([np.cross(frame.z, frame.x) for frame in frames])
    if robot.linear:
        rails = np.array([frame.z for frame in frames])
        force = force - np.sum(force * rails, axis=1, keepdims=True) * rails
    else:
        moment = moment - np.sum(moment * pins, axis=1, keepdims=True) * pins
    if robot.spindle is None:
        return tau, tips, elbow, force, moment, *((None,) * 6)
    upper, slide = (_between(model, data, name) for name in ("upper", "lower"))
    on_effector = _between(model, data, "effector")
    return tau, tips, elbow, force, moment, *upper, *slide, -on_effector[0], -on_effector[1]


def _bend(engine: Any, model: Any, data: Any) -> FloatArray:
    """Jd v of the loops: their acceleration with no joint accelerated, rows as in efc_J."""
    data.qacc[:] = 0.0
    engine.mj_rnePostConstraint(model, data)
    rows: list[float] = []
    motion = np.zeros(6)
    for i in range(model.neq):
        if model.eq_type[i] != engine.mjtEq.mjEQ_CONNECT:
            rows.append(0.0)  # of gears and belts, which are linear
            continue
        ends = []
        for site in (model.eq_obj1id[i], model.eq_obj2id[i]):
            engine.mj_objectAcceleration(model, data, engine.mjtObj.mjOBJ_SITE, site, motion, 0)
            ends.append(motion[3:].copy())
        rows += (ends[0] - ends[1]).tolist()
    return np.array(rows)


def _between(model: Any, data: Any, name: str) -> tuple[FloatArray, FloatArray]:
    """Force and moment of a body's parent on it, about the body's origin."""
    body = model.body(name).id
    moment, force = np.split(data.cfrc_int[body], 2)
    centre = data.subtree_com[model.body_rootid[body]]
    return force.copy(), moment + np.cross(centre - data.xpos[body], force)
