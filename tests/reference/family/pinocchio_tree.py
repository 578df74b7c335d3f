"""The open tree of a member in Pinocchio."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.reference.engines.spec import Array

from .closure import Frames
from .tree import Joint, Link, Tree

try:
    import pinocchio as pin
except ModuleNotFoundError:  # `make test` compares with its stored answers
    pin = None
WORLD_AXES = getattr(pin, "LOCAL_WORLD_ALIGNED", None)


@dataclass(frozen=True, eq=False)
class PinocchioTree:
    """Kinematics and dynamics of the open tree; build it with `pinocchio_tree`."""

    tree: Tree
    model: Any
    data: Any
    order: NDArray[np.intp]  # (n,), place of each coordinate of the tree among Pinocchio's

    def frames(self, x: Array, xd: Array) -> Frames:
        """Frames of the closing links, with Jacobians and accelerations at xdd = 0."""
        model, data = self.model, self.data
        ids = [model.getFrameId(name) for name in self.tree.closing]
        frames = Frames.empty(len(x), len(ids), x.shape[1])
        zero = np.zeros(x.shape[1])
        for k, (row, rate) in enumerate(zip(self._own(x), self._own(xd), strict=True)):
            pin.forwardKinematics(model, data, row, rate, zero)
            pin.computeJointJacobians(model, data)
            for b, frame in enumerate(ids):
                placement = pin.updateFramePlacement(model, data, frame)
                frames.position[k, b] = placement.translation
                frames.rotation[k, b] = placement.rotation
                jacobian = pin.getFrameJacobian(model, data, frame, WORLD_AXES)
                frames.jacobian[k, b] = jacobian[:, self.order]
                motion = pin.getFrameClassicalAcceleration(model, data, frame, WORLD_AXES)
                frames.drift[k, b] = motion.vector
        return frames

    def mass_matrix(self, x: Array) -> Array:
        """Mass matrices (N, n, n) with rotors."""
        rows = self._own(x)
        upper = np.array([np.triu(pin.crba(self.model, self.data, row)) for row in rows])
        full: Array = upper + np.triu(upper, 1).transpose(0, 2, 1)
        return full[:, self.order][:, :, self.order]

    def inverse_dynamics(self, x: Array, xd: Array, xdd: Array) -> Array:
        """Generalised forces (N, n) with rotors."""
        rows = zip(*(self._own(values) for values in (x, xd, xdd)), strict=True)
        tau = np.array([pin.rnea(self.model, self.data, *row) for row in rows])
        return tau[:, self.order]

    def _own(self, x: Array) -> Array:
        """Coordinates (N, n) in Pinocchio's order."""
        own = np.empty_like(x)
        own[:, self.order] = x
        return own


def pinocchio_tree(tree: Tree) -> PinocchioTree:
    """Build the open tree in Pinocchio; its crba wants the joints of a subtree side by side."""
    model = pin.Model()
    model.gravity.linear = np.array([0.0, 0.0, -tree.member.gravity])
    joints, offsets = {"": 0}, {"": np.zeros(3)}
    for link in _depth_first(tree, ""):
        last, place = joints[link.parent], offsets[link.parent] + link.origin
        for joint in link.joints:
            placement = pin.SE3(np.eye(3), place)
            last, place = model.addJoint(last, _joint(joint), placement, joint.name), np.zeros(3)
        joints[link.name], offsets[link.name] = last, place
        here = pin.SE3(np.eye(3), place)
        for part in link.parts:
            inertia = pin.Inertia(part.mass, part.com, part.inertia_com)
            model.appendBodyToJoint(last, inertia, here)
        model.addFrame(pin.Frame(link.name, last, 0, here, pin.FrameType.OP_FRAME))
    order = np.array([model.joints[model.getJointId(name)].idx_v for name in tree.names])
    armature = np.zeros(model.nv)
    armature[order] = [joint.armature for link in tree.links for joint in link.joints]
    model.armature = armature
    return PinocchioTree(tree, model, model.createData(), order)


def _depth_first(tree: Tree, parent: str) -> Iterator[Link]:
    for link in tree.links:
        if link.parent == parent:
            yield link
            yield from _depth_first(tree, link.name)


def _joint(joint: Joint) -> Any:
    if joint.slide:
        return pin.JointModelPrismaticUnaligned(joint.axis)
    return pin.JointModelRevoluteUnaligned(joint.axis)
