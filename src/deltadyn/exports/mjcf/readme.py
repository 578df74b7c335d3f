"""The README beside an exported MuJoCo model."""

from __future__ import annotations

from collections.abc import Sequence

from deltadyn.exports.common import provenance
from deltadyn.exports.mjcf.check import AccelerationError, reference_model
from deltadyn.robot import Robot


def readme(
    robot: Robot,
    name: str,
    timestep: float,
    error: AccelerationError | None,
    left_out: Sequence[str],
) -> str:
    """How to load the model, what is in it, how accurate it is."""
    blocks = [
        _opening(robot, name),
        _joints(robot),
        _accuracy(robot, timestep, error),
        _signs(robot),
        _limits(left_out),
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _opening(robot: Robot, name: str) -> list[str]:
    return [
        f"# {robot.name}: MuJoCo model",
        "",
        "<!--",
        *provenance(robot, "MuJoCo model of a Delta robot with closed loops"),
        "-->",
        "",
        "```python",
        "import mujoco",
        f'model = mujoco.MjModel.from_xml_path("{name}")',
        "data = mujoco.MjData(model)          # starts at home, with closed loops",
        f"data.ctrl[:] = [{', '.join(['0.0'] * robot.dof)}]   # torques in N m",
        "mujoco.mj_step(model, data)",
        'print(data.sensor("p").data, data.sensor("q_theta_1").data)',
        "```",
        "",
        f"To look at it: `python -m mujoco.viewer --mjcf={name}`.",
    ]


def _joints(robot: Robot) -> list[str]:
    lines = [
        "## What is in it",
        "",
        "Units m, rad, s, kg, N m. World frame: origin in the middle of the base, in the plane of",
        "the shoulder axes, z up. Every arm with its strut, the platform on three slides, loops",
        "closed by `connect` constraints at the strut tips"
        + ("." if robot.spindle is None else " and at the top of the telescope."),
        "",
        "| joint | meaning |",
        "|---|---|",
        "| `theta_1..3` | driven: 0 = arm horizontal and outward, positive downward |",
        "| `swing_1..3`, `sway_1..3` | strut against arm about the elbow axis, and out of the "
        "arm's plane |",
        "| `x`, `y`, `z` | platform point |",
    ]
    if robot.spindle is not None:
        lines += [
            "| `psi` | driven: effector about z up |",
            "| `fork`, `cross` | lower universal joint of the telescope |",
            "| `slide` | distance between the telescope's joints |",
        ]
    return [
        *lines,
        "",
        "Motors `torque_theta_1` ...: torque at the output side of the gear, limited to the peak",
        "torque where the robot file has it. The rotor is the joint's `armature`, viscous friction",
        "its `damping`, Coulomb friction its `frictionloss`; joint ranges are the robot's limits.",
        "Sensors: `q_*`, `qd_*`, `tau_*`, platform `p` and `pd`. Keyframe `home`, the same pose as",
        "after a reset. Geoms and the rods, which are tendons without force, are for the eye.",
        "",
        "Set another pose with all joints, or the loops snap shut:",
        "",
        "```python",
        "import deltadyn as dd",
        "from deltadyn.exports.mjcf.pose import joint_values",
        f"robot = dd.load_robot({robot.name!r})   # or the path of its file",
        f"q = dd.inverse_kinematics(robot, [{', '.join(_somewhere(robot))}])",
        "for name, (value, rate) in joint_values(robot, q).items():",
        "    data.joint(name).qpos, data.joint(name).qvel = value, rate",
        "```",
    ]


def _somewhere(robot: Robot) -> list[str]:
    space = robot.limits.workspace
    z = -0.8 if space is None else (space.z_min + space.z_max) / 2
    return ["0.1", "0.0", f"{z:g}", "0.0"][: robot.dof]


def _accuracy(robot: Robot, timestep: float, error: AccelerationError | None) -> list[str]:
    model = reference_model(robot)
    if error is None:
        measured = "Not measured at this export: mujoco is not installed."
    else:
        measured = (
            f"Measured at this export over {error.states} random states and torques without "
            f"friction, against the model '{error.reference}': largest error of the acceleration "
            f"{100 * error.largest:.2g} %, median {100 * error.median:.2g} %."
        )
    lines = [
        "## Accuracy",
        "",
        "MuJoCo's constraints are soft: a share of the constraint force is lost. With its default",
        "settings the acceleration is wrong by more than 100 %. Here solimp is 0.9999, the largest",
        f"that MuJoCo takes, solref two steps of {timestep:g} s, the solver Newton to 1e-14, and",
        "the tips have massless bodies at the elbows, which lowers MuJoCo's estimate of their",
        "mobility and with it the softness.",
        measured,
        "Keep these settings, and change the time step together with `solref`: export again.",
    ]
    if model == "rigid":
        lines += [
            "This robot has bodies given by ten parameters. They are in the model as they are, so",
            "the reference is the model 'rigid'; 'exact' takes thin rods instead.",
        ]
    return lines


def _signs(robot: Robot) -> list[str]:
    rows = [
        f"| {axis} | {robot.controller.sign[i]:+g} | {robot.controller.offset[i]:.9g} |"
        for i, axis in enumerate(robot.axis_names())
    ]
    return [
        "## Sign and offset",
        "",
        "Joints and motors count as the robot file does, not as its controller: motors have gear",
        "+1. For a controller's own numbers: q_controller = sign * q + offset (rad),",
        "torque_controller = sign * torque.",
        "",
        "| axis | sign | offset |",
        "|---|---|---|",
        *rows,
    ]


def _limits(left_out: Sequence[str]) -> list[str]:
    lines = [
        "## Limits",
        "",
        "- Contacts are switched off (`<flag contact>`), and no geom collides.",
        "- Gears are rigid, motors give their torque at once.",
        "- Both assembly modes of the loops satisfy the constraints: start near home.",
    ]
    return [*lines, *(f"- Not in the model: {item}." for item in left_out)]
