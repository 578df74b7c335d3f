"""README-fmu.md: how to use the units, in which units and signs, and what they do not do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from deltadyn.exports.common import provenance
from deltadyn.exports.fmu.sources import FLAGS, FOLDERS, safe
from deltadyn.exports.fmu.variables import DEFAULT_SMOOTHING, Variable
from deltadyn.robot import Robot

BINARY = {
    "yes": "Each holds a library for x86-64 Linux in `binaries/{folder}`, and its C sources.",
    "none": "Each holds **C sources alone**: no compiler for x86-64 Linux was found at the export. "
    "Compile them as below, or export again where there is one.",
    "no": "Each holds **C sources alone**, as asked with `binary=False`. Compile them as below.",
}
TEXT = """\
# {title}

{head}

## What is here

| file | what it is |
|---|---|
| `{name}_plant.fmu` | the robot: drive torques in, motion out, integrated inside |
| `{name}_inverse.fmu` | the feedforward model: a motion in, torques out, without memory |

Both are units for co-simulation after FMI {fmi}. {binary}
The sources are C99, need the C library and its mathematics alone, and hold no globals: any number
of instances runs side by side.

## How to call them

```python
import numpy as np
from fmpy import simulate_fmu  # pip install fmpy

t = np.linspace(0.0, 0.2, 201)
rows = [(time, *{torques}) for time in t]
names = ["time", {names}]
torques = np.array(rows, dtype=[(name, float) for name in names])
result = simulate_fmu(
    "{name}_plant.fmu",
    start_values={{"payload_mass": 0.5}},
    input=torques,
    output=["q[1]", "q[2]", "q[3]", "p[3]", "status"],
    stop_time=0.2,
    output_interval=0.001,
)
```

Without a library for your machine:

```sh
fmpy compile {name}_plant.fmu    # with CMake and a C compiler
# or by hand, in the unpacked folder, into binaries/{folder}
gcc {flags} -o {name}_plant.so sources/{layer} -lm
```

## Units, frame, sign and offset

SI units: m, rad, s, kg, N, N m. The origin is at the centre of the base in the plane of the
shoulder axes, z points up, the platform works at negative z. An arm's angle is 0 when it is
horizontal and outward, positive downward. Torques act along increasing angles at the output side
of the gears. `force_x`, `force_y`, `force_z`{moment} act on the platform.

These are deltadyn's own angles and signs. The controller's are q_controller = sign * q + offset and
tau_controller = sign * tau, with sign {sign} and offset {offset} rad: the outputs `controller_q`,
`controller_qd` and, of the inverse model, `controller_tau` are in them. Torques into the plant and
its start angles are deltadyn's own.

## Variables of the plant

{plant}

## Variables of the inverse model

Besides those below it has the plant's loads, its outputs, and its parameters but for `step` and the
start values. `friction.smoothing` may be 0 here, for sign(rate).

{inverse}

## How the plant moves

- Inputs are held from one communication point to the next.
- A communication step is divided into equal steps of Runge-Kutta of order 4. None is longer than
  `step` ({timestep} s unless you set it), nor than 1.5 over the fastest rate of friction about
  rest: stiff friction stays stable.
- Friction's direction is tanh(rate / smoothing): sharp Coulomb friction has no solution at rest.
  {smoothing} An axis at rest under a load below its Coulomb friction creeps slowly.
- `payload_mass` may change at any communication point. Rates stay as they are: the part that is
  gripped has the speed of the platform.

## When it cannot go on

`status`: {meaning}.

A plant that leaves its reach, or comes to struts in one plane (the volume of their directions below
0.001), answers a step with *discard* and a message, and stays at the last good state; the last
successful time says when. The inverse model steps on; the outputs of a motion out of reach answer
*discard* when they are read. A value that is not finite or out of its limits is refused by
*discard*, and the old one stays. Wrong calls give *error* with a message. Start values out of reach
are an *error* at the end of initialization.

## Limits

- Gears are rigid. No torque limit, no end stops, no sensors: put them around the unit.
- Geometry is fixed in the unit; inertia and friction are parameters that may change between steps.
- The elbows point outward, the platform is below them.
- State can be saved, restored and written to bytes, which fit the same unit on the same kind of
  machine. Derivatives of outputs, interpolation of inputs and events are not provided.
"""


def readme(
    robot: Robot,
    name: str,
    fmi: str,
    timestep: float,
    binary: str,
    tables: Mapping[str, Sequence[Variable]],
    layer: str,
) -> str:
    """The text; `binary` is "yes", "none" (no compiler) or "no" (not asked for)."""
    folder, own = FOLDERS[fmi], robot.friction.smoothing
    lines = [safe(line) for line in provenance(robot, "Functional mock-up units of a Delta robot")]
    if own is None:
        used = f"The robot names none: here it is {DEFAULT_SMOOTHING:g} rad/s."
    else:
        used = f"The robot names {own:g} rad/s."
    status = next(item for item in tables["plant"] if item.symbol == "STATUS")
    return TEXT.format(
        title=f"{safe(robot.name)}: functional mock-up units (FMI {fmi})",
        head="  \n".join(lines[1:]),
        name=name,
        fmi=fmi,
        folder=folder,
        binary=BINARY[binary].format(folder=folder),
        torques="[" + ", ".join(["0.0"] * robot.dof) + "]",
        names=", ".join(f'"tau[{i + 1}]"' for i in range(robot.dof)),
        flags=" ".join(FLAGS),
        layer=layer,
        moment=" and `moment_z`" if robot.dof == 4 else "",
        sign=", ".join(f"{value:+g}" for value in robot.controller.sign),
        offset=", ".join(f"{value:g}" for value in robot.controller.offset),
        plant="\n".join(_table(tables["plant"])),
        inverse="\n".join(_table(_own(tables["inverse"], tables["plant"]))),
        timestep=f"{timestep:g}",
        smoothing=used,
        meaning=status.description,
    )


def _own(variables: Sequence[Variable], others: Sequence[Variable]) -> list[Variable]:
    """Those that the others do not have under the same name and causality."""
    known = {(item.name, item.causality) for item in others}
    return [item for item in variables if (item.name, item.causality) not in known]


def _table(variables: Sequence[Variable]) -> Iterator[str]:
    """One row per group of variables that differ by their number alone."""
    yield "| variable | causality | unit | start | what |"
    yield "|---|---|---|---|---|"
    groups: dict[str, list[Variable]] = {}
    for item in variables:
        groups.setdefault(re.sub(r"\[\d+\]$", "", item.name), []).append(item)
    for base, items in groups.items():
        first, last = items[0], items[-1]
        name = base if len(items) == 1 and "[" not in first.name else f"{base}[1..{len(items)}]"
        unit = first.unit if first.unit == last.unit else f"{first.unit}, [4] {last.unit}"
        start = ", ".join(_start(item) for item in items if item.start is not None)
        text = re.sub(r"\b1\b", "i", first.description) if len(items) > 1 else first.description
        yield f"| `{name}` | {first.causality} | {unit} | {start} | {text} |"


def _start(item: Variable) -> str:
    return str(item.start).lower() if isinstance(item.start, bool) else f"{item.start:.6g}"
