"""Tables that the READMEs of simulators share."""

from __future__ import annotations

from deltadyn.exports.scenes.scene import Scene
from deltadyn.robot import Robot


def loop_table(scene: Scene) -> str:
    """Which points of which bodies are held together, and where at home."""
    rows = ["| loop | body | point | body | point | at home (m) |", "|---|---|---|---|---|---|"]
    for k, loop in enumerate(scene.loops, start=1):
        at = scene.body(loop.bodies[0]).world.at(loop.points[0])
        place = ", ".join(f"{x:.6f}" for x in at)
        one, two = (
            f"`{body}` | `{site}`" for body, site in zip(loop.bodies, loop.sites, strict=True)
        )
        rows.append(f"| {k} | {one} | {two} | {place} |")
    return "\n".join(rows)


def driven_table(robot: Robot, scene: Scene) -> str:
    """The driven joints: units, home, the controller's sign and offset."""
    rows = ["| joint | unit | effort | home | sign | offset |", "|---|---|---|---|---|---|"]
    driven = [joint for joint in scene.joints if joint.driven]
    own = {joint.name: joint for joint in driven}
    names = [name for name in own if name != "psi"] + [name for name in own if name == "psi"]
    axes = zip(names, robot.controller.sign, robot.controller.offset, strict=True)
    for k, (name, sign, offset) in enumerate(axes):
        q, tau = robot.axis_units("q")[k], robot.axis_units("tau")[k]
        rows.append(f"| `{name}` | {q} | {tau} | {own[name].home:.9g} | {sign:+g} | {offset:.9g} |")
    return "\n".join(rows)


def units_table(robot: Robot) -> str:
    """Units and frame in words."""
    plane = "rails' points of q = 0" if robot.linear else "shoulder axes"
    where = f"Origin in the middle of the base, in the plane of the {plane}, z up."
    return f"Units m, rad, s, kg, N, N m. {where}"
