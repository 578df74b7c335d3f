"""Derivatives of the kernels along a direction of their inputs and of the robot's numbers.

They are exact: no step is chosen, the tape differentiates each operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from deltadyn.backends.kernel_models.kernels import kernel_function
from deltadyn.backends.layout import ENTRIES, PLACES
from deltadyn.tape.passes import in_depth
from deltadyn.tape.simplify import Value
from deltadyn.tape.tangents import changes
from deltadyn.tape.tape import Function, trace
from deltadyn.tape.write_c import SAMPLE, c_function

#: Entries of the robot's numbers that no variable changes.
FIXED = {"limb", "elbow", "side", "carrier", "home", "rotor"}
#: Places in the robot's numbers whose change counts; the spindle's first is its pivot.
CHANGING = frozenset(
    place
    for name, _ in ENTRIES
    if name not in FIXED
    for place in range(PLACES[name].start + (name == "spindle"), PLACES[name].stop)
)


def tangent(name: str) -> str:
    """The C function `deltadyn_..._change(par, dpar, x, dx, dy)` of a kernel."""
    return c_function(in_depth(tangent_function(name)), SAMPLE, output="dy")


@lru_cache(maxsize=64)
def tangent_function(name: str) -> Function:
    """The change of a kernel's results where its inputs and the robot's numbers change."""
    function = kernel_function(name)
    numbers, width = (function.inputs[group] for group in ("par", "x"))

    def code(*groups: Sequence[Value]) -> list[Value]:
        par, dpar, x, dx = groups
        moving = [change if k in CHANGING else 0.0 for k, change in enumerate(dpar)]
        return changes(function, {"par": par, "x": x}, {"par": moving, "x": dx})

    inputs = {"par": numbers, "dpar": numbers, "x": width, "dx": width}
    return trace(f"{name}_change", inputs, code)
