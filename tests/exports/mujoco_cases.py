"""Exported MuJoCo models, loaded without a folder."""

from __future__ import annotations

from typing import Any

from deltadyn.exports.mjcf import TIMESTEP, model_files
from deltadyn.robot import Robot


def loaded(robot: Robot, timestep: float = TIMESTEP) -> Any:
    """The exported model in MuJoCo."""
    import mujoco

    return of_files(mujoco, model_files(robot, timestep))


def of_files(mujoco: Any, written: dict[str, str]) -> Any:
    """The model among the files of an export."""
    name = next(name for name in written if name.endswith(".xml"))
    meshes = {name.split("/")[-1]: text.encode() for name, text in written.items() if "/" in name}
    return mujoco.MjModel.from_xml_string(written[name], meshes)
