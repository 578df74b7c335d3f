"""Random states of a member, and what an engine says about them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from tests.reference.engines.spec import Array

from .closure import Engine, States, close, solve_states
from .members import Articulated, Member
from .mujoco_tree import mujoco_tree
from .pinocchio_tree import pinocchio_tree
from .poses import inverse, random_poses
from .tree import Tree, build_tree, starting_points

FASTEST = 4.0, 60.0  # m/s, m/s^2 along each coordinate of the platform
FASTEST_TURN = 10.0, 300.0  # rad/s, rad/s^2 of the tool, or of the bars of an articulated platform
MARGIN = 0.003  # smallest singular value of the loops, m or 1, in the states that are kept
MAKERS: dict[str, Callable[[Tree], Engine]] = {"mujoco": mujoco_tree, "pinocchio": pinocchio_tree}


def make_engine(member: Member, engine: str = "mujoco") -> Engine:
    """The open tree of a member in "mujoco" or "pinocchio"."""
    return MAKERS[engine](build_tree(member))


@lru_cache(maxsize=64)  # members are compared by identity: keep a member to use its states again
def states(member: Member, count: int, seed: int, engine: str = "mujoco") -> States:
    """Draw `count` states within reach, far from where loops lock or come apart.

    The platform's motion x, xd, xdd is drawn; q, qd, qdd, tau, M, c, g and J = dx/dq come from the
    closed tree. x is read from the tree as well.
    """
    rng, tree = np.random.default_rng(seed), make_engine(member, engine)
    kept: list[States] = []
    for _ in range(20):
        x = random_poses(member, rng, count)
        xd = _rates(member, rng, FASTEST[0], FASTEST_TURN[0], count)
        xdd = _rates(member, rng, FASTEST[1], FASTEST_TURN[1], count)
        closed = close(tree, starting_points(tree.tree, x, inverse(member, x)))
        found = solve_states(tree, closed, xd, xdd, x[:, -1])
        kept.append(_select(found, closed.margin > MARGIN))
        if sum(len(part.q) for part in kept) >= count:
            whole = States(*(np.concatenate(rows) for rows in zip(*kept, strict=True)))
            return _select(whole, np.arange(len(whole.q)) < count)
    raise ValueError(f"too few states of a {member.kind} robot keep the margin {MARGIN} of loops")


def _select(rows: States, chosen: NDArray[np.bool_]) -> States:
    return States(*(values[chosen] for values in rows))


def _rates(member: Member, rng: np.random.Generator, top: float, turn: float, n: int) -> Array:
    rates: Array = rng.uniform(-top, top, (n, member.dof))
    if member.dof == 4:
        platform = member.platform
        scale = abs(platform.ratio) if isinstance(platform, Articulated) else 1.0
        rates[:, 3] *= scale * turn / top
    return rates
