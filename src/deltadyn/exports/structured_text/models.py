"""The model behind the function blocks, over any components: what a tape traces for a robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from deltadyn.backends.components import parameters_of
from deltadyn.backends.kernel_models.motion import (
    friction_model,
    joint_angles,
    kinematics_models,
    torque_models,
)
from deltadyn.backends.layout import COUNT, ENTRIES
from deltadyn.backends.limbs import arms, limbs_of, platform_rates, platform_state, point
from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.parameters import SpindleParameters
from deltadyn.kinematics.actuation import (
    ACTUATIONS,
    HALVES,
    PLATFORMS,
    kernel_name,
    legs_of,
    parts_of,
)
from deltadyn.kinematics.assemblies import newton_step
from deltadyn.kinematics.limbs import pairs_of, pose_of
from deltadyn.tape.tape import SCALARS, Function, trace

Numbers = tuple[Any, ...]


@dataclass(frozen=True)
class Block:
    """Inputs (name, width) beside the robot's numbers, outputs, and what makes one of the other."""

    name: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    trace: Callable[[Numbers, Sequence[Numbers], Numbers], Sequence[Any]]


@lru_cache(maxsize=1)
def blocks() -> dict[str, Block]:
    """All bodies by their names: the drives' friction, and the model of every kind of limbs."""
    found = [_friction(dof) for dof in (2, 3, 4)]
    for kind in ACTUATIONS:
        found += _kinematics(kind)
        for dof in (3,) if kind == "vertical" else (3, 4):  # no spindle there
            known = {model.name: model for model in torque_models(dof, kind)}
            found += [
                _torque("platform_torque", ("p", "pd", "pdd"), dof, kind, known),
                _torque("joint_torque", ("q", "qd", "qdd"), dof, kind, known),
                _payload_sample(dof, kind),
                _force_sample(dof, kind),
            ]
    for kind in OTHER_PLATFORMS:
        found += _platform_blocks(kind)
    return {block.name: block for block in found}


#: Compositions with another platform than the point, of arms that stand alike and of rails.
OTHER_PLATFORMS = tuple(f"{limbs}{platform}" for platform in PLATFORMS for limbs in ("", "rail_"))


def _platform_blocks(kind: str) -> list[Block]:
    """Kinematics and torques of robots in a plane, and of those with a platform of halves.

    The pose of joints on halves has no closed form: a step of Newton's method is a body of its own,
    and the torque of joints gets the pose too.
    """
    n, halves = legs_of(kind), parts_of(kind)[1] in HALVES

    def name(what: str, dof: int | None = None) -> str:
        return kernel_name(what, kind, dof)

    def inverse(par: Numbers, x: Sequence[Numbers], _: Numbers) -> Sequence[Any]:
        c, s = arms(SCALARS, par, x[0], kind)
        return [*c, *s]

    def forward(par: Numbers, x: Sequence[Numbers], _: Numbers) -> Sequence[Any]:
        limbs = limbs_of(par, kind)
        return [*point(SCALARS, par, *pairs_of(SCALARS, limbs, x[0]), kind)]

    def step(par: Numbers, x: Sequence[Numbers], _: Numbers) -> Sequence[Any]:
        p, q = x
        limbs = limbs_of(par, kind)
        found = newton_step(SCALARS, limbs, *pairs_of(SCALARS, limbs, q), p)
        return [*found.x, *found.left, found.determinant]

    def platform(par: Numbers, x: Sequence[Numbers], own: Numbers) -> Sequence[Any]:
        p, pd, pdd, (mass,), (inertia,) = x
        loaded = _carried(par, mass, inertia, own)
        c, s, qd, qdd = platform_state(SCALARS, loaded, p, pd, pdd, kind)
        numbers = parameters_of(loaded, n, kind)
        return [*inverse_dynamics(SCALARS, numbers, c, s, qd, qdd, p, pd, pdd), *qd, *qdd]

    def joint(par: Numbers, x: Sequence[Numbers], own: Numbers) -> Sequence[Any]:
        *known, q, qd, qdd, (mass,), (inertia,) = x
        loaded = _carried(par, mass, inertia, own)
        c, s = pairs_of(SCALARS, limbs_of(loaded, kind), q)
        p = known[0] if known else tuple(point(SCALARS, loaded, c, s, kind))
        pd, pdd = platform_rates(SCALARS, loaded, c, s, p, qd, qdd, kind)
        numbers = parameters_of(loaded, n, kind)
        return [*inverse_dynamics(SCALARS, numbers, c, s, qd, qdd, p, pd, pdd), *qd, *qdd]

    load, torque = (("mass", 1), ("inertia", 1)), (("tau", n), ("qd", n), ("qdd", n))
    joints = (*((("p", n),) if halves else ()), ("q", n), ("qd", n), ("qdd", n))
    pairs = (("cos_q", n), ("sin_q", n))
    closing = (
        Block(
            name("pose_step"),
            (("p", n), ("q", n)),
            (("p", n), ("left", n), ("determinant", 1)),
            step,
        )
        if halves
        else Block(name("forward_kinematics"), (("q", n),), (("p", n),), forward)
    )
    return [
        Block(name("inverse_kinematics"), (("p", n),), pairs, inverse),
        closing,
        Block(
            name("platform_torque", n), (("p", n), ("pd", n), ("pdd", n), *load), torque, platform
        ),
        Block(name("joint_torque", n), (*joints, *load), torque, joint),
    ]


def _carried(par: Numbers, mass: Any, inertia: Any, offset: Numbers) -> Numbers:
    """The robot's numbers with a payload on the platform, which turns it where it has halves."""
    values, (x, y) = list(par), offset
    places = {name: place for place, name in enumerate(parameter_names())}
    values[places["par_M_P_1"]] += mass
    values[places["par_halves_3"]] += mass * x
    values[places["par_halves_4"]] += mass * y
    values[places["par_halves_5"]] += mass * (x * x + y * y) + inertia
    return tuple(values)


def _kinematics(kind: str) -> list[Block]:
    """Platform to limbs and back."""
    known = {model.name: model for model in kinematics_models(kind)}
    names = [kernel_name(f"{way}_kinematics", kind) for way in ("inverse", "forward")]
    inverse, forward = (known[name] for name in names)
    angles = joint_angles(kind, 3)[1]
    return [
        Block(
            names[0],
            (("p", 3),),
            (("cos_q", 3), ("sin_q", 3)),
            lambda par, x, _: inverse.trace(par, x),
        ),
        Block(
            names[1],
            (("q", 3),),
            (("p", 3),),
            lambda par, x, _: forward.trace(par, [x[0], *_trigonometry(x[0][:angles])]),
        ),
    ]


def _trigonometry(angles: Numbers) -> list[Numbers]:
    return [tuple(SCALARS.cos(x) for x in angles), tuple(SCALARS.sin(x) for x in angles)]


def _torque(
    what: str, groups: tuple[str, ...], dof: int, kind: str, known: dict[str, Any]
) -> Block:
    """Torque without the drives' friction, qd and qdd, with a payload (kg, kg m^2)."""
    name = kernel_name(what, kind, dof)
    model = known[name]
    first, count = model.angles

    def trace(par: Numbers, x: Sequence[Numbers], own: Numbers) -> Sequence[Any]:
        *motion, (mass,), (inertia,) = x
        columns = tuple(value for group in motion for value in group)
        angles = columns[first : first + count]
        trig = _trigonometry(angles) if angles else []
        given: Sequence[Any] = model.trace(_loaded(par, mass, inertia, own), [*motion, *trig])
        return given

    inputs = (*((group, dof) for group in groups), ("mass", 1), ("inertia", 1))
    return Block(name, inputs, (("tau", dof), ("qd", dof), ("qdd", dof)), trace)


def _loaded(par: Numbers, mass: Any, inertia: Any, offset: Numbers) -> Numbers:
    """The robot's numbers with a payload at the offset."""
    values, (x, y) = list(par), offset
    places = {name: place for place, name in enumerate(parameter_names())}
    values[places["par_M_P_1"]] += mass
    values[places["par_spindle_6"]] += mass * x
    values[places["par_spindle_7"]] += mass * y
    values[places["par_spindle_8"]] += mass * (x * x + y * y) + inertia
    return tuple(values)


def _friction(dof: int) -> Block:
    model = friction_model(dof)
    outputs = (("tau", dof),)
    return Block(model.name, model.inputs, outputs, lambda par, x, _: model.trace(par, x))


def _payload_sample(dof: int, kind: str) -> Block:
    """Torque of the empty robot with friction, what one kg adds, square of the speed.

    Last the part of the torque that goes through the gears.
    """

    def trace(par: Numbers, x: Sequence[Numbers], own: Numbers) -> Sequence[Any]:
        q, qd, qdd, direction, stribeck = x
        xp, numbers = SCALARS, parameters_of(par, dof, kind)
        pose = pose_of(xp, numbers.limbs, q, qd)
        motion = (pose.c, pose.s, qd, qdd, pose.p, pose.pd, _bent(pose, qdd))
        tau = inverse_dynamics(xp, numbers, *motion)
        column = inverse_dynamics(xp, _one_kilogram(numbers, own), *motion)
        with_friction = friction_model(dof).trace(par, [tuple(tau), qd, qdd, direction, stribeck])
        rotor, load = (_entry(par, name) for name in ("rotor", "load"))
        for i in range(dof):
            through = tau[i] - rotor[i] * qdd[i]
            share = load[i] * direction[i] * xp.where(through < 0, -1.0, 1.0)
            column[i] = column[i] + share * column[i]
        through = [tau[i] - rotor[i] * qdd[i] for i in range(dof)]
        v = pose.pd
        return [*with_friction, *column, v[0] * v[0] + v[1] * v[1] + v[2] * v[2], *through]

    names = ("q", "qd", "qdd", "direction", "stribeck")
    outputs = (("tau", dof), ("column", dof), ("speed2", 1), ("through", dof))
    own = kernel_name("payload_sample", kind, dof)
    return Block(own, tuple((name, dof) for name in names), outputs, trace)


def _force_sample(dof: int, kind: str) -> Block:
    """Torque of the loaded robot with friction, J of the arms row by row, and pdd."""

    def trace(par: Numbers, x: Sequence[Numbers], own: Numbers) -> Sequence[Any]:
        q, qd, qdd, direction, stribeck, (mass,), (inertia,) = x
        loaded = _loaded(par, mass, inertia, own)
        numbers = parameters_of(loaded, dof, kind)
        pose = pose_of(SCALARS, numbers.limbs, q, qd)
        pdd = _bent(pose, qdd)
        motion = (pose.c, pose.s, qd, qdd, pose.p, pose.pd, pdd)
        tau = tuple(inverse_dynamics(SCALARS, numbers, *motion))
        whole = friction_model(dof).trace(par, [tau, qd, qdd, direction, stribeck])
        J = [pose.J[i][k] for k in range(3) for i in range(3)]
        return [*whole, *J, *pdd[:3]]

    names = ("q", "qd", "qdd", "direction", "stribeck")
    inputs = (*((name, dof) for name in names), ("mass", 1), ("inertia", 1))
    outputs = (("tau", dof), ("jacobian", 9), ("pdd", 3))
    return Block(kernel_name("force_sample", kind, dof), inputs, outputs, trace)


def _bent(pose: Any, qdd: Numbers) -> Numbers:
    """pdd = Jd qd + J qdd."""
    count = len(qdd)
    return tuple(
        pose.pdd[k] + sum((pose.J[j][k] * qdd[j] for j in range(1, count)), pose.J[0][k] * qdd[0])
        for k in range(count)
    )


def _one_kilogram(numbers: Any, offset: Numbers) -> Any:
    zero, (x, y), spindle = (0.0, 0.0, 0.0), offset, None
    if numbers.spindle is not None:
        none = dict.fromkeys(("H", "kappa", "mu", "I_axial"), 0.0)
        pivot = numbers.spindle.pivot_z
        spindle = SpindleParameters(pivot, h_x=x, h_y=y, I_psi=x * x + y * y, **none)
    return replace(numbers, M_P=1.0, m_x=zero, A=zero, G=zero, G_s=zero, spindle=spindle)


def parameter_names() -> list[str]:
    """Names of the robot's numbers in the order of `kernels.layout`, counted from 1."""
    return [f"par_{name}_{k + 1}" for name, width in ENTRIES for k in range(width)]


def _entry(par: Numbers, name: str) -> Numbers:
    places = [k for k, own in enumerate(parameter_names()) if own.startswith(f"par_{name}_")]
    wanted = [k for k in places if parameter_names()[k].removeprefix(f"par_{name}_").isdigit()]
    return tuple(par[k] for k in wanted)


@lru_cache(maxsize=32)
def block_function(name: str) -> Function:
    """A body as a function of the robot's numbers, the payload's place and its own inputs."""
    block = blocks()[name]
    count = sum(width for _, width in block.outputs)

    def code(par: Numbers, payload: Numbers, *groups: Numbers) -> Sequence[Any]:
        return block.trace(par, groups, payload)[:count]

    return trace(name, {"par": COUNT, "payload": 2, **dict(block.inputs)}, code)
