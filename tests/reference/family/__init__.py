"""The Delta family as rigid-body trees in MuJoCo and Pinocchio, closed numerically.

Nothing here comes from the library under test. `states` draws states of a member and asks an
engine for torque, mass matrix, velocity term and gravity term.
"""

from .closure import Engine, States, close, solve_states
from .draw import KINDS, random_member
from .members import (
    Arm,
    Articulated,
    Gear,
    Helical,
    Member,
    Planar,
    Rail,
    Rod,
    Spindle,
    Strut,
    Translation,
)
from .mujoco_tree import MujocoTree, mujoco_tree
from .pinocchio_tree import PinocchioTree, pinocchio_tree
from .poses import attachments, inverse, random_poses
from .states import make_engine, states
from .tree import Tree, build_tree

__all__ = [
    "KINDS",
    "Arm",
    "Articulated",
    "Engine",
    "Gear",
    "Helical",
    "Member",
    "MujocoTree",
    "PinocchioTree",
    "Planar",
    "Rail",
    "Rod",
    "Spindle",
    "States",
    "Strut",
    "Translation",
    "Tree",
    "attachments",
    "build_tree",
    "close",
    "inverse",
    "make_engine",
    "mujoco_tree",
    "pinocchio_tree",
    "random_member",
    "random_poses",
    "solve_states",
    "states",
]
