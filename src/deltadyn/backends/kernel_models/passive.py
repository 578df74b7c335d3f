"""Friction in passive joints as two kernels: their rates, and what their friction asks of drives.

The direction of a rate is found between the two, by a function of the C library or by NumPy.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from deltadyn.backends.kernel_models.motion import (
    Groups,
    Model,
    Namespace,
    Numbers,
    arms_of,
    groups_of,
)
from deltadyn.backends.layout import COUNT, PLACES
from deltadyn.backends.limbs import ROTARY, limbs_of
from deltadyn.dynamics.passive import passive_torque
from deltadyn.kinematics.actuation import kernel_name
from deltadyn.kinematics.limbs import Pose, jacobian_columns, rods_of
from deltadyn.robot.settings import PASSIVE_JOINTS, SPINDLE_JOINTS, Friction, PassiveFriction


def passive_models(dof: int, kind: str = ROTARY) -> list[Model]:
    """Rows: joint after joint of `PASSIVE_JOINTS`, three limbs each or one for the spindle."""
    kinds = joints_of(dof)
    rows = sum(1 if name in SPINDLE_JOINTS else 3 for name in kinds)
    state = (*arms_of(kind), *groups_of(dof, "qd", "p", "pd"))
    forces = (*arms_of(kind), ("p", dof), ("force", rows))
    rates, tau = (("rate", rows),), (("tau", dof),)
    psi = dof - 3
    return [
        Model(
            kernel_name("passive_rates", kind, dof),
            state,
            rates,
            partial(_rates, kind),
            COUNT,
            (9 + dof, psi),
        ),
        Model(
            kernel_name("passive_torque", kind, dof),
            forces,
            tau,
            partial(_torque, kind),
            COUNT,
            (9, psi),
        ),
    ]


def joints_of(dof: int) -> tuple[str, ...]:
    """The passive joints that a robot can have."""
    return tuple(name for name in PASSIVE_JOINTS if dof == 4 or name not in SPINDLE_JOINTS)


class PassiveNamespace(Namespace):
    """tanh notes what it is asked about and answers with the known forces, one after the other."""

    def __init__(self, forces: Numbers, cos: Numbers = (), sin: Numbers = ()) -> None:
        super().__init__(cos, sin)
        self._forces = list(forces)
        self.asked: list[Any] = []

    def tanh(self, value: Any) -> Any:
        """The next force; 0 where only the values are of interest."""
        self.asked.append(value)
        return self._forces[len(self.asked) - 1] if self._forces else 0.0


def _rates(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    c, s, qd, p, pd, *trig = groups
    xp = PassiveNamespace((), *trig)
    _asked_torque(kind, xp, par, c, s, qd, p, pd)
    return xp.asked


def _torque(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    c, s, p, force, *trig = groups
    rest = (0.0,) * len(p)
    return _asked_torque(kind, PassiveNamespace(force, *trig), par, c, s, rest, p, rest)


def _asked_torque(
    kind: str,
    xp: PassiveNamespace,
    par: Numbers,
    c: Numbers,
    s: Numbers,
    qd: Numbers,
    p: Numbers,
    pd: Numbers,
) -> list[Any]:
    """The simulator's own source, with friction tanh(rate) in every passive joint."""
    limbs, dof = limbs_of(par, kind), len(p)
    rods = rods_of(xp, limbs, c, s, p)
    e1 = tuple(limb.slope(c[i], s[i]) for i, limb in enumerate(limbs))
    pose = Pose(c, s, p, pd, (0.0,) * dof, tuple(rods.base), e1, tuple(jacobian_columns(rods)))
    items = tuple(PassiveFriction(name, 0.0, 1.0) for name in joints_of(dof))
    friction = Friction(passive=items, smoothing=1.0)
    pivot_z = par[PLACES["spindle"]][0]
    return passive_torque(xp, friction, limbs, pivot_z, pose, qd)
