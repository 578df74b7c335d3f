"""Robots whose every number is their own, and how the tests call their function blocks."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from tests.dynamics.factory import full_friction, make_robot

from deltadyn.arrays import FloatArray
from deltadyn.exports.structured_text import Options, files
from deltadyn.robot import Robot
from deltadyn.robot.settings import Controller, Friction

AXES = ("X", "Y", "Z", "Psi")
CONVENTION = ((1.0, -1.0, 1.0, -1.0), (0.1, -0.2, 0.0, 0.4))  # sign, offset
#: Words with a meaning in IEC 61131-3 or in one of the three tools: keywords, types, functions.
RESERVED = """
abs acos action add adr and and_then any any_bit any_int any_num any_real array asin at atan
atan2 begin bit bool by byte cal case concat configuration constant continue cos ctd ctu ctud
date date_and_time delete dint div do dt dword else elsif end_action end_case end_for
end_function end_function_block end_if end_program end_repeat end_struct end_type end_var
end_while eq exit exp expt extends f_edge f_trig false find for from function function_block ge
gt if implements initial_step insert int interface jmp ld le left len limit lint ln log lreal lt
ltime lword max method mid min mod move mul mux ne not of on or or_else persistent pi pointer
private program property protected public r_edge r_trig read_only read_write real reference
repeat replace resource ret retain return right rol ror rs sel shl shr sin single sint sizeof
sqrt sr st step string struct sub super tan task tanh then this time time_of_day to tod tof ton
tp transition true trunc type udint uint ulint union until usint var var_access var_config
var_external var_global var_in_out var_input var_output var_temp while with word wstring
xor xorn
"""


def own_robot(dof: int, friction: Friction | None = None) -> Robot:
    """A robot with unequal limbs, all terms of friction and a controller of its own."""
    sign, offset = (values[:dof] for values in CONVENTION)
    friction = full_friction(dof, passive=(), smoothing=0.05) if friction is None else friction
    return make_robot(dof, False, friction=friction, controller=Controller(sign, offset))


@lru_cache(maxsize=16)
def own_text(robot: Robot, rate: float = 2000.0) -> str:
    """The plain text of a robot's blocks, which are named FB_Own_..."""
    return str(files(robot, Options(name="Own", rate=rate))["Own.st"])


def controller_angles(robot: Robot, q: FloatArray) -> FloatArray:
    """Angles as the controller counts them."""
    angles: FloatArray = np.asarray(robot.controller.sign) * q + np.asarray(robot.controller.offset)
    return angles


def numbered(name: str, values: FloatArray) -> dict[str, float]:
    """Inputs name1, name2, ... of a block."""
    return {f"{name}{k}": value for k, value in enumerate(values.tolist(), start=1)}


def lettered(prefix: str, values: FloatArray) -> dict[str, float]:
    """Inputs X, Y, Z, Psi of a block, with a prefix."""
    return {f"{prefix}{name}": v for name, v in zip(AXES, values.tolist(), strict=False)}
