"""MuJoCo and Pinocchio called from Python: closed forms on whole arrays, the engine in a loop.

The formulas of the closure are those of closure.h: the best that a user of an engine in Python can
do is to do them for all samples at once, so that only the engine's own calls stay in a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.peers.programs import SAME, DifferentTorqueError, PeerMissingError
from benchmarks.peers.tree import SMALLEST_INERTIA, Tree, TreeBody
from deltadyn.arrays import FloatArray
from deltadyn.small import cross, dot

Triple = tuple[FloatArray, FloatArray, FloatArray]
Engine = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Forces (N, n) of the open tree, without rotors, from its x, xd, xdd (N, n)."""


@dataclass(frozen=True, eq=False)
class Closure:
    """Tree coordinates x, rates xd and accelerations xdd (N, n), and what `torque` needs."""

    tree: Tree
    case: Case
    x: FloatArray
    xd: FloatArray
    xdd: FloatArray
    struts: tuple[Triple, ...]  # p - elbow, in the base frame
    arms: tuple[tuple[FloatArray, FloatArray], ...]  # elbow's derivative by theta, radial and up
    planes: tuple[tuple[FloatArray, FloatArray], ...]  # strut, radial and up
    shaft: Triple | None  # in a frame that turns with psi

    @classmethod
    def of(cls, tree: Tree, case: Case) -> Closure:
        """Close the tree at every sample of the case."""
        x: list[FloatArray] = []
        xd: list[FloatArray] = []
        xdd: list[FloatArray] = []
        struts, arms, planes = [], [], []
        for i in range(3):
            strut, arm, plane = _limb(tree, case, i, x, xd, xdd)
            struts.append(strut)
            arms.append(arm)
            planes.append(plane)
        shaft = None
        if tree.robot.spindle is not None:
            shaft = _spindle(tree.robot.spindle.pivot_z, case, x, xd, xdd)
        return cls(
            tree,
            case,
            np.stack(x, axis=1),
            np.stack(xd, axis=1),
            np.stack(xdd, axis=1),
            tuple(struts),
            tuple(arms),
            tuple(planes),
            shaft,
        )

    def torque(self, force: FloatArray) -> FloatArray:
        """The drives' torques (N, dof) from the tree's forces (N, n) without its rotors."""
        robot, pdd = self.tree.robot, self.case.pdd
        mass = self.tree.platform_mass
        load = [mass * pdd[:, 0], mass * pdd[:, 1], mass * (pdd[:, 2] + robot.gravity)]
        tau = np.empty((len(force), robot.dof))
        azimuth = robot.geometry.azimuth
        for i in range(3):
            f0, f1, f2 = force[:, 3 * i], force[:, 3 * i + 1], force[:, 3 * i + 2]
            ca, sa = np.cos(azimuth[i]), np.sin(azimuth[i])
            (arm_r, arm_z), (r, z) = self.arms[i], self.planes[i]
            m2 = r * r + z * z
            wr, wz, wt = f1 * z / m2, -f1 * r / m2, f2 / np.sqrt(m2)
            tau[:, i] = f0 - f1 - wr * arm_r - wz * arm_z
            load[0] = load[0] + wr * ca - wt * sa
            load[1] = load[1] + wr * sa + wt * ca
            load[2] = load[2] + wz
        if self.shaft is not None:
            tau[:, 3] = force[:, 9] + self._spindle_load(self.shaft, force[:, 9:], load)
        a, b, c = self.struts
        det = dot(a, cross(b, c))
        for i, (j, k) in enumerate(((b, c), (c, a), (a, b))):
            arm_r, arm_z = self.arms[i]
            r, z = self.planes[i]
            d = r * arm_r + z * arm_z
            tau[:, i] += d * dot(cross(j, k), tuple(load)) / det
        drives = [0, 3, 6, 9][: robot.dof]
        return tau + np.asarray(robot.drives.output_inertia) * self.xdd[:, drives]

    def _spindle_load(self, u: Triple, f: FloatArray, load: list[FloatArray]) -> FloatArray:
        """Adds the spindle's share to the load on the platform; its own on psi is returned."""
        psi = self.case.p[:, 3]
        c, s = np.cos(psi), np.sin(psi)
        m2 = u[1] ** 2 + u[2] ** 2
        m, l2 = np.sqrt(m2), m2 + u[0] ** 2
        fork, turn, slide = (f[:, 1] - f[:, 5]) / m2, (f[:, 2] - f[:, 4]) / l2, f[:, 3] / l2**0.5
        on_m = slide - turn * u[0] / m
        wx = turn * m + slide * u[0]
        wy, wz = on_m * u[1] - fork * u[2], on_m * u[2] + fork * u[1]
        load[0] = load[0] + c * wx - s * wy
        load[1] = load[1] + s * wx + c * wy
        load[2] = load[2] + wz
        return wx * u[1] - wy * u[0]


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
    g = tree.robot.rotary
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
    try:
        return import_module(name)
    except ImportError as error:
        raise PeerMissingError(peer, f"the Python package {name} is not there: {error}") from None


def _limb(
    tree: Tree,
    case: Case,
    i: int,
    x: list[FloatArray],
    xd: list[FloatArray],
    xdd: list[FloatArray],
) -> tuple[Triple, tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Coordinates of one limb; its strut, the elbow's derivative and the strut in its plane."""
    g = tree.robot.standard
    ca, sa = np.cos(g.azimuth[i]), np.sin(g.azimuth[i])
    l1, l2 = g.arm_length[i], g.strut_length[i]
    (h, w, z), (vr, vt, vz), (ar, at, az) = (
        (v[:, 0] * ca + v[:, 1] * sa, v[:, 1] * ca - v[:, 0] * sa, v[:, 2])
        for v in (case.p, case.pd, case.pdd)
    )
    h = h - (g.base_radius[i] - g.platform_radius[i])
    n2 = h * h + z * z
    k = (n2 + w * w + l1 * l1 - l2 * l2) / (2 * l1)
    n = np.sqrt(n2 - k * k)
    c, s = (h * k - z * n) / n2, (-z * k - h * n) / n2
    arm_r, arm_z = -l1 * s, -l1 * c
    sr, sz = h - l1 * c, z + l1 * s
    d = sr * arm_r + sz * arm_z
    rate = (sr * vr + w * vt + sz * vz) / d
    sdr, sdz = vr - arm_r * rate, vz - arm_z * rate
    br, bz = ar + l1 * c * rate**2, az - l1 * s * rate**2
    acc = (sr * br + w * at + sz * bz + sdr**2 + vt**2 + sdz**2) / d
    sddr, sddz = br - arm_r * acc, bz - arm_z * acc
    m2 = sr * sr + sz * sz
    m = np.sqrt(m2)
    beta = (sz * sdr - sr * sdz) / m2
    betad = (sz * sddr - sr * sddz - 2 * (sr * sdr + sz * sdz) * beta) / m2
    theta, gamma = np.arctan2(s, c), vt / m
    x += [theta, np.arctan2(-sz, sr) - theta, np.arctan2(w, m)]
    xd += [rate, beta - rate, gamma]
    xdd += [acc, betad - acc, (at + w * gamma**2) / m]
    return (sr * ca - w * sa, sr * sa + w * ca, sz), (arm_r, arm_z), (sr, sz)


def _spindle(
    pivot_z: float,
    case: Case,
    x: list[FloatArray],
    xd: list[FloatArray],
    xdd: list[FloatArray],
) -> Triple:
    """Coordinates psi, fork, cross, slide and the mirrored lower joint; the shaft."""
    psi, w, wd = case.p[:, 3], case.pd[:, 3], case.pdd[:, 3]
    c, s = np.cos(psi), np.sin(psi)
    (ux, uy), (px, py), (qx, qy) = (
        (c * v[:, 0] + s * v[:, 1], c * v[:, 1] - s * v[:, 0]) for v in (case.p, case.pd, case.pdd)
    )
    uz, vz, az = case.p[:, 2] - pivot_z, case.pd[:, 2], case.pdd[:, 2]
    vx, vy = px + w * uy, py - w * ux
    ax, ay = qx + w * (py + vy) + wd * uy, qy - w * (px + vx) - wd * ux
    m2 = uy * uy + uz * uz
    m, l2 = np.sqrt(m2), m2 + ux * ux
    l = np.sqrt(l2)
    mmd = uy * vy + uz * vz
    md, ld = mmd / m, (ux * vx + mmd) / l
    mdd = (vy * vy + vz * vz + uy * ay + uz * az - md * md) / m
    fork, turn = (uy * vz - uz * vy) / m2, (vx * m - ux * md) / l2
    forkd = (uy * az - uz * ay - 2 * mmd * fork) / m2
    turnd = (ax * m - ux * mdd - 2 * l * ld * turn) / l2
    lengthd = (vx * vx + vy * vy + vz * vz + ux * ax + uy * ay + uz * az - ld * ld) / l
    angles = np.arctan2(uy, -uz), np.arctan2(ux, m)
    x += [psi, angles[0], angles[1], l, -angles[1], -angles[0]]
    xd += [w, fork, turn, ld, -turn, -fork]
    xdd += [wd, forkd, turnd, lengthd, -turnd, -forkd]
    return ux, uy, uz
