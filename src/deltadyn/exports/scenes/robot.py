"""The scene of a robot."""

from __future__ import annotations

from deltadyn.exports.mjcf.tree import add_look, model_tree
from deltadyn.exports.scenes.scene import Scene, read_scene
from deltadyn.robot import Robot

STEP = 1e-3  # s: of MuJoCo alone, no scene has it


def robot_scene(robot: Robot) -> Scene:
    """Bodies, joints, loops and shapes of a robot, as MuJoCo's model has them."""
    root = model_tree(robot, STEP)
    add_look(root, robot)
    return read_scene(root)
