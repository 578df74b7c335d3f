"""What the compiled plant computes: the simulator's own mechanism, over Numbers of a tape.

The functions take `par` with a step between its numbers, so that one source serves one robot for
all samples and one robot for every sample.
"""

from __future__ import annotations

from typing import Any

from deltadyn.backends.components import parameters_of
from deltadyn.backends.kernel_models.motion import Groups, Model, Namespace, Numbers
from deltadyn.backends.layout import PLACES as NUMBERS
from deltadyn.backends.limbs import limbs_of
from deltadyn.backends.plant_layout import (
    ENTRIES,
    JOINTS,
    LIMB_JOINTS,
    MACHINE_COUNT,
    PLACES,
    ROBOT_COUNT,
    STATE_COUNT,
    STATE_ENTRIES,
    STATE_PLACES,
)
from deltadyn.dynamics.mechanism import mechanism_terms
from deltadyn.dynamics.passive import passive_torque
from deltadyn.kinematics.limbs import pose_of
from deltadyn.robot.settings import Friction, PassiveFriction


class AngleNamespace(Namespace):
    """Cosines and sines of all joint angles are inputs; tanh notes what it is asked about."""

    def __init__(self, q: Numbers, cos: Numbers, sin: Numbers) -> None:
        super().__init__(cos, sin)
        self._q = q
        self.asked: list[Any] = []

    def cos(self, angle: Any) -> Any:
        """The input that holds the cosine of this joint angle."""
        return self._cos[self._axis(angle)]

    def sin(self, angle: Any) -> Any:
        """The input that holds the sine of this joint angle."""
        return self._sin[self._axis(angle)]

    def tanh(self, value: Any) -> Any:
        """Nothing: only the value is of interest."""
        self.asked.append(value)
        return 0.0

    def _axis(self, angle: Any) -> int:
        return next(i for i, own in enumerate(self._q) if own is angle)


def plant_models(dof: int) -> list[Model]:
    """The mechanism's terms, and the map from joint rates to the rates of the passive joints."""
    joints = tuple((name, dof) for name in ("q", "qd", "wrench"))
    triangle = dof * (dof + 1) // 2
    outputs = (("M", triangle), ("h", dof), ("p", dof), ("pd", dof))
    rows = 3 * len(LIMB_JOINTS) + (len(JOINTS) - len(LIMB_JOINTS) if dof == 4 else 0)
    return [
        Model(f"plant_{dof}", joints, outputs, _terms, angles=(0, dof), many_robots=True),
        Model(
            f"passive_{dof}",
            joints[:1],
            (("B", rows * dof),),
            _passive,
            angles=(0, dof),
            many_robots=True,
        ),
    ]


def _terms(par: Numbers, groups: Groups) -> list[Any]:
    """Lower triangle of M row by row, then h, p, pd."""
    q, qd, wrench, cos, sin = groups
    xp = AngleNamespace(q, cos, sin)
    pose = pose_of(xp, limbs_of(par), q, qd)
    terms = mechanism_terms(xp, parameters_of(par, len(q)), pose, wrench, qd)
    return [*(x for row in terms.rows for x in row), *terms.h, *terms.p, *terms.pd]


def _passive(par: Numbers, groups: Groups) -> list[Any]:
    """B with rate = B qd of every passive joint, row by row.

    Rates are linear in qd: column j holds those where axis j alone moves, by 1.
    """
    q, cos, sin = groups
    kinds = JOINTS if len(q) == 4 else LIMB_JOINTS
    items = tuple(PassiveFriction(name, 1.0, 1.0) for name in kinds)
    friction, limbs = Friction(passive=items, smoothing=1.0), limbs_of(par)
    columns = []
    for j in range(len(q)):
        rates = tuple(float(i == j) for i in range(len(q)))
        xp = AngleNamespace(q, cos, sin)
        pose = pose_of(xp, limbs, q, rates)
        passive_torque(xp, friction, limbs, par[NUMBERS["spindle"]][0], pose, rates)
        columns.append(xp.asked)
    return [column[i] for i in range(len(columns[0])) for column in columns]


def table_of_places() -> str:
    """The C enumeration of the places of a machine's numbers and of its state."""
    lines = ["enum {"]
    lines += [f"    NUM_{name.upper()} = {PLACES[name].start}," for name, _ in ENTRIES]
    lines += [f"    NUM_ROBOT_COUNT = {ROBOT_COUNT},", f"    NUM_COUNT = {MACHINE_COUNT}", "};"]
    lines += ["", "enum {"]
    lines += [
        f"    STATE_{name.upper()} = {STATE_PLACES[name].start}," for name, _ in STATE_ENTRIES
    ]
    lines += [f"    STATE_COUNT = {STATE_COUNT}", "};", ""]
    return "\n".join(lines)
