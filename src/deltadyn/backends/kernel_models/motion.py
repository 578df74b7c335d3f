"""What the compiled kernels compute: the package's own model source, over Numbers of a tape.

Cosines and sines are inputs: the loop around a kernel takes them from the C library, because calls
to it would keep the straight-line code from running on vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from deltadyn.backends.components import axis_friction, parameters_of
from deltadyn.backends.layout import AXES, COUNT, KINEMATIC, PLACES
from deltadyn.backends.limbs import (
    ROTARY,
    arms,
    limbs_of,
    platform_rates,
    platform_state,
    point,
)
from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.friction import Sliding
from deltadyn.kinematics.actuation import HALVES, kernel_name, legs_of, parts_of
from deltadyn.kinematics.assemblies import newton_step
from deltadyn.kinematics.limbs import pairs_of
from deltadyn.tape.tape import SCALARS

Numbers = tuple[Any, ...]
Groups = Sequence[Numbers]


@dataclass(frozen=True)
class Model:
    """A kernel: groups of inputs and outputs (name, width) and what makes one of the other.

    `angles` are the places (first column, count) of the angles whose cosines and sines `trace`
    finds in two more groups behind the inputs. `bars` is one more than the column of psi where a
    group with the cosine and sine of the bars' angle phi0 + psi/k follows, else 0. `rates` are the
    places of the joint rates whose directions (sign, or its smooth form) and Stribeck shapes
    exp(-(qd / vs)^2) follow in two groups more.
    `dof` is 0 where friction is not added to a result; a torque comes with the qd and qdd that its
    friction needs. `whole` makes a row NaN where any part is. With `many_robots` every sample may
    have numbers of its own.
    """

    name: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    trace: Callable[[Numbers, Groups], list[Any]]
    parameters: int = KINEMATIC
    angles: tuple[int, int] = (0, 0)
    rates: tuple[int, int] = (0, 0)
    dof: int = 0
    whole: bool = False
    bars: int = 0
    many_robots: bool = False


# Where things are among the inputs of a kernel. A robot with a platform of halves has no forward
# kinematics in closed form: kernels of its joint motions get the pose as well, ahead of all.


def has_halves(kind: str) -> bool:
    """Whether the pose of the joints is followed by steps of Newton's method."""
    return parts_of(kind)[1] in HALVES


def arms_of(kind: str) -> tuple[tuple[str, int], ...]:
    """The groups with the pairs of the limbs."""
    return ("cos_q", legs_of(kind)), ("sin_q", legs_of(kind))


def joint_groups(kind: str, dof: int, *names: str) -> tuple[tuple[str, int], ...]:
    """Groups of inputs that begin with the joint coordinates, on halves with the pose."""
    return groups_of(dof, *(("p",) if has_halves(kind) else ()), *names)


def psi_angle(dof: int, place: int) -> tuple[int, int]:
    """Places (first, count) of psi, where there is one, in a pose that begins at a column."""
    return place + 3, int(dof == 4)


def bars_of(kind: str, place: int = 0) -> int:
    """`Model.bars` of a kernel whose pose begins at a column."""
    return place + 4 if parts_of(kind)[1] == "articulated" else 0


def joint_angles(kind: str, dof: int, turned: bool = True) -> tuple[int, int]:
    """Places (first, count) of the angles among the joint coordinates: psi alone on rails.

    On halves psi is a coordinate of the pose ahead of them, without need where nothing is `turned`.
    """
    turning = parts_of(kind)[0] in (ROTARY, "inclined")
    if has_halves(kind):
        first, last = 3 if turned else 4, 8 if turning else 4
        return first, last - first
    return (0, dof) if turning else (3, max(dof - 3, 0))


def pairs(
    kind: str, par: Numbers, q: Numbers, cos: Numbers, sin: Numbers
) -> tuple[Numbers, Numbers]:
    """The pairs of the limbs, from the known cosines and sines or from the coordinates."""
    if parts_of(kind)[0] in (ROTARY, "inclined"):
        own = slice(-4, None) if has_halves(kind) else slice(0, legs_of(kind))
        return cos[own], sin[own]
    return pairs_of(Namespace(), limbs_of(par, kind), q)


def kinematics_models(kind: str = ROTARY, spindle: bool | None = None) -> list[Model]:
    """Joints and platform, positions to accelerations; rows with or without a `spindle`, or both.

    Of a robot with a spindle nothing but the rows is its own: psi passes by the limbs.
    """
    legs, halves = legs_of(kind), has_halves(kind)
    p, pd, pdd = ((name, legs) for name in ("p", "pd", "pdd"))
    q, qd, qdd = ((name, legs) for name in ("q", "qd", "qdd"))
    pair, turned, bars = arms_of(kind), joint_angles(kind, legs, False), bars_of(kind)

    def model(name: str, inputs: Any, outputs: Any, trace: Any, **own: Any) -> Model:
        found = Model(kernel_name(name, kind), inputs, outputs, partial(trace, kind), **own)
        return replace(found, bars=bars)

    dofs = {None: (3, 4), True: (4,), False: (3,)}[spindle] if legs == 3 else (legs,)
    rows = [row for dof in dofs for row in _state_rows(kind, dof)]
    if spindle:
        return rows
    if halves:
        step = (p, ("left", legs), ("determinant", 1))
        closing = model("pose_step", (p, q), step, _pose_step, angles=turned)
        rates = model("joint_state", (p, q, qd, qdd), (*pair, pd, pdd), _joint_rates, angles=turned)
    else:
        closing = model("forward_kinematics", (q,), (p,), _forward_kinematics, angles=turned)
        rates = model("joint_state", (q, qd, qdd), (*pair, p, pd, pdd), _joint_state, angles=turned)
    return [
        *rows,
        model("inverse_kinematics", (p,), pair, _inverse_kinematics),
        closing,
        model("platform_state", (p, pd, pdd), (*pair, qd, qdd), _platform_state),
        rates,
    ]


def _state_rows(kind: str, dof: int) -> list[Model]:
    """A whole state in one row: the inputs of `state_torque`, with an external force of zero.

    Of one sample all is then in one array, of which nothing but the array itself has to be made.
    """
    row, nothing = (("state", 2 * legs_of(kind) + 6 * dof),), (0.0,) * dof

    def of_platform(par: Numbers, groups: Groups) -> list[Any]:
        p, pd, pdd, *trig = with_trig(groups)
        c, s, qd, qdd = platform_state(namespace(kind, p, *trig), par, p, pd, pdd, kind)
        return [*c, *s, *qd, *qdd, *p, *pd, *pdd, *nothing]

    def of_joints(par: Numbers, groups: Groups) -> list[Any]:
        (p, q, qd, qdd), trig = joint_inputs(kind, groups)
        state = joint_motion(kind, par, p, q, qd, qdd, *trig)
        return [*(x for group in state for x in group), *nothing]

    platform, joints = groups_of(dof, "p", "pd", "pdd"), joint_groups(kind, dof, "q", "qd", "qdd")
    name, bars = kernel_name("platform_row", kind, dof), bars_of(kind)
    found = [Model(name, platform, row, of_platform, bars=bars)]
    if has_halves(kind):
        return found  # its pose is not found in one kernel
    angles = joint_angles(kind, dof)
    return [
        *found,
        Model(kernel_name("joint_row", kind, dof), joints, row, of_joints, angles=angles),
    ]


def with_trig(groups: Groups, count: int = 3) -> list[Numbers]:
    """The groups, with empty cosines, sines and bars behind `count` of them where there are none.

    Without angles the bars' group is the first behind the others.
    """
    found = [*groups]
    if len(found) == count + 1:
        return [*found[:count], (), (), found[count]]
    return [*found, *([()] * (count + 3 - len(found)))]


def joint_inputs(
    kind: str, groups: Groups, count: int = 3
) -> tuple[list[Numbers], tuple[Numbers, Numbers, Numbers]]:
    """`count` groups of a joint motion behind its pose, empty where it is not known; then trig."""
    wide = count + int(has_halves(kind))
    *motion, cos, sin, bars = with_trig(groups, wide)
    return [*([] if has_halves(kind) else [()]), *motion], (cos, sin, bars)


def torque_models(dof: int, kind: str = ROTARY) -> list[Model]:
    """The inverse dynamics from a state, from the platform and from the joints."""
    tau, legs = (("tau", dof),), legs_of(kind)
    state = (*arms_of(kind), *groups_of(dof, "qd", "qdd", "p", "pd", "pdd", "external"))
    place, joints = 2 * legs + 2 * dof, joint_groups(kind, dof, "q", "qd", "qdd")
    motions = (
        ("state_torque", state, _state_torque, psi_angle(dof, place), place),
        (
            "platform_torque",
            groups_of(dof, "p", "pd", "pdd"),
            _platform_torque,
            psi_angle(dof, 0),
            0,
        ),
        ("joint_torque", joints, _joint_torque, joint_angles(kind, dof), 0),
    )
    return [
        Model(
            kernel_name(name, kind, dof),
            inputs,
            tau,
            partial(trace, kind),
            COUNT,
            angles,
            dof=dof,
            whole=inputs is not state,
            bars=bars_of(kind, pose),
        )
        for name, inputs, trace, angles, pose in motions
    ]


def groups_of(dof: int, *names: str) -> tuple[tuple[str, int], ...]:
    """Groups of inputs that are as wide as the robot has axes."""
    return tuple((name, dof) for name in names)


def friction_model(dof: int) -> Model:
    """The drives' friction on top of the torque without it; not a kernel of its own.

    `direction` is sign(qd) or its smooth form, `stribeck` is exp(-(qd / vs)^2).
    """
    names = ("tau", "qd", "qdd", "direction", "stribeck")
    inputs = tuple((name, dof) for name in names)
    return Model(f"friction_{dof}", inputs, (("tau", dof),), _friction, COUNT)


class Namespace:
    """The functions that the model's source asks for; angles answer with what is known of them.

    `place` is that of psi among the known angles. Any angle but `psi` is that of the bars.
    """

    sqrt = staticmethod(SCALARS.sqrt)
    abs = staticmethod(SCALARS.abs)
    where = staticmethod(SCALARS.where)

    def __init__(
        self,
        cos: Numbers = (),
        sin: Numbers = (),
        bars: Numbers = (),
        place: int = -1,
        psi: Any = None,
    ) -> None:
        self._cos, self._sin, self._bars = cos, sin, bars
        self._place, self._psi = place, psi

    def cos(self, angle: Any) -> Any:
        return self._cos[self._place] if self._is_psi(angle) else self._bars[0]

    def sin(self, angle: Any) -> Any:
        return self._sin[self._place] if self._is_psi(angle) else self._bars[1]

    def _is_psi(self, angle: Any) -> bool:
        return not self._bars or angle is self._psi


def namespace(
    kind: str, pose: Numbers, cos: Numbers = (), sin: Numbers = (), bars: Numbers = ()
) -> Namespace:
    """The functions for one kind at a pose; on halves psi is the first of the known angles."""
    psi = pose[3] if len(pose) > 3 else None
    return Namespace(cos, sin, bars, 0 if has_halves(kind) else -1, psi)


def _inverse_kinematics(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    p, *trig = with_trig(groups, 1)
    c, s = arms(namespace(kind, p, *trig), par, p, kind)
    return [*c, *s]


def _forward_kinematics(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    q, cos, sin, _ = with_trig(groups, 1)
    return [*point(Namespace(), par, *pairs(kind, par, q, cos, sin), kind)]


def _pose_step(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    p, q, cos, sin, bars = with_trig(groups, 2)
    c, s = pairs(kind, par, q, cos, sin)
    step = newton_step(namespace(kind, p, cos, sin, bars), limbs_of(par, kind), c, s, p)
    return [*step.x, *step.left, step.determinant]


def _platform_state(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    p, pd, pdd, *trig = with_trig(groups)
    c, s, qd, qdd = platform_state(namespace(kind, p, *trig), par, p, pd, pdd, kind)
    return [*c, *s, *qd, *qdd]


def _joint_state(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    q, qd, qdd, cos, sin, _ = with_trig(groups)
    c, s = pairs(kind, par, q, cos, sin)
    p = point(Namespace(), par, c, s, kind)
    pd, pdd = platform_rates(Namespace(), par, c, s, p, qd, qdd, kind)
    return [*c, *s, *p, *pd, *pdd]


def _joint_rates(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    p, q, qd, qdd, cos, sin, bars = with_trig(groups, 4)
    c, s = pairs(kind, par, q, cos, sin)
    xp = namespace(kind, p, cos, sin, bars)
    pd, pdd = platform_rates(xp, par, c, s, p, qd, qdd, kind)
    return [*c, *s, *pd, *pdd]


def _state_torque(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    c, s, qd, qdd, p, pd, pdd, external, *trig = groups
    xp, numbers = namespace(kind, p, *trig), parameters_of(par, len(p), kind)
    tau = inverse_dynamics(xp, numbers, c, s, qd, qdd, p, pd, pdd, external)
    return [*tau, *qd, *qdd]


def _platform_torque(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    p, pd, pdd, *trig = groups
    xp, numbers = namespace(kind, p, *trig), parameters_of(par, len(p), kind)
    c, s, qd, qdd = platform_state(xp, par, p, pd, pdd, kind)
    return [*inverse_dynamics(xp, numbers, c, s, qd, qdd, p, pd, pdd), *qd, *qdd]


def _joint_torque(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    (p, q, qd, qdd), trig = joint_inputs(kind, groups)
    state = joint_motion(kind, par, p, q, qd, qdd, *trig)
    xp, numbers = namespace(kind, p, *trig), parameters_of(par, len(q), kind)
    return [*inverse_dynamics(xp, numbers, *state), *qd, *qdd]


def joint_motion(
    kind: str,
    par: Numbers,
    p: Numbers,
    q: Numbers,
    qd: Numbers,
    qdd: Numbers,
    cos: Numbers,
    sin: Numbers,
    bars: Numbers,
) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers, Numbers, Numbers]:
    """cos_q, sin_q, qd, qdd, p, pd, pdd of a motion of the joints, whose pose may be known."""
    c, s = pairs(kind, par, q, cos, sin)
    p = p or (*point(Namespace(), par, c, s, kind), *q[len(c) :])
    xp = namespace(kind, p, cos, sin, bars)
    return c, s, qd, qdd, p, *platform_rates(xp, par, c, s, p, qd, qdd, kind)


def _friction(par: Numbers, groups: Groups) -> list[Any]:
    tau, qd, qdd, direction, stribeck = groups
    total = []
    for i, s in enumerate(direction):
        slide = sliding(par, i, qd[i], s, stribeck[i], tau[i], qdd[i])
        total.append(tau[i] + axis_friction(Namespace(), par, i, slide))
    return total


def sliding(
    par: Numbers, i: int, qd: Any, direction: Any, stribeck: Any, tau: Any = 0.0, qdd: Any = 0.0
) -> Sliding:
    """How drive i slides under the torque without friction, with its direction and shape known."""
    rotor = par[PLACES["rotor"]]
    assert len(rotor) == AXES
    return Sliding(qd, direction, stribeck, tau - rotor[i] * qdd)
