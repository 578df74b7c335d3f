"""The plant of `plant.c`: its compilation, its structures and its calls."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SOURCE = Path(__file__).with_name("plant.c")
FLAGS = ("-std=gnu11", "-O2", "-shared", "-fPIC")
LIMBS, ORDERS, SLIPS = 3, 2, 4
REAL = ctypes.c_double


class NoCompilerError(RuntimeError):
    """There is no C compiler to build the plant with."""


def _fields(text: str) -> list[tuple[str, Any]]:
    """Fields of doubles from words; `name:3` is an array."""
    pairs = [(word.partition(":")[0], word.partition(":")[2]) for word in text.split()]
    return [(name, REAL * int(count) if count else REAL) for name, count in pairs]


class Bodies(ctypes.Structure):
    """Geometry and masses in SI units, in the order of `Bodies` in plant.c."""

    _fields_ = _fields(
        "base_radius:3 platform_radius:3 arm:3 rod:3 azimuth:3 "
        "arm_mass:3 arm_com:3 arm_offset:3 arm_inertia:3 elbow_mass:3 "
        "rod_mass:3 rod_com:3 rod_inertia:3 "
        "platform_mass payload_mass payload_at:3 payload_turning gravity spindle upper_z lower_z "
        "upper_mass upper_com upper_across upper_along "
        "lower_mass lower_com lower_across lower_along "
        "effector_mass effector_at:3 effector_turning slide_viscous slide_coulomb"
    )


class Drive(ctypes.Structure):
    """One drive, seen at the output side of its gear, in the order of `Drive` in plant.c."""

    _fields_ = _fields(
        "rotor viscous coulomb asymmetry stribeck stribeck_rate stribeck_power "
        "thinning thinning_rate warm_range warm_time warm_mean bristle bristle_damping "
        "slip_stiffness:4 slip_torque:4 ripple:2 ripple_order:2 ripple_phase:2 "
        "loss_load loss_motor stiffness damping hardening creep_stiffness creep_time "
        "torque_constant current_time eccentricity eccentricity_phase encoder_ratio "
        "angle_delay torque_delay step kp ki kd rate_filter limit"
    )


class World(ctypes.Structure):
    """A wall that the platform may meet, in the order of `World` in plant.c."""

    _fields_ = _fields("wall_at:3 wall_normal:3 wall_stiffness")


class Touch(NamedTuple):
    """What touches a machine from outside, each None or with a row per tick.

    `force` (N, 3) on the platform in N, `pull` (N, dof) on the arms in N m, `carried` (N,) in kg.
    A wall stands at `wall_at` (m), pushes along its unit `wall_normal` and is a spring (N/m).
    """

    force: Array | None = None
    pull: Array | None = None
    carried: Array | None = None
    wall_at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    wall_normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    wall_stiffness: float = 0.0

    def after(self, rows: int) -> Touch:
        """The same, with so many rows before in which nothing touches."""

        def later(x: Array | None) -> Array | None:
            return None if x is None else np.concatenate([np.zeros((rows, *x.shape[1:])), x])

        force, pull, carried = map(later, (self.force, self.pull, self.carried))
        return self._replace(force=force, pull=pull, carried=carried)


def fresh_drive() -> Drive:
    """A drive that does nothing wrong; rates that divide are not 0."""
    return Drive(
        stribeck_rate=1.0,
        stribeck_power=2.0,
        thinning_rate=1.0,
        warm_time=1.0,
        creep_time=1.0,
        torque_constant=1.0,
        encoder_ratio=1.0,
        current_time=3e-4,
        limit=1e6,
    )


def copied(structure: Any) -> Any:
    """A copy of one of the structures."""
    return type(structure).from_buffer_copy(structure)


def compiler() -> str | None:
    """The path of gcc (or cc), None without one."""
    return shutil.which("gcc") or shutil.which("cc")


@cache
def library() -> ctypes.CDLL:
    """The compiled plant; built once per version of its source, into the system's tmp folder."""
    key = hashlib.sha256(SOURCE.read_bytes() + " ".join(FLAGS).encode()).hexdigest()[:16]
    owner = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"deltadyn-machines-{owner}"
    built = folder / f"plant-{key}.so"
    if not built.exists():
        program = compiler()
        if program is None:
            raise NoCompilerError("gcc (or cc) is not installed")
        folder.mkdir(mode=0o700, exist_ok=True)
        # built beside its place and renamed: two processes may come here at once
        part = folder / f"plant-{key}-{os.getpid()}.so"
        subprocess.run([program, *FLAGS, str(SOURCE), "-o", str(part), "-lm"], check=True)
        part.replace(built)
    found = ctypes.CDLL(str(built))
    sizes = (ctypes.c_long * 3)()
    found.plant_sizes(sizes)
    if list(sizes) != [ctypes.sizeof(kind) for kind in (Bodies, Drive, World)]:
        raise RuntimeError(f"structures of plant.c have {list(sizes)} bytes, not those of plant.py")
    found.plant_run.restype = ctypes.c_long
    return found


class Loop(NamedTuple):
    """What a closed loop leaves at each tick, (N, dof) unless said.

    `current` (in N m) and its `target` hold at the start of the tick; `read` is the encoder's
    angle, `reported` the torque without noise and in the unit of the assumed torque constant: its
    mean over one tick about the sample. The rest is the truth at that instant: arm angle, rate and
    acceleration, motor torque, torque through the gear, rotor angle at the output side, whether
    the axis sticks, platform (N, 3).
    """

    current: Array
    target: Array
    read: Array
    reported: Array
    q: Array
    qd: Array
    qdd: Array
    motor: Array
    gear: Array
    rotor: Array
    stuck: Array
    platform: Array


def dof_of(bodies: Bodies) -> int:
    return 4 if bodies.spindle else 3


def run(
    bodies: Bodies,
    drives: list[Drive],
    reference: Array,
    rate: Array,
    forward: Array,
    noise: Array,
    *,
    tick: float,
    substeps: int,
    clock: float = 0.0,
    touch: Touch | None = None,
) -> Loop:
    """The closed loop along a reference (N, dof) with its rate, feedforward and encoder noise."""
    n, dof = reference.shape
    if dof != dof_of(bodies) or len(drives) != dof:
        raise ValueError(f"reference has {dof} axes, the bodies {dof_of(bodies)}")
    inputs = [np.ascontiguousarray(x, float) for x in (reference, rate, forward, noise)]
    for x in inputs:
        if x.shape != (n, dof):
            raise ValueError(f"shape {x.shape}; allowed is {(n, dof)}")
    outer = touch or Touch()
    world = World(outer.wall_at, outer.wall_normal, outer.wall_stiffness)
    shapes = ((n, 3), (n, dof), (n,))
    touched = [
        None if x is None else np.ascontiguousarray(np.broadcast_to(x, shape), float)
        for x, shape in zip((outer.force, outer.pull, outer.carried), shapes, strict=True)
    ]
    outputs = [np.empty((n, dof)) for _ in range(11)] + [np.empty((n, 3))]
    broken = library().plant_run(
        ctypes.byref(bodies),
        (Drive * dof)(*drives),
        ctypes.c_long(n),
        REAL(tick),
        ctypes.c_int(substeps),
        REAL(clock),
        ctypes.byref(world),
        *(None if x is None else _pointer(x) for x in touched),
        *(_pointer(x) for x in (*inputs, *outputs)),
    )
    if broken:
        raise FloatingPointError(f"the machine broke at sample {broken - 1} of {n}")
    return Loop(*outputs)


class Inverse(NamedTuple):
    """Torque at the arms (N, dof), platform (N, 3), and how far the rods' lengths are missed."""

    torque: Array
    platform: Array
    gap: Array


def inverse(bodies: Bodies, q: Array, qd: Array, qdd: Array) -> Inverse:
    """Inverse dynamics of the bodies alone: no rotors, no friction but that of the telescope."""
    n, dof = q.shape
    inputs = [np.ascontiguousarray(x, float) for x in (q, qd, qdd)]
    outputs = [np.empty((n, dof)), np.empty((n, 3)), np.empty(n)]
    library().plant_inverse(
        ctypes.byref(bodies), ctypes.c_long(n), *(_pointer(x) for x in (*inputs, *outputs))
    )
    return Inverse(*outputs)


def swing(bodies: Bodies, n: int, step: float, q: Array, qd: Array) -> tuple[Array, Array]:
    """Free motion from one state: angles and rates (N, dof), without rotors and friction."""
    dof = dof_of(bodies)
    start = [np.ascontiguousarray(x, float) for x in (q, qd)]
    outputs = [np.empty((n, dof)), np.empty((n, dof))]
    drives = [fresh_drive() for _ in range(dof)]
    library().plant_swing(
        ctypes.byref(bodies),
        (Drive * dof)(*drives),
        ctypes.c_long(n),
        REAL(step),
        *(_pointer(x) for x in (*start, *outputs)),
    )
    return outputs[0], outputs[1]


def energy(bodies: Bodies, q: Array, qd: Array) -> tuple[Array, Array]:
    """Kinetic and potential energy (N,) of the bodies, without rotors."""
    inputs = [np.ascontiguousarray(x, float) for x in (q, qd)]
    outputs = [np.empty(len(q)), np.empty(len(q))]
    library().plant_energy(
        ctypes.byref(bodies), ctypes.c_long(len(q)), *(_pointer(x) for x in (*inputs, *outputs))
    )
    return outputs[0], outputs[1]


def arm_angles(bodies: Bodies, p: Array) -> Array:
    """Arm angles (N, 3) of platform points (N, 3), elbows outward; NaN where out of reach."""
    angles = []
    for i in range(LIMBS):
        cos, sin = np.cos(bodies.azimuth[i]), np.sin(bodies.azimuth[i])
        shrunk = bodies.base_radius[i] - bodies.platform_radius[i]
        outward, aside = p[:, 0] * cos + p[:, 1] * sin - shrunk, p[:, 1] * cos - p[:, 0] * sin
        down, l1, l2 = -p[:, 2], bodies.arm[i], bodies.rod[i]
        # law of cosines in the arm's plane, where the rod has the length sqrt(l2^2 - aside^2)
        reach = np.hypot(outward, down)
        with np.errstate(invalid="ignore"):
            inner = np.arccos((l1**2 + reach**2 - l2**2 + aside**2) / (2 * l1 * reach))
        angles.append(np.arctan2(down, outward) - inner)
    return np.column_stack(angles)


def _pointer(x: Array) -> Any:
    return x.ctypes.data_as(ctypes.c_void_p)
