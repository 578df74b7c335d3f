"""Target `fmu`: the plant and the inverse model as units for co-simulation, FMI 2.0 or 3.0."""

from __future__ import annotations

import hashlib
import io
import itertools
import math
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.backends.kernel_models.headers import kernel_text
from deltadyn.backends.kernel_models.kernels import models_by_name
from deltadyn.backends.layout import COUNT, ENTRIES, PLACES
from deltadyn.backends.packed import packed_parameters
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import DeltadynError, InputError, UnknownNameError
from deltadyn.exports.c import bars_behind, followed_pose
from deltadyn.exports.check_points import check_points
from deltadyn.exports.common import (
    ExportFiles,
    checked_step,
    commented,
    filled,
    identifier,
    limb_kind,
    math_guard,
    number,
    platform_kind,
    provenance,
    single_sample,
    stamp_fingerprint,
    standard,
    template,
    write_fingerprint,
)
from deltadyn.exports.fmu.documentation import page, readme, safe
from deltadyn.exports.fmu.tangents import tangent
from deltadyn.exports.fmu.variables import (
    LEAST_STEP,
    LONGEST_STEP,
    TOKEN,
    Variable,
    build_description,
    description,
    inverse_variables,
    plant_variables,
    smoothing_of,
)
from deltadyn.exports.left_out import drop_terms, left_out_section
from deltadyn.kinematics.actuation import HALVES, actuation, kernel_name, limb_kernel
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot

LAYERS = {"2.0": "fmi2.c", "3.0": "fmi3.c"}
#: What the README says of the libraries inside.
HELD = "Each holds its C sources, and a library for {machines}."
NONE_HELD = {
    True: "Each holds **C sources alone**: no compiler for x86-64 Linux was found at the export, "
    "nor one for Windows. Compile them as below, or export again where there is one.",
    False: "Each holds **C sources alone**, as asked with `binary=False`. Compile them as below.",
}


@dataclass(frozen=True)
class Options:
    """Options of target `fmu`."""

    fmi: str = "2.0"  # or "3.0"
    timestep: float = 1e-4  # s, the plant's longest integration step
    binary: bool = True  # add libraries; for x86-64 Linux where there is a C compiler
    windows: bool = True  # one for x86-64 Windows too where there is x86_64-w64-mingw32-gcc


def files(robot: Robot, options: Options | None = None) -> ExportFiles:
    """The units of a robot: `<robot>_plant.fmu`, `<robot>_inverse.fmu` and README-fmu.md.

    The sources are always inside.
    """
    complete = robot
    alone = "units have it for a Delta robot with arms that stand alike"
    robot, dropped = drop_terms(robot, passive=None if standard(robot) else alone)
    chosen = Options() if options is None else options
    fmi, step = chosen.fmi, _checked_step(chosen)
    machines = list(_machines(chosen)) if chosen.binary else []
    name = identifier(robot)
    tables = {"plant": plant_variables(robot, step), "inverse": inverse_variables(robot)}
    units = {
        f"{name}_{model}.fmu": _unit(robot, model, fmi, machines, table)
        for model, table in tables.items()
    }
    places = [f"{item.name} in `binaries/{item.folders[fmi]}`" for item in machines]
    held = HELD.format(machines=" and ".join(places)) if places else NONE_HELD[chosen.binary]
    text = readme(robot, fmi, step, held, tables, (LINUX.folders[fmi], LINUX.flags, LAYERS[fmi]))
    text += left_out_section(complete, dropped)
    return stamp_fingerprint({**units, "README-fmu.md": text}, dropped)


def _checked_step(options: Options) -> float:
    if options.fmi not in LAYERS:
        raise UnknownNameError("fmi", options.fmi, LAYERS)
    allowed = f"a number of seconds from {LEAST_STEP:g} to {LONGEST_STEP:g}"
    step = checked_step(options.timestep, LEAST_STEP, LONGEST_STEP, allowed)
    for name in ("binary", "windows"):
        if not isinstance(getattr(options, name), bool):
            raise InputError(name, getattr(options, name), "True or False")
    return step


def _unit(
    robot: Robot,
    model: str,
    fmi: str,
    machines: Sequence[Machine],
    variables: Sequence[Variable],
) -> bytes:
    """One .fmu file; what identifies it follows from all of its text."""
    name, layer = f"{identifier(robot)}_{model}", LAYERS[fmi]
    sources = source_files(robot, model, layer, variables)
    told = description(robot, model, name, fmi, layer, variables)
    digest = hashlib.sha256()
    for text in (told, *(sources[key] for key in sorted(sources))):
        digest.update(text.encode())
    token, mark = _guid(digest.hexdigest()), digest.hexdigest()[:16]
    sources = {
        key: write_fingerprint(text.replace(TOKEN, token), mark) for key, text in sources.items()
    }
    told = write_fingerprint(told.replace(TOKEN, token), mark)
    inside: dict[str, str | bytes] = {"modelDescription.xml": told}
    inside |= {f"sources/{key}": text for key, text in sources.items()}
    inside |= {
        "documentation/index.html": write_fingerprint(page(robot, model, fmi, variables), mark),
        "documentation/licenses/license.txt": template("fmu", "license.txt"),
    }
    if fmi == "3.0":
        inside["sources/buildDescription.xml"] = build_description(name, layer)
    for item in machines:
        library = f"binaries/{item.folders[fmi]}/{name}{item.suffix}"
        inside[library] = compiled(item.command, sources, layer, item)
    return archive(inside)


def _guid(digest: str) -> str:
    parts = (digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32])
    return "{" + "-".join(parts) + "}"


# The C sources of an FMU: shared files, generated functions, and the robot's numbers.


#: Generated functions by model, and whether they know limbs alone or all axes.
FUNCTIONS = {
    "plant": ("joint_state", "state_torque_DOF", "friction_DOF", "passive_DOF", "mass_DOF"),
    "inverse": (
        "joint_state",
        "platform_state",
        "state_torque_DOF",
        "friction_DOF",
        "passive_DOF",
    ),
}
#: Those whose derivatives along a direction are written too.
DIFFERENTIATED = ("joint_state", "platform_state", "state_torque", "friction", "passive")
#: Places of a limb's numbers, and its elbow, by what moves it.
ELBOWS = {
    "rotary": (5, 2, "reach * limb[3]", "reach * limb[4]", "-limb[1] * sine"),
    "inclined": (
        11,
        10,
        *(
            f"limb[{k}] + limb[9] * (cosine * limb[{3 + k}] + sine * limb[{6 + k}])"
            for k in range(3)
        ),
    ),
    "vertical": (4, 3, "limb[0]", "limb[1]", "limb[2] + cosine"),
    "rail": (7, 6, *(f"limb[{k}] + cosine * limb[{3 + k}]" for k in range(3))),
}
ROLES = {"fixed": "FIXED", "tunable": "TUNABLE"}
WIDTH = 100


def source_files(
    robot: Robot, model: str, layer: str, variables: Sequence[Variable]
) -> dict[str, str]:
    """Name and text of the files in `sources`; `layer` is fmi2.c or fmi3.c, the one to compile.

    The head of robot.h has a place @TOKEN@ for what identifies the whole unit.
    """
    shared = ("model.h", "derivatives.h", f"{model}.h", "instance.h", "layer.h", layer)
    texts = {name: _shared(robot, name) for name in shared}
    if platform_kind(robot) in HALVES:
        head = comment(robot, "pose.h: the pose of joints, by Newton's method")
        texts["pose.h"] = head + POSE_HEAD + followed_pose(robot)
    return texts | {
        "kernels.h": _kernels(robot, model),
        "robot.h": _robot(robot, model, variables),
    }


def comment(robot: Robot, what: str) -> str:
    """The head of a file; nothing in it can end the comment early."""
    lines = [safe(line) for line in provenance(robot, what)]
    return commented(lines, "/*", " * ", " */\n")


def _shared(robot: Robot, name: str) -> str:
    head = comment(robot, f"{name}: part of a functional mock-up unit")
    return head + (math_guard() if name == "model.h" else "") + template("fmu", name)


def _kernels(robot: Robot, model: str) -> str:
    """The straight-line functions that this model calls."""
    names = [_function(robot, name) for name in FUNCTIONS[model]]
    if not standard(robot):
        names = [name for name in names if not name.startswith("passive_")]
    head = comment(
        robot, "kernels.h: the exact model as straight-line code, traced from its source"
    )
    texts = [kernel_text(models_by_name()[name]) for name in names]
    if platform_kind(robot) in HALVES:  # those that target `c` has for the pose of joints
        own = [limb_kernel(robot, name) for name in ("inverse_kinematics", "pose_step")]
        texts += [single_sample(name, reach=True) for name in own]
    texts += [tangent(name) for name in names if name.startswith(DIFFERENTIATED)]
    body = "\n".join(texts)
    return f"{head}#ifndef DELTADYN_KERNELS_H\n#define DELTADYN_KERNELS_H\n\n{body}\n#endif\n"


def _function(robot: Robot, name: str) -> str:
    """The name of a generated function for a robot; friction knows nothing of limbs."""
    bare, dof = name.removesuffix("_DOF"), robot.dof if name.endswith("_DOF") else None
    return kernel_name(bare, "rotary" if bare == "friction" else actuation(robot), dof)


#: Before what target `c` has for the pose of joints: geometry, which no variable changes.
POSE_HEAD = """\
#define EMPTY ROBOT
#define TINY 1e-9
enum { POSE_OK = GOOD, POSE_UNREACHABLE = UNREACHABLE, POSE_SINGULAR = SINGULAR };

static int check(const real *x, int count)
{
    return all_finite(x, count) ? POSE_OK : POSE_UNREACHABLE;
}

"""


def _elbow(robot: Robot) -> str:
    """Where the elbow of a limb is, and the places of a limb's numbers; pose.h has its own."""
    if platform_kind(robot) in HALVES:
        return ""
    width, strut, *parts = ELBOWS[limb_kind(robot)]
    lines = [f"    E[{k}] = {part};" for k, part in enumerate(parts)]
    reach = ["    const real reach = limb[0] + limb[1] * cosine;"]
    used = [] if "sine" in " ".join(map(str, parts)).replace("cosine", "") else ["    (void)sine;"]
    return "\n" + "\n".join(
        [
            f"enum {{ LIMB = {width}, LIMB_STRUT = {strut} }}; /* numbers of a limb, its l2 */",
            "",
            "static inline void elbow_of(const real *limb, real cosine, real sine, real *E)",
            "{",
            *(reach if limb_kind(robot) == "rotary" else []),
            *used,
            *lines,
            "}\n",
        ]
    )


def _robot(robot: Robot, model: str, variables: Sequence[Variable]) -> str:
    dof = robot.dof
    reals = [item for item in variables if item.kind == "real"]
    places = (
        f"    VR_{item.symbol} = {place}" for place, item in enumerate(variables) if item.symbol
    )
    layout = (f"    PAR_{name.upper()} = {PLACES[name].start}" for name, _ in ENTRIES)
    starts = [0.0 if item.start is None else float(item.start) for item in reals]
    if platform_kind(robot) in HALVES:  # where the pose is followed from at first
        first = next(k for k, item in enumerate(reals) if item.symbol == "P")
        starts[first : first + dof] = [float(x) for x in home_pose(robot)]
    texts = [str(item.start) for item in variables if item.kind == "string"]
    points = _checks(robot, model)
    what = "robot.h: the robot's numbers, and the places of the variables"
    words = {
        "head": comment(robot, what).rstrip(),
        "kind": "#define INVERSE_MODEL\n" if model == "inverse" else "",
        "dof": dof,
        "legs": robot.legs,
        "spindle": int(robot.spindle is not None),
        "halves": int(platform_kind(robot) in HALVES),
        "limbs": "" if actuation(robot) == "rotary" else f"_{actuation(robot)}",
        "pasted": "" if actuation(robot) == "rotary" else f"##_{actuation(robot)}",
        "passive": ("" if standard(robot) else "#define NO_PASSIVE\n")
        + (f"#define BARS_BEHIND {bars_behind(robot)}\n" if platform_kind(robot) in HALVES else ""),
        "joint": "(cosine)" if robot.linear else "atan2(sine, cosine)",
        "joint_change": "(dcosine)"
        if robot.linear
        else "((cosine) * (dsine) - (sine) * (dcosine))",
        "elbow": _elbow(robot),
        "places": ",\n".join(places),
        "reals": len(reals),
        "layout": ",\n".join(layout),
        "count": COUNT,
        "robot": _array(f"real ROBOT[{COUNT}]", packed_parameters(robot)),
        "sign": _array(f"real CONTROLLER_SIGN[{dof}]", robot.controller.sign),
        "offset": _array(f"real CONTROLLER_OFFSET[{dof}]", robot.controller.offset),
        "start": _array(f"real START[{len(reals)}]", starts),
        "table": ",\n".join(f"    {row}" for row in _rows(reals)),
        "strings": len(texts),
        "texts": ",\n".join(f'    "{safe(text)}"' for text in texts),
        "checks": len(points),
        "tolerance": number(CHECK_TOLERANCE),
        "points": ",\n".join(f"    {{ {', '.join(map(number, row))} }}" for row in points),
    }
    return filled("fmu", "robot.h", words)


def _rows(reals: Sequence[Variable]) -> Iterator[str]:
    """The table of variables: name, role, limits, and how many scalars begin here."""
    for place, item in enumerate(reals):
        role = "INPUT" if item.causality == "input" else ROLES.get(item.variability, "OUTPUT")
        least = "-DBL_MAX" if item.least is None else number(item.least)
        most = "DBL_MAX" if item.most is None else number(item.most)
        behind = itertools.takewhile(lambda other: other.place > 0, reals[place + 1 :])
        size = 0 if item.place else 1 + sum(1 for _ in behind)
        yield f'{{ "{item.name}", {role}, {least}, {most}, {size} }}'


#: Of the largest answer: solves and other C libraries' functions lose less than 1e-12 of it.
CHECK_TOLERANCE = 1e-9


def _checks(robot: Robot, model: str) -> FloatArray:
    """Motions and the package's answers (N, 4 dof): the check points of all exports.

    Of the plant q, qd, tau and qdd, of the inverse model p, pd, pdd and tau, with the robot's own
    payload. The plant's friction has the unit's own smoothing.
    """
    own = robot
    if model == "plant":
        own = robot.replace(friction=replace(robot.friction, smoothing=smoothing_of(robot)))
    points = check_points(robot)
    time = np.arange(float(len(points)))
    motion = Motion.from_platform(own, time, points.p, points.pd, points.pdd)
    tau = inverse_dynamics(own, motion)
    if model == "plant":
        return np.hstack([motion.q, motion.qd, tau, motion.qdd]) + 0.0
    return np.hstack([motion.p, motion.pd, motion.pdd, tau]) + 0.0


def _array(head: str, values: Iterable[float]) -> str:
    """An array with its numbers in lines of limited length."""
    lines, line = [], "   "
    for value in values:
        text = number(value)
        if not math.isfinite(value):  # a robot holds finite numbers only
            raise ValueError(f"{head} holds {text}")
        if len(line) + len(text) + 2 > WIDTH:
            lines.append(line)
            line = "   "
        line += f" {text},"
    body = "\n".join([*lines, line])
    return f"static const {head} = {{\n{body}\n}};\n"


# No fast-math: NaN marks what does not exist. No contraction: every processor gives the same bits.
FLAGS = ("-std=c99", "-O2", "-g0", "-shared", "-s", "-fno-math-errno", "-ffp-contract=off")


@dataclass(frozen=True)
class Machine:
    """What a library is made for, and how."""

    name: str
    folders: Mapping[str, str]  # in `binaries`, by version of the standard
    suffix: str
    flags: tuple[str, ...]
    compilers: tuple[str, ...]
    command: tuple[str, ...] = ()  # the compiler that was found


LINUX = Machine(
    "x86-64 Linux",
    {"2.0": "linux64", "3.0": "x86_64-linux"},
    ".so",
    (*FLAGS, "-fPIC", "-fvisibility=hidden"),
    ("gcc", "clang", "cc"),
)
# Static: nothing of the compiler's own libraries is needed beside it. No time stamp: equal sources
# give equal bytes.
WINDOWS = Machine(
    "x86-64 Windows",
    {"2.0": "win64", "3.0": "x86_64-windows"},
    ".dll",
    (*FLAGS, "-static", "-static-libgcc", "-Wl,--no-insert-timestamp"),
    ("x86_64-w64-mingw32-gcc",),
)
FIRST_DATE = (1980, 1, 1, 0, 0, 0)  # of all files in the archive: equal robots give equal bytes


def _machines(options: Options) -> Iterator[Machine]:
    """The machines for which there is a compiler."""
    linux = compiler()
    if linux is not None:
        yield replace(LINUX, command=tuple(linux))
    windows = next(filter(None, map(shutil.which, WINDOWS.compilers)), None)
    if options.windows and windows is not None:
        yield replace(WINDOWS, command=(windows,))


def compiler() -> list[str] | None:
    """The compiler's command: $CC, or gcc, clang, cc; None where there is none for x86-64 Linux."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    asked = shlex.split(os.environ.get("CC", ""))
    if asked:
        found = shutil.which(asked[0])
        if found is None:
            raise InputError("CC in the environment", asked[0], "a compiler that can be run")
        return [found, *asked[1:]]
    for name in LINUX.compilers:
        found = shutil.which(name)
        if found is not None:
            return [found]
    return None


def compiled(
    command: Sequence[str], sources: Mapping[str, str], layer: str, machine: Machine = LINUX
) -> bytes:
    """The shared library of the sources; a failure shows what the compiler said."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources.items():
            (Path(folder) / name).write_text(text, "utf-8")
        library = f"unit{machine.suffix}"
        call = [*command, *machine.flags, "-o", library, layer, "-lm"]
        # Relative names in a folder of its own: its path is not in the library.
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()
            raise DeltadynError(
                f"the FMU's sources do not compile with {shlex.join(command)} "
                f"(exit status {done.returncode}); pass binary=False for sources alone:\n{said}"
            )
        return (Path(folder) / library).read_bytes()


def archive(files: Mapping[str, str | bytes]) -> bytes:
    """A zip file whose bytes depend on its contents alone."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, FIRST_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            target.writestr(entry, files[name])
    return buffer.getvalue()
