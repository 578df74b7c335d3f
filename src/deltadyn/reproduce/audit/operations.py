"""Counting scalar operations: numbers that count what is done with them.

The library's own functions run on such numbers, so the count is of the code that is used. Robot
constants are known numbers: operations between constants cost nothing, nor do additions of 0 and
multiplications by 0 or 1. A change of sign counts as a subtraction. Where common subexpressions
are shared, an operation on the same operands counts once.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Set
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from deltadyn.backends import straight_line
from deltadyn.backends.straight_line import SYMBOLS, Symbol
from deltadyn.dynamics import exact_parameters
from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.parameters import ExactParameters
from deltadyn.kinematics.limbs import arm_directions, joint_rates, limbs
from deltadyn.reproduce.audit.falezza_derivatives import Numbers, complete_torques, numbers
from deltadyn.reproduce.audit.records import Slip
from deltadyn.reproduce.result import Paper
from deltadyn.robot import Robot
from deltadyn.small import cross, dot

#: Steps of a tape: the kind under which they are counted, and what they give.
STEPS: dict[str, tuple[str, Callable[..., float]]] = {
    "+": ("add", operator.add),
    "-": ("sub", operator.sub),
    "*": ("mul", operator.mul),
    "/": ("div", operator.truediv),
    "sqrt": ("sqrt", math.sqrt),
    "sin": ("sin", math.sin),
    "cos": ("cos", math.cos),
    "acos": ("arc", math.acos),
    "asin": ("arc", math.asin),
}
KINDS = tuple(dict.fromkeys(kind for kind, _ in STEPS.values()))


def _arc(name: str) -> Callable[[Symbol], Symbol]:
    return lambda value: value.tape.put(name, value.name)


#: The functions on symbols that M_f needs, under the names of arrays.
PAPER_SYMBOLS = SimpleNamespace(**vars(SYMBOLS), arccos=_arc("acos"), arcsin=_arc("asin"))


@dataclass(frozen=True)
class Operations:
    """How many operations of each kind."""

    add: int = 0
    sub: int = 0
    mul: int = 0
    div: int = 0
    sqrt: int = 0
    sin: int = 0
    cos: int = 0
    arc: int = 0  # arc cosine and arc sine

    @property
    def total(self) -> int:
        """All operations."""
        return sum(getattr(self, kind) for kind in KINDS)

    @property
    def complexity(self) -> tuple[int, int, int]:
        """Coefficients of n, n^2 and n^(5/2) of n digits by [falezza2022] section 5.2.

        Sums and differences; products, quotients and roots; trigonometric functions.
        """
        return (
            self.add + self.sub,
            self.mul + self.div + self.sqrt,
            self.sin + self.cos + self.arc,
        )


# [falezza2022] table 6.
TABLE_6 = {
    name: Operations(**counts)
    for name, counts in Paper("falezza2022").numbers["operations"].items()
}


class Tape(straight_line.Tape):
    """The record of one count; `shared` counts an operation on the same operands once.

    Its symbols have values, so that a run gives the torque too.
    """

    def __init__(self, shared: bool) -> None:
        super().__init__()
        self.shared = shared
        self.counts: Counter[str] = Counter()
        self.values: dict[str, float] = {}

    def variable(self, value: float) -> Symbol:
        """An input."""
        name = f"#{len(self.values) + 1}"
        self.values[name] = value
        return Symbol(self, name)

    def put(self, *step: str) -> Symbol:
        """The result of an operation, counted."""
        operation, *names = step
        if operation == "neg":
            return self.put("-", "0.0", *names)
        if operation == "/" and names[1] not in self.values:  # by the constant's reciprocal
            scaled: Symbol = Symbol(self, names[0]) * (1 / float(names[1]))
            return scaled
        if self.shared and step in self.names:
            return Symbol(self, self.names[step])
        kind, apply = STEPS[operation]
        self.counts[kind] += 1
        result = self.variable(apply(*map(self.value, names)))
        self.names[step] = result.name
        return result

    def value(self, operand: Any) -> float:
        """The value of a symbol, of its name or of a constant."""
        name = operand.name if isinstance(operand, Symbol) else operand
        return self.values[name] if name in self.values else float(name)

    def operations(self) -> Operations:
        """The counts so far."""
        return Operations(**self.counts)


@dataclass(frozen=True)
class Count:
    """The operations of one computation, as written and with common subexpressions shared."""

    name: str
    inputs: str
    written: Operations
    shared: Operations
    torque: tuple[float, ...]  # the result of the run (N m), for checks


State = tuple[tuple[float, ...], ...]  # p, pd, pdd


def operation_counts(three: Robot, four: Robot) -> tuple[Count, ...]:
    """Counts of the exact model of both robots and of M_s, at one state each."""
    state = ((0.11, -0.07, -0.8), (0.9, -0.4, 0.3), (11.0, 7.0, -5.0))
    turning = tuple((*row, psi) for row, psi in zip(state, (0.4, 3.0, 20.0), strict=True))
    return (
        _count("exact, 3-DOF", "p, pd, pdd", exact_from_platform, three, state),
        _count("exact, 3-DOF, joints known", "p, pd, pdd, q, qd, qdd", exact_alone, three, state),
        _count("exact, 4-DOF", "p, pd, pdd", exact_from_platform, four, turning),
        _count("M_s by the paper's route", "p, pdd, q, qdd", simplified_alone, three, state),
        _count("M_s from the platform", "p, pd, pdd", simplified_from_platform, three, state),
    )


def exact_from_platform(tape: Tape, robot: Robot, state: State) -> list[Any]:
    """Inverse kinematics, rates and the exact torque from p, pd, pdd; more inputs go unused."""
    p, pd, pdd, *_ = _inputs(tape, state)
    return _exact(exact_parameters(robot), _arms(robot, p, pd, pdd), p, pd, pdd)


def exact_alone(tape: Tape, robot: Robot, state: State) -> list[Any]:
    """The exact torque where joints and platform are both known, with cos q and sin q."""
    free = Tape(shared=True)
    known = _arms(robot, *_inputs(free, state))
    arms = [tuple(tape.variable(free.value(x)) for x in row) for row in known]
    p, pd, pdd = _inputs(tape, state)
    return _exact(exact_parameters(robot), arms, p, pd, pdd)


def simplified_alone(tape: Tape, robot: Robot, state: State) -> list[Any]:
    """[falezza2022] eqs. 4-5, corrected, from p, pdd, theta, thetadd."""
    free = Tape(shared=True)
    c, s, _, qdd = ([free.value(x) for x in row] for row in _arms(robot, *_inputs(free, state)))
    theta = [tape.variable(math.atan2(s[i], c[i])) for i in range(3)]
    cos, sin = [SYMBOLS.cos(x) for x in theta], [SYMBOLS.sin(x) for x in theta]
    p, _, pdd = _inputs(tape, state)
    return _simplified(robot, cos, sin, [tape.variable(x) for x in qdd], p, pdd)


def simplified_from_platform(tape: Tape, robot: Robot, state: State) -> list[Any]:
    """The same from p, pd, pdd, with the library's inverse kinematics and rates."""
    p, pd, pdd = _inputs(tape, state)
    c, s, _, qdd = _arms(robot, p, pd, pdd)
    return _simplified(robot, c, s, qdd, p, pdd)


def simplified_as_written(
    tape: Tape, robot: Robot, state: State, *, folded: bool = False
) -> list[Any]:
    """Eqs. 4-5, corrected, line by line from p, pd, pdd, q, qd, qdd: parameters are variables.

    Everything is evaluated as it stands there: cos(alpha) and sin(alpha), every entry of A, M and
    I, and lambda by the inverse of A. `folded` makes the parameters known numbers, with which
    operations are free.
    """
    known = numbers(robot)
    par, alpha = (known, known.alpha) if folded else _variables(tape, robot)
    p, _, pdd, q, _, qdd = _inputs(tape, state)
    # a quotient by a known number would count as a product
    three: Any = 3.0 if folded else tape.variable(3.0)
    columns, k, v, inertia = [], [], [], []
    for i in range(3):
        ca, sa = SYMBOLS.cos(alpha[i]), SYMBOLS.sin(alpha[i])
        c, s = SYMBOLS.cos(q[i]), SYMBOLS.sin(q[i])
        x = p[0] - par.r * ca - par.l1 * c * ca
        y = p[1] - par.r * sa - par.l1 * c * sa
        columns.append((x, y, p[2] + par.l1 * s))
        k.append(par.l1 * ((p[0] * ca + p[1] * sa - par.r) * s + p[2] * c))
        v.append(-0.5 * (par.m1 + par.m2) * par.g * par.l1 * c)
        inertia.append(par.l1 * par.l1 * (par.m1 / three + par.m2 * 0.5))
    pull = (pdd[0], pdd[1], pdd[2] + par.g)
    force = [(par.m0 + 1.5 * par.m2) * each for each in pull]
    rows = [cross(columns[1], columns[2]), cross(columns[2], columns[0])]
    rows.append(cross(columns[0], columns[1]))
    whole = dot(columns[0], rows[0])
    over = tape.put("/", "1.0", whole.name)
    lamda = [0.5 * dot([entry * over for entry in row], force) for row in rows]
    return [inertia[i] * qdd[i] + v[i] - 2 * k[i] * lamda[i] for i in range(3)]


def complete_as_written(
    tape: Tape, robot: Robot, state: State, slips: Set[Slip] = frozenset(), *, folded: bool = False
) -> list[Any]:
    """Eqs. 12 and 19-30 line by line from p, pd, pdd, q, qd, qdd: parameters are variables.

    Every quantity that has a name in the paper is evaluated once. `folded` makes the parameters
    known numbers, with which operations are free.
    """
    if folded:
        par = numbers(robot)
        azimuths: list[Any] = [(math.cos(alpha), math.sin(alpha)) for alpha in par.alpha]
    else:
        par, alphas = _variables(tape, robot)
        azimuths = [(SYMBOLS.cos(alpha), SYMBOLS.sin(alpha)) for alpha in alphas]
    p, pd, pdd, q, qd, qdd = _inputs(tape, state)
    known = [((*p, q[i]), (*pd, qd[i]), (*pdd, qdd[i])) for i in range(3)]
    return complete_torques(PAPER_SYMBOLS, par, azimuths, known, slips)


def complete_folded(tape: Tape, robot: Robot, state: State) -> list[Any]:
    """The same, corrected, with the parameters as known numbers."""
    return complete_as_written(tape, robot, state, folded=True)


def simplified_folded(tape: Tape, robot: Robot, state: State) -> list[Any]:
    """Eqs. 4-5, corrected, from p, pd, pdd, q, qd, qdd with the parameters as known numbers."""
    p, _, pdd, q, _, qdd = _inputs(tape, state)
    cos, sin = [SYMBOLS.cos(x) for x in q], [SYMBOLS.sin(x) for x in q]
    return _simplified(robot, cos, sin, qdd, p, pdd)


def _variables(tape: Tape, robot: Robot) -> tuple[Numbers, list[Symbol]]:
    """The papers' symbols of a robot as variables of a program."""
    par = numbers(robot)
    symbols = Numbers._make([*map(tape.variable, par[:10]), None])
    return symbols, list(map(tape.variable, par.alpha))


def c_function(
    name: str, run: Callable[[Tape, Robot, Any], list[Any]], robot: Robot, state: State
) -> str:
    """C of `name(n, x, y)`: the n rows of x, p then pd then pdd, to the rows of torques y.

    The code is the shared tape of the run, an operation a line, so it costs what is counted.
    """
    tape = Tape(shared=True)
    torque = run(tape, robot, state)
    width, axes = sum(len(row) for row in state), len(torque)

    def spelled(operand: str) -> str:
        if not operand.startswith("#"):
            return f"({operand})"
        place = int(operand[1:])
        return f"x[{place - 1}]" if place <= width else f"v{place}"

    def text(operation: str, *operands: str) -> str:
        if len(operands) == 1:
            return f"{operation}({spelled(operands[0])})"
        return f" {operation} ".join(map(spelled, operands))

    lines = [f"const double {spelled(name)} = {text(*step)};" for step, name in tape.names.items()]
    lines += [f"y[{i}] = {spelled(value.name)};" for i, value in enumerate(torque)]
    body = "\n".join(f"    {line}" for line in lines)
    return (
        f'__attribute__((visibility("default")))\n'
        f"void {name}(long n, const double *x, double *y) {{\n"
        f"  for (; n > 0; n--, x += {width}, y += {axes}) {{\n{body}\n  }}\n}}\n"
    )


def _count(
    name: str, inputs: str, run: Callable[[Tape, Robot, Any], list[Any]], robot: Robot, state: Any
) -> Count:
    written, shared = Tape(shared=False), Tape(shared=True)
    torque = run(written, robot, state)
    run(shared, robot, state)
    values = tuple(map(written.value, torque))
    return Count(name, inputs, written.operations(), shared.operations(), values)


def _inputs(tape: Tape, state: State) -> list[tuple[Any, ...]]:
    return [tuple(tape.variable(x) for x in row) for row in state]


def _arms(robot: Robot, p: Any, pd: Any, pdd: Any) -> list[tuple[Any, ...]]:
    """cos q, sin q, qd, qdd by the library's closed forms."""
    three = limbs(robot)
    n = three.carrier.carried  # an axis that drives psi itself knows its rates
    c, s = arm_directions(SYMBOLS, three, p)
    return [c, s, *joint_rates(SYMBOLS, three, c, s, p, pd[:n], pdd[:n])]


def _exact(par: ExactParameters, arms: Any, p: Any, pd: Any, pdd: Any) -> list[Any]:
    c, s, qd, qdd = arms
    if par.spindle is not None:
        qd, qdd = (*qd, pd[3]), (*qdd, pdd[3])
    return inverse_dynamics(SYMBOLS, par, c, s, qd, qdd, p, pd, pdd)


def _simplified(robot: Robot, c: Any, s: Any, qdd: Any, p: Any, pdd: Any) -> list[Any]:
    """2 A lambda = M (pdd + g z) by Cramer's rule, tau = I thetadd + v - 2 K lambda."""
    three: Any = limbs(robot)
    arm, strut = robot.rotary_arms[0], robot.struts[0]
    m2, g = strut.rods * strut.mass, robot.gravity
    M = robot.platform.mass + 1.5 * m2
    columns, k = [], []
    for i, limb in enumerate(three):
        reach = limb.r + limb.l1 * c[i]
        columns.append((p[0] - reach * limb.ca, p[1] - reach * limb.sa, p[2] + limb.l1 * s[i]))
        radial = p[0] * limb.ca + p[1] * limb.sa - limb.r
        k.append(limb.l1 * (radial * s[i] + p[2] * c[i]))
    right = (M * pdd[0], M * pdd[1], M * (pdd[2] + g))
    whole = _determinant(columns)
    l1 = three[0].l1
    inertia, moment = (arm.mass / 3 + m2 / 2) * l1**2, 0.5 * (arm.mass + m2) * g * l1
    torque = []
    for i in range(3):
        replaced = [right if j == i else columns[j] for j in range(3)]
        twice_lambda = _determinant(replaced) / whole
        torque.append(inertia * qdd[i] - moment * c[i] - k[i] * twice_lambda)
    return torque


def _determinant(columns: list[Any]) -> Any:
    a, b, c = columns
    return dot(a, cross(b, c))
