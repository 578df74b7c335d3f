"""Compiled kernels of the exact model: generated C, its loader, and direct calls.

The extension is optional. Where it is not built, or DELTADYN_KERNELS=off is in the environment,
the callers of this module take their NumPy path, which gives the same results.
"""

from deltadyn.backends.loader import (
    SWITCH,
    available,
    equations_of_motion,
    fits,
    forward_dynamics,
    inverse_dynamics_joints,
    inverse_dynamics_platform,
    payload_torque,
    run,
    status,
    switched_off,
    threads,
)
from deltadyn.backends.loader import _loaded as _loaded

__all__ = [
    "SWITCH",
    "available",
    "equations_of_motion",
    "fits",
    "forward_dynamics",
    "inverse_dynamics_joints",
    "inverse_dynamics_platform",
    "payload_torque",
    "run",
    "status",
    "switched_off",
    "threads",
]
