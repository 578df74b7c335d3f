"""Forces and moments in all joints of a member, by MuJoCo's Newton-Euler recursion.

The loops' multipliers f solve ID(y, yd, ydd) + drag = S tau + Jc^T f in all coordinates of the open
tree, with the Jacobian Jc of the loops from MuJoCo and the exact motion: no soft constraint blurs
them. Put on the bodies as forces from outside they make `mj_rnePostConstraint` give the wrench
between each body and its parent (`cfrc_int`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import mujoco
import numpy as np
from tests.reference.engines.spec import Array

from .closure import close, move
from .members import Articulated, Member
from .mujoco_tree import MujocoTree, mujoco_tree
from .poses import inverse, random_poses
from .states import FASTEST, FASTEST_TURN, MARGIN
from .tree import Tree, build_tree, starting_points


class Wrench(NamedTuple):
    """Force and moment about a point, in axes of the base, (N, 3) each."""

    force: Array
    moment: Array


class Reactions(NamedTuple):
    """A motion of the platform and what passes through the joints.

    `joints` are the wrenches of the parents (or the base) on the links about the links' origins,
    `loops` those on the first body of each loop at its point there.
    """

    tree: Tree
    x: Array
    xd: Array
    xdd: Array
    q: Array
    qdd: Array
    tau: Array
    joints: Mapping[str, Wrench]
    loops: tuple[Wrench, ...]  # of `tree.meets`, then of `tree.normals`
    flange: Wrench | None  # on what is fixed to a platform that does not turn, about p
    idle: Array  # (N, rows, k), multipliers of the loops that balance among themselves


def joint_reactions(
    member: Member, count: int, seed: int, drag: Mapping[str, tuple[float, float]] | None = None
) -> Reactions:
    """Draw motions within reach and solve for all joints.

    `drag` gives viscous and Coulomb friction of coordinates of the tree.
    """
    rng, engine = np.random.default_rng(seed), mujoco_tree(build_tree(member))
    tree = engine.tree
    x = random_poses(member, rng, 2 * count)
    closed = close(engine, starting_points(tree, x, inverse(member, x)))
    kept = np.flatnonzero(closed.margin > MARGIN)[:count]
    x = x[kept]
    closed = closed._replace(
        **{
            name: getattr(closed, name)[kept]
            for name in ("y", "gamma", "J", "pinv", "idle", "mobility", "margin")
        }
    )
    xd, xdd = (_rates(member, rng, *top, len(x)) for top in zip(FASTEST, FASTEST_TURN, strict=True))
    motion = move(engine, closed, xd, xdd)
    driven = [tree.names.index(name) for name in tree.driven]
    needed = engine.inverse_dynamics(closed.y, motion.yd, motion.ydd)
    for name, (viscous, coulomb) in (drag or {}).items():
        rate = motion.yd[:, tree.names.index(name)]
        needed[:, tree.names.index(name)] += viscous * rate + coulomb * np.sign(rate)
    tau = np.einsum("nij,ni->nj", closed.gamma, needed)
    needed[:, driven] -= tau
    multipliers = np.einsum("nij,ni->nj", closed.pinv, needed)
    joints, loops, flange = _recursion(engine, closed.y, motion.yd, motion.ydd, multipliers)
    q, qdd = closed.y[:, driven], motion.qdd
    return Reactions(tree, x, xd, xdd, q, qdd, tau, joints, loops, flange, closed.idle)


def _rates(member: Member, rng: np.random.Generator, top: float, turn: float, n: int) -> Array:
    rates: Array = rng.uniform(-top, top, (n, member.dof))
    if member.dof == 4:
        platform = member.platform
        scale = abs(platform.ratio) if isinstance(platform, Articulated) else 1.0
        rates[:, 3] *= scale * turn / top
    return rates


def _recursion(
    engine: MujocoTree, y: Array, yd: Array, ydd: Array, multipliers: Array
) -> tuple[dict[str, Wrench], tuple[Wrench, ...], Wrench | None]:
    tree, model, data = engine.tree, engine.model, engine.data
    count, names = len(y), [link.name for link in tree.links]
    bodies = {name: model.body(name).id for name in names}
    joints = {name: Wrench(*np.zeros((2, count, 3))) for name in names}
    loops = tuple(Wrench(*np.zeros((2, count, 3))) for _ in (*tree.meets, *tree.normals))
    fixed = _fixed_to(engine, "platform") if "platform" in names else None
    flange = None if fixed is None else Wrench(*np.zeros((2, count, 3)))
    for k in range(count):
        engine._place(y[k], yd[k])
        data.qacc[engine.order] = ydd[k]
        data.xfrc_applied[:] = 0.0
        row = 0
        for j, meet in enumerate(tree.meets):
            size = len(meet.along)
            force = meet.along.T @ multipliers[k, row : row + size]
            row += size
            loops[j].force[k] = force
            for name, at, sign in (
                (meet.first, meet.first_point, 1.0),
                (meet.second, meet.second_point, -1.0),
            ):
                body = bodies[name]
                point = data.xpos[body] + data.xmat[body].reshape(3, 3) @ at
                data.xfrc_applied[body, :3] += sign * force
                data.xfrc_applied[body, 3:] += np.cross(point - data.xipos[body], sign * force)
        for j, normal in enumerate(tree.normals):
            one, two = bodies[normal.first], bodies[normal.second]
            a = data.xmat[one].reshape(3, 3) @ normal.first_axis
            b = data.xmat[two].reshape(3, 3) @ normal.second_axis
            turn = multipliers[k, row] * np.cross(a, b)
            row += 1
            loops[len(tree.meets) + j].moment[k] = turn
            data.xfrc_applied[one, 3:] += turn
            data.xfrc_applied[two, 3:] -= turn
        mujoco.mj_rnePostConstraint(model, data)
        for name, body in bodies.items():
            joints[name].force[k], joints[name].moment[k] = _between(model, data, body)
        if flange is not None and fixed is not None:
            flange.force[k], flange.moment[k] = _between(model, data, fixed)
    return joints, loops, flange


def _between(model: mujoco.MjModel, data: mujoco.MjData, body: int) -> tuple[Array, Array]:
    """What the parent puts on a body, about the body's origin."""
    moment, force = np.split(data.cfrc_int[body], 2)
    centre = data.subtree_com[model.body_rootid[body]]
    return force.copy(), moment + np.cross(centre - data.xpos[body], force)


def _fixed_to(engine: MujocoTree, name: str) -> int | None:
    """The body that is fixed to a link: its second part."""
    model = engine.model
    parent = model.body(name).id
    for body in range(model.nbody):
        if model.body_parentid[body] == parent and model.body_jntnum[body] == 0:
            return body
    return None
