"""The open tree of a member in MuJoCo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from tests.reference.engines.spec import Array, EngineBody

from .closure import Frames
from .tree import Link, Tree

SMALLEST_INERTIA = 1e-14  # MuJoCo's compiler refuses a moving body without it about some axis


@dataclass(frozen=True, eq=False)
class MujocoTree:
    """Kinematics and dynamics of the open tree; build it with `mujoco_tree`."""

    tree: Tree
    model: Any
    data: Any
    order: NDArray[np.intp]  # (n,), place of each coordinate of the tree among MuJoCo's

    def frames(self, x: Array, xd: Array) -> Frames:
        """Frames of the closing links, with Jacobians and accelerations at xdd = 0."""
        model, data, order = self.model, self.data, self.order
        bodies = [model.body(name).id for name in self.tree.closing]
        frames = Frames.empty(len(x), len(bodies), x.shape[1])
        rate = np.zeros((6, model.nv))
        for k, _ in enumerate(x):
            self._place(x[k], xd[k])
            frames.position[k] = data.xpos[bodies]
            frames.rotation[k] = data.xmat[bodies].reshape(-1, 3, 3)
            for b, body in enumerate(bodies):
                mujoco.mj_jacBody(model, data, rate[:3], rate[3:], body)
                frames.jacobian[k, b] = rate[:, order]
                if xd[k].any():
                    point = data.xpos[body]
                    mujoco.mj_jacDot(model, data, rate[:3], rate[3:], point, body)
                    frames.drift[k, b] = rate @ data.qvel
        return frames

    def mass_matrix(self, x: Array) -> Array:
        """Mass matrices (N, n, n) with rotors."""
        mass = np.empty((len(x), self.model.nv, self.model.nv))
        for k, _ in enumerate(x):
            self._place(x[k], np.zeros_like(x[k]))
            mujoco.mj_makeM(self.model, self.data)
            mujoco.mj_fullM(self.model, self.data, mass[k])
        ordered: Array = mass[:, self.order][:, :, self.order]
        return ordered

    def inverse_dynamics(self, x: Array, xd: Array, xdd: Array) -> Array:
        """Generalised forces (N, n); mj_rne leaves the rotors to its caller."""
        tau = np.empty(x.shape)
        for k, _ in enumerate(x):
            self._place(x[k], xd[k])
            self.data.qacc[self.order] = xdd[k]
            mujoco.mj_rne(self.model, self.data, 1, tau[k])
        rotors: Array = np.asarray(self.model.dof_armature)[self.order]
        ordered: Array = tau[:, self.order] + rotors * xdd
        return ordered

    def _place(self, x: Array, xd: Array) -> None:
        self.data.qpos[self.order] = x
        self.data.qvel[self.order] = xd
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_comVel(self.model, self.data)


def mujoco_tree(tree: Tree) -> MujocoTree:
    """Build the open tree in MuJoCo."""
    spec = mujoco.MjSpec()
    spec.compiler.autolimits = False
    spec.option.gravity = [0.0, 0.0, -tree.member.gravity]
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    bodies = {"": spec.worldbody}
    for link in tree.links:
        bodies[link.name] = _add_link(bodies[link.parent], link)
    model = spec.compile()
    model.body_inertia[model.body_inertia <= SMALLEST_INERTIA] = 0.0  # its algorithms do not mind
    order = np.array([model.joint(name).dofadr[0] for name in tree.names])
    return MujocoTree(tree, model, mujoco.MjData(model), order)


def _add_link(parent: Any, link: Link) -> Any:
    body = parent.add_body(name=link.name, pos=link.origin)
    for joint in link.joints:
        kind = mujoco.mjtJoint.mjJNT_SLIDE if joint.slide else mujoco.mjtJoint.mjJNT_HINGE
        body.add_joint(name=joint.name, type=kind, axis=joint.axis, armature=joint.armature)
    for k, part in enumerate(link.parts):
        _set_inertia(body if k == 0 else body.add_body(), part)
    return body


def _set_inertia(body: Any, part: EngineBody) -> None:
    """Mass, COM and principal moments of a body."""
    moments, axes = np.linalg.eigh(part.inertia_com)
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, axes.flatten())
    body.mass = part.mass
    body.ipos = part.com
    body.iquat = quaternion
    body.inertia = np.maximum(moments, SMALLEST_INERTIA)
    body.explicitinertial = True
