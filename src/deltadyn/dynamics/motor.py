"""The motor's side of a drive: ripple of its torque, a loss that grows with it, what it reports.

Mechanism and friction ask for the torque u at the output. At the angle q and the direction s(qd)
of the motion the motor gives

    tau = u + r(q) + mu s |tau|,    r = sum over waves of c cos(n q) + d sin(n q),    0 <= mu < 1

so tau has the sign of u + r, and tau = (u + r) / (1 - mu s sign(u + r)). The drive reports, and
takes, `ratio` tau. All of it is elementwise, over any components, and can be undone in one step.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deltadyn.arrays import Component

Wave = tuple[Component, Component, Component]  # order, cos and sin


def ripple_torque(xp: Any, q: Component, waves: Iterable[Wave]) -> Component:
    """sum of c cos(n q) + d sin(n q), in N m."""
    total: Component = 0.0
    for order, cosine, sine in waves:
        angle = order * q
        total = total + (cosine * xp.cos(angle) + sine * xp.sin(angle))
    return total


def motor_torque(xp: Any, needed: Component, share: Component, turn: Component) -> Component:
    """tau with tau - share turn |tau| = needed; `turn` is the direction of the motion."""
    return needed / (1.0 - share * turn * _side(xp, needed))


def motor_gain(xp: Any, needed: Component, share: Component, turn: Component) -> Component:
    """tau per needed torque, with the loss of `motor_torque`."""
    return 1.0 / (1.0 - share * turn * _side(xp, needed))


def motor_output(xp: Any, tau: Component, share: Component, turn: Component) -> Component:
    """What the motor's torque leaves behind its loss: tau - share turn |tau|."""
    return tau * (1.0 - share * turn * _side(xp, tau))


def _side(xp: Any, x: Component) -> Component:
    """-1 below zero, else 1; of a complex step by its real part."""
    if isinstance(x, np.ndarray) and x.dtype.kind == "c":
        x = x.real
    return xp.where(x < 0.0, -1.0, 1.0)
