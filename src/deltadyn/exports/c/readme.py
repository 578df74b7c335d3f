"""README of target `c`: how to call it, in which units, and what it does not do."""

from __future__ import annotations

from deltadyn.exports.c.numbers import Precision
from deltadyn.exports.common import commented, identifier, provenance
from deltadyn.exports.payload_numbers import PayloadNumbers
from deltadyn.robot import Robot

TEXT = """\
# {name}: model and payload estimator in C

{head}

| file | what |
|---|---|
| `{file}.h` | what you include: types, functions, status codes |
| `{file}.c` | C99 for `{real}`; no allocation, no global variables, no library but `math.h` |
| `example.c` | a program that prints torques and weighs a payload |

## Build

```
cc -std=c99 -O2 example.c {file}.c -lm -o example && ./example
```

The file compiles without a warning with `-Wall -Wextra -Werror -pedantic`. All data in it are
`static const`, so they may lie in read-only memory; every state is yours. All functions may be
called from several threads at once, with one estimator's state per thread. Do not use
`-ffast-math`: NaN marks what cannot be reached.

## Call

```c
#include "{file}.h"

{id}_real p[{dof}] = {{ {place} }}, pd[{dof}] = {{ 0 }}, pdd[{dof}] = {{ 0 }}, tau[{dof}];
if ({id}_feedforward(p, pd, pdd, {ID}_OWN_PAYLOAD, tau) == {ID}_OK)
    send_feedforward(tau);
```

| function | from | gives |
|---|---|---|
| `{id}_inverse_kinematics` | p | q |
| `{id}_forward_kinematics` | q | p |
| `{id}_joint_rates` | p, pd, pdd | q, qd, qdd |
| `{id}_platform_rates` | q, qd, qdd | p, pd, pdd |
| `{id}_feedforward` | p, pd, pdd, payload | tau, with friction |
| `{id}_feedforward_joints` | q, qd, qdd, payload | tau, with friction |
| `{id}_gravity_torque` | q, payload | tau at rest, without friction |
| `{id}_mass_matrix` | q, payload | M, row after row |
| `{id}_forward_dynamics` | q, qd, tau, payload | qdd |
| `{id}_payload_init`, `{id}_payload_update` | samples | mass, deviation, event |

Units are m, rad, s, kg, N m. The frame lies in the middle of the base, in the plane of the shoulder
axes, z up; the platform works at negative z{psi}. Elbows are outward, the platform is below them.
Joint angles and torques are those of the controller, at the output side of the gears:

{axes}

`payload` is the mass in kg at the payload's offset ({offset} m) and replaces that of the robot
file, {own:g} kg, which is `{ID}_OWN_PAYLOAD`. The estimator's mass may go in as it is.

## Status

Every function returns a status. Where it is not `{ID}_OK`, outputs keep what they held: a
controller that ignores a failure goes on with its last values, so look at it.

| status | when |
|---|---|
| 0 `OK` | outputs are written, and finite |
| 1 `UNREACHABLE` | no arm angle, or no platform point, closes the loop |
| 2 `SINGULAR` | arm and strut in line, struts in one plane, elbows in line, spindle horizontal |
| 3 `NOT_FINITE` | an input is NaN or infinite |
| 4 `RANGE` | an input is above {largest:g} in its unit, or the result too large |
| 5 `UNSETTLED` | forward dynamics: losses of the gears without a consistent direction |
| 6 `NOT_READY` | payload: `init` was not called |
| 7 `PATTERN` | payload: qd or qdd given in some samples only, or qdd without qd |
| 8 `JUMPED` | payload: an arm's angle moved more than {reach:g} rad since the last sample |
| 9 `RESTARTED` | payload: {patience} samples stayed where they had jumped to; begun anew there |

No input raises a floating-point exception (invalid operation, division by zero, overflow), so that
nothing traps on controllers that have them enabled. With clang add there
`-ffp-exception-behavior=maytrap`; without it clang may compute what the program would not.

## Payload estimator

```c
static {id}_payload weigher; /* about {state} bytes */
{id}_payload_result seen;
{id}_payload_init(&weigher);
/* at every sample, {rate:g} times a second: */
{id}_payload_update(&weigher, q, NULL, NULL, tau, -1, &seen);
```

Angles and torques are the measured ones. `NULL` for qd and qdd takes them from the angles, through
the same filter as the torques; give your own only if they are better than that. `holding` is the
gripper's signal (1 or 0), or -1. `seen.event` is 1 for a pick, 2 for a release, 3 for a lost grip,
in the sample in which it became known, and `event_age` says how long ago it was. `std` is infinite
while nothing is known of a load, and that of the zero on an empty robot.

It is `deltadyn.PayloadEstimator` with the same numbers ({noise}):

| number | value |
|---|---|
| samples per second | {rate:g} |
| samples per residual | {step} |
| delay of both filters | {delay:.1f} ms |
| deviations that a change must pass | {limit:.2f} |
| model errors: share of the mass, zero | {relative:g}, {zero:g} kg |
| tare, taken off | {tare:g} kg |
| events | {events} |

There are no time stamps: call it once per sample. For up to ten missing samples give samples on the
straight line between their neighbours; after a longer pause call `init`. One call in {step}
evaluates the model, and another one searches for events, so that no call carries all the work.

## Limits

- The exact model with thin struts, the drives' friction{passive}. Elastic gears are not in it.
- Sticking is not modelled: at rest, sharp Coulomb friction is 0 in the torque.
- Elbows inward and a platform above the elbows are not offered.
{single}"""

FLOAT = """\
- In single precision torques are good to about 1e-6 of the largest, and nearer than 1e-3 of its
  length to a singular pose the robot counts as singular.
"""


def readme(robot: Robot, precision: Precision, numbers: PayloadNumbers, name: str) -> str:
    """The text of README-c.md."""
    own, dof = identifier(robot), robot.dof
    return TEXT.format(
        name=robot.name,
        head=commented(provenance(robot, "model and payload estimator in C99"), "<!--", "", "-->"),
        file=name,
        id=own,
        ID=own.upper(),
        real=precision.real,
        dof=dof,
        place=", ".join(f"{x:g}" for x in middle(robot)),
        psi=", and p[3] is psi, the effector's turn about z" if dof == 4 else "",
        axes=_axes(robot),
        offset=", ".join(f"{x:g}" for x in robot.payload.offset),
        own=robot.payload.mass,
        largest=precision.largest,
        reach=numbers.reach,
        patience=numbers.patience,
        state=state_bytes(numbers, precision),
        rate=numbers.rate,
        noise="of its noise model and rate",
        step=numbers.step,
        delay=1e3 * numbers.delay,
        limit=numbers.limit,
        relative=numbers.relative,
        zero=numbers.zero,
        tare=numbers.tare,
        events="searched" if numbers.events else "not searched: all samples are one load",
        passive=" and that of passive joints" if robot.friction.passive else "",
        single=FLOAT if precision.real == "float" else "",
    )


def middle(robot: Robot) -> list[float]:
    """A point (dof,) in the middle of the robot's reach, in m and rad."""
    g = robot.geometry
    depth = 0.5 * (min(g.arm_length) + min(g.strut_length))
    return [0.0, 0.0, -round(depth, 3), 0.0][: robot.dof]


def state_bytes(numbers: PayloadNumbers, precision: Precision) -> int:
    """Size of the estimator's state, but for padding, with 4-byte int, 8-byte long and pointers."""
    n, size = numbers.dof, 8 if precision.real == "double" else 4
    width = 3 * n + 1
    reals = 3 + 4 * n * (numbers.stages + 1) + n * numbers.stages + width
    reals += width * numbers.narrow_stages + 4 * n + 4 + 3 * numbers.memory
    return size * reals + 4 * (10 + 2 + 6 + 2) + 2 * 8


def _axes(robot: Robot) -> str:
    rows = ["| axis | q_controller | tau_controller |", "|---|---|---|"]
    pairs = zip(robot.controller.sign, robot.controller.offset, strict=True)
    for axis, (sign, offset) in enumerate(pairs, start=1):
        mark = "-" if sign < 0 else ""
        shift = f" {'-' if offset < 0 else '+'} {abs(offset):g} rad" if offset else ""
        rows.append(f"| {axis} | {mark}q{shift} | {mark}tau |")
    meaning = "q = 0 is an arm horizontal and outward, positive is downward"
    if robot.dof == 4:
        meaning += "; axis 4 is psi"
    return "\n".join([*rows, "", f"Here {meaning}."])
