"""The robot's geometry as the compiled kernels read it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.kernels.layout import KINEMATIC, PLACES
from deltadyn.kinematics.limbs import limbs
from deltadyn.robot import Robot


@lru_cache(maxsize=64)
def packed_limbs(
    robot: Robot, elbows: tuple[int, int, int] = (1, 1, 1), side: int = -1
) -> FloatArray:
    """Limbs, elbows (+1 outward) and platform side (-1 below) in the order of `kernels.layout`."""
    par = np.zeros(KINEMATIC)
    par[PLACES["limb"]] = [value for limb in limbs(robot) for value in limb]
    par[PLACES["elbow"]] = elbows
    par[PLACES["side"]] = side
    par.flags.writeable = False
    return par
