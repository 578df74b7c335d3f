"""MuJoCo and Pinocchio called from Python: closed forms on arrays, the engine in a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.bench.cases import Case
from deltadyn.bench.closure import Closure
from deltadyn.bench.compiler import PeerMissingError
from deltadyn.bench.race import SAME, DifferentTorqueError
from deltadyn.bench.tree import SMALLEST_INERTIA, Tree, TreeBody

Engine = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Forces (N, n) of the open tree, without rotors, from its x, xd, xdd (N, n)."""


def mujoco_engine(tree: Tree) -> Engine:
    """The tree in MuJoCo."""
    mujoco = _import("mujoco", "MuJoCo")
    model = mujoco.MjModel.from_xml_string(tree.mjcf())
    model.body_inertia[model.body_inertia <= 1.0001 * SMALLEST_INERTIA] = 0.0
    data = mujoco.MjData(model)

    def forces(x: FloatArray, xd: FloatArray, xdd: FloatArray) -> FloatArray:
        result = np.empty_like(x)
        qpos, qvel, qacc = data.qpos, data.qvel, data.qacc
        for k in range(len(x)):
            qpos[:], qvel[:], qacc[:] = x[k], xd[k], xdd[k]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_comVel(model, data)
            mujoco.mj_rne(model, data, 1, result[k])
        return result

    return forces


def pinocchio_engine(tree: Tree) -> Engine:
    """The tree in Pinocchio, with universal joints as in pinocchio_race.cpp."""
    pin = _import("pinocchio", "Pinocchio")
    model = pin.Model()
    model.gravity.linear = np.array([0.0, 0.0, -tree.robot.gravity])
    for i in range(3):
        _add_limb(pin, model, tree, i)
    if tree.robot.spindle is not None:
        _add_spindle(pin, model, tree, tree.robot.spindle.upper_joint_z)
    data, rnea = model.createData(), pin.rnea

    def forces(x: FloatArray, xd: FloatArray, xdd: FloatArray) -> FloatArray:
        result = np.empty_like(x)
        for k in range(len(x)):
            result[k] = rnea(model, data, x[k], xd[k], xdd[k])
        return result

    return forces


ENGINES: dict[str, Callable[[Tree], Engine]] = {
    "MuJoCo": mujoco_engine,
    "Pinocchio": pinocchio_engine,
}


def python_peer(name: str, case: Case) -> Callable[[], FloatArray]:
    """The peer's whole way to the torques (N, dof) of a case, compared with ours first."""
    tree = Tree.of(case.robot)
    engine = ENGINES[name](tree)

    def torque() -> FloatArray:
        closed = Closure.of(tree, case)
        return closed.torque(engine(closed.x, closed.xd, closed.xdd))

    ours = case.torque()
    found = float(np.abs(torque() - ours).max() / np.abs(ours).max())
    if not found <= SAME:
        raise DifferentTorqueError(f"{name} from Python", "whole", found)
    return torque


def _add_limb(pin: Any, model: Any, tree: Tree, i: int) -> None:
    g = tree.robot.geometry
    ca, sa = np.cos(g.azimuth[i]), np.sin(g.azimuth[i])
    turned = np.array([[ca, -sa, 0.0], [sa, ca, 0.0], [0.0, 0.0, 1.0]])
    shoulder = pin.SE3(turned, g.base_radius[i] * np.array([ca, sa, 0.0]))
    arm = _add_joint(model, 0, pin.JointModelRY(), shoulder)
    _hang(pin, model, arm, tree.bodies[2 * i])
    elbow = pin.SE3(np.eye(3), np.array([g.arm_length[i], 0.0, 0.0]))
    swing_and_sway = pin.JointModelUniversal(np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    _hang(pin, model, _add_joint(model, arm, swing_and_sway, elbow), tree.bodies[2 * i + 1])


def _add_spindle(pin: Any, model: Any, tree: Tree, upper_z: float) -> None:
    downward = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    to_rod = pin.SE3(downward, np.zeros(3))
    universal = pin.JointModelUniversal(np.array([0.0, -1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    raised = pin.SE3(np.eye(3), np.array([0.0, 0.0, upper_z]))
    joint = _add_joint(model, 0, pin.JointModelRZ(), raised)
    joint = _add_joint(model, joint, universal, to_rod)
    _hang(pin, model, joint, tree.bodies[6])
    joint = _add_joint(model, joint, pin.JointModelPZ(), pin.SE3.Identity())
    _hang(pin, model, joint, tree.bodies[7])
    _hang(pin, model, _add_joint(model, joint, universal, to_rod), tree.bodies[8])


def _add_joint(model: Any, parent: int, joint: Any, placement: Any) -> int:
    return int(model.addJoint(parent, joint, placement, f"joint_{model.njoints}"))


def _hang(pin: Any, model: Any, joint: int, body: TreeBody) -> None:
    inertia = pin.Inertia(body.mass, body.com, body.inertia)
    model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())


def _import(name: str, peer: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise PeerMissingError(peer, f"the Python package {name} is not there: {error}") from None
