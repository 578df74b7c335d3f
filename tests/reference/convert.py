"""From the plain numbers of the reference engines to a robot of the library."""

from __future__ import annotations

import numpy as np
from tests.reference.engines import EngineBody, EngineRobot

from deltadyn.robot import Robot
from deltadyn.robot.bodies import (
    Arm,
    Effector,
    Geometry,
    Payload,
    Platform,
    Rod,
    Spindle,
    Strut,
    TenParameters,
)
from deltadyn.robot.settings import Drives

RODS = 2  # an engine's strut is the pair as one body; halves of its numbers are exact


def to_robot(engine: EngineRobot, *, thin: bool) -> Robot:
    """The same robot in the library's own terms.

    `thin` describes struts and telescope by the few numbers of a thin rod; without it they carry
    their ten parameters. The engine's payload is a point: part of the effector's I_zz, which turns
    with it, is given to the payload instead, so that its own inertia counts in every comparison.
    """
    geometry = Geometry(
        engine.base_radius,
        engine.platform_radius,
        engine.arm_length,
        engine.strut_length,
        engine.azimuth,
    )
    arms = [
        Arm(body.mass, body.com[0], body.inertia_com[1, 1], com_offset=body.com[2])
        for body in engine.arms
    ]
    lengths = zip(engine.struts, engine.strut_length, strict=True)
    struts = [_thin_strut(*pair) if thin else _any_strut(*pair) for pair in lengths]
    spindle, effector, turning = None, Effector(), 0.0
    if engine.spindle is not None:
        upper, lower = engine.spindle.upper, engine.spindle.lower
        spindle = Spindle(
            _thin_rod(upper) if thin else Rod.from_ten(ten_parameters(upper)),
            _thin_rod(lower) if thin else Rod.from_ten(ten_parameters(lower)),
            engine.spindle.z_upper,
            engine.spindle.z_lower,
        )
        body = engine.spindle.effector
        turning = float(body.inertia_com[2, 2]) / 4
        com = (float(body.com[0]), float(body.com[1]), float(body.com[2]))
        effector = Effector(body.mass, com, 3 * turning)
    return Robot(
        name="of the engines",
        geometry=geometry,
        arms=(arms[0], arms[1], arms[2]),
        struts=(struts[0], struts[1], struts[2]),
        platform=Platform(engine.platform_mass),
        spindle=spindle,
        effector=effector,
        payload=Payload(engine.payload_mass, engine.payload_offset, turning),
        drives=Drives(rotor_inertia=engine.rotor_inertia),
        gravity=engine.gravity,
    )


def ten_parameters(body: EngineBody, share: float = 1.0) -> TenParameters:
    """Mass, first moment and inertia about the frame's origin: I + m (|c|^2 1 - c c^T)."""
    c = body.com
    I = share * (body.inertia_com + body.mass * (c @ c * np.eye(3) - np.outer(c, c)))
    h = share * body.mass * c
    return TenParameters(
        share * body.mass,
        (h[0], h[1], h[2]),
        (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[1, 2], I[0, 2]),
    )


def _thin_strut(body: EngineBody, length: float) -> Strut:
    transverse = body.inertia_com[1, 1]
    return Strut(body.mass / RODS, body.com[0] / length, transverse / RODS, RODS)


def _any_strut(body: EngineBody, length: float) -> Strut:
    return Strut.from_ten(ten_parameters(body, 1 / RODS), length, RODS)


def _thin_rod(body: EngineBody) -> Rod:
    transverse, axial = body.inertia_com[0, 0], body.inertia_com[2, 2]
    return Rod(body.mass, abs(body.com[2]), transverse, axial)
