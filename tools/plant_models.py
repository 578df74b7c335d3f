"""What the compiled plant computes: the simulator's own mechanism, applied to CasADi symbols.

The functions take `par` with a step between its numbers, so that one source serves one robot for
all samples and one robot for every sample.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import casadi

from deltadyn.backends.components import parameters_of
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
from deltadyn.dynamics.passive import passive_torque
from deltadyn.kinematics.limbs import pose_of
from deltadyn.robot.settings import Friction, PassiveFriction
from deltadyn.simulation.plant.mechanism import mechanism_terms
from tools.kernel_models import Groups, Model, Namespace, Symbols

DIVISION = re.compile(r"    const real (v\d+) = (.+) / (v\d+);")


class AngleNamespace(Namespace):
    """Cosines and sines of all joint angles are inputs; tanh notes what it is asked about."""

    def __init__(self, q: Symbols, cos: Symbols, sin: Symbols) -> None:
        super().__init__(cos, sin)
        self._q = q
        self.asked: list[Any] = []

    def cos(self, angle: Any) -> Any:
        """The input that holds the cosine of this joint angle."""
        return self._cos[self._place(angle)]

    def sin(self, angle: Any) -> Any:
        """The input that holds the sine of this joint angle."""
        return self._sin[self._place(angle)]

    def tanh(self, value: Any) -> Any:
        """Nothing: only the value is of interest."""
        self.asked.append(value)
        return 0.0

    def _place(self, angle: Any) -> int:
        return next(i for i, own in enumerate(self._q) if casadi.is_equal(own, angle))


def plant_models(dof: int) -> list[Model]:
    """The mechanism's terms, and the map from joint rates to the rates of the passive joints."""
    joints = tuple((name, dof) for name in ("q", "qd", "wrench"))
    triangle = dof * (dof + 1) // 2
    outputs = (("M", triangle), ("h", dof), ("p", dof), ("pd", dof))
    rows = 3 * len(LIMB_JOINTS) + (len(JOINTS) - len(LIMB_JOINTS) if dof == 4 else 0)
    return [
        Model(f"plant_{dof}", joints, outputs, _terms, angles=(0, dof)),
        Model(f"passive_{dof}", joints[:1], (("B", rows * dof),), _passive, angles=(0, dof)),
    ]


def _terms(par: Symbols, groups: Groups) -> list[Any]:
    """Lower triangle of M row by row, then h, p, pd."""
    q, qd, wrench, cos, sin = groups
    xp = AngleNamespace(q, cos, sin)
    pose = pose_of(xp, limbs_of(par), q, qd)
    terms = mechanism_terms(xp, parameters_of(par, len(q)), pose, wrench, qd)
    return [*(x for row in terms.rows for x in row), *terms.h, *terms.p, *terms.pd]


def _passive(par: Symbols, groups: Groups) -> list[Any]:
    """B with rate = B qd of every passive joint, row by row: the slope of rates linear in qd."""
    q, cos, sin = groups
    qd = casadi.SX.sym("qd", len(q))
    rates = tuple(casadi.vertsplit(qd))
    xp = AngleNamespace(q, cos, sin)
    pose = pose_of(xp, limbs_of(par), q, rates)
    kinds = JOINTS if len(q) == 4 else LIMB_JOINTS
    items = tuple(PassiveFriction(name, 1.0, 1.0) for name in kinds)
    friction = Friction(passive=items, smoothing=1.0)
    passive_torque(xp, friction, limbs_of(par), par[NUMBERS["spindle"]][0], pose, rates)
    B = casadi.densify(casadi.jacobian(casadi.vertcat(*xp.asked), qd))  # zeros count
    return [B[i, j] for i in range(B.shape[0]) for j in range(B.shape[1])]


def stepped(function: str) -> str:
    """C with a step between the numbers of `par`, and one division per divisor.

    CasADi writes a / b for a (1 / b): each divisor is inverted once instead.
    """
    lines = function.replace("const real *par,", "const real *par, size_t step,").splitlines()
    lines = [re.sub(r"par\[(\d+)\]", r"par[\1 * step]", line) for line in lines]
    uses = Counter(match[3] for match in map(DIVISION.fullmatch, lines) if match)
    inverse: dict[str, str] = {}
    out: list[str] = []
    for line in lines:
        match = DIVISION.fullmatch(line)
        if match and uses[match[3]] > 1:
            name, above, below = match.groups()
            if below not in inverse:
                inverse[below] = f"v{len(lines) + len(inverse)}"
                out.append(f"    const real {inverse[below]} = (real)1.0 / {below};")
            line = f"    const real {name} = {above} * {inverse[below]};"
        out.append(line)
    return "\n".join(out)


def plant_files(c_function: Callable[[Model], str], header: str) -> dict[str, str]:
    """Name and text of the plant's generated files."""
    files = {
        f"plant_{dof}.h": header
        + "\n"
        + "\n\n".join(stepped(c_function(model)) for model in plant_models(dof))
        + "\n"
        for dof in (3, 4)
    }
    files["plant_table.h"] = _table(header)
    return files


def _table(header: str) -> str:
    """Places of a machine's numbers and of its state."""
    lines = [header, "enum {"]
    lines += [f"    NUM_{name.upper()} = {PLACES[name].start}," for name, _ in ENTRIES]
    lines += [f"    NUM_ROBOT_COUNT = {ROBOT_COUNT},", f"    NUM_COUNT = {MACHINE_COUNT}", "};"]
    lines += ["", "enum {"]
    lines += [
        f"    STATE_{name.upper()} = {STATE_PLACES[name].start}," for name, _ in STATE_ENTRIES
    ]
    lines += [f"    STATE_COUNT = {STATE_COUNT}", "};", ""]
    return "\n".join(lines)
