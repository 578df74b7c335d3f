"""Units of the axes: one place tells them, and the parameters have them."""

from __future__ import annotations

import numpy as np
import pytest

import deltadyn as dd
from deltadyn.dynamics import regressor
from deltadyn.errors import UnknownNameError
from deltadyn.kinematics.state import State
from deltadyn.motion import adept_cycle
from deltadyn.robot import Robot, load_robot, robot_from_text
from deltadyn.sizing.loads import drive_lines, motion_loads
from deltadyn.units import key_end, on_axis, together

RAILS = """\
deltadyn: 1
name: rails
actuation: linear
geometry: {base_radius_mm: 200, platform_radius_mm: 40, strut_length_mm: 350}
carriage: {mass_kg: [0.6, 0.61, 0.62]}
strut: {mass_g: 40, uniform: true}
platform: {mass_kg: 0.4}
spindle:
  upper: {mass_kg: 0.2, length_mm: 300, uniform: true}
  lower: {mass_kg: 0.2, length_mm: 300, uniform: true}
drives: {ripple: [{order: 60, cos_N: 0.1}]}
friction: {viscous_Ns_m: 3, viscous_Nms_rad: 0.1, offset_N: 1, offset_Nm: 0.2}
"""


@pytest.fixture(scope="module")
def rails() -> Robot:
    return robot_from_text(RAILS)


def test_units_of_the_axes(rails: Robot) -> None:
    assert rails.axis_units("q") == ("m", "m", "m", "rad")
    assert rails.axis_units("tau") == ("N", "N", "N", "N m")
    assert rails.axis_unit("tau") == "N, N m"
    arms = load_robot("example-delta")
    assert arms.axis_units("tau") == ("N m",) * 3
    assert arms.axis_unit("inertia") == "kg m^2"
    with pytest.raises(UnknownNameError, match="quantity of an axis is 'power'"):
        arms.axis_units("power")


def test_units_of_parameters(rails: Robot) -> None:
    state = State.from_platform(rails, [0.01, 0.02, -0.3, 0.1])
    found = regressor(rails, state)
    units = dict(zip(found.names, found.units, strict=True))
    assert (units["A1"], units["G2"], units["m_x3"], units["M_P"]) == ("kg", "kg", "kg", "kg")
    assert (units["Fv1"], units["Fv4"]) == ("N s/m", "N m s/rad")
    assert (units["Fc3"], units["F03"], units["F04"]) == ("N", "N", "N m")
    assert (units["ripple60.cos1"], units["ripple60.cos4"]) == ("N", "N m")
    assert units["I_psi"] == "kg m^2"


def test_units_of_arms_stay() -> None:
    robot = load_robot("example-delta-4")
    found = regressor(robot, State.from_platform(robot, [0.0, 0.0, -0.6, 0.0]))
    units = dict(zip(found.names, found.units, strict=True))
    assert [units[name] for name in ("A", "G", "Fv1", "Fc4")] == [
        "kg m^2", "kg m", "N m s/rad", "N m",
    ]  # fmt: skip
    assert np.isfinite(found.Y).all()


def test_words_of_units() -> None:
    assert on_axis("N m", linear=True) == "N"
    assert on_axis("N m", linear=False) == "N m"
    assert on_axis("W", linear=True) == "W"
    assert together(("N", "N", "N m")) == "N, N m"
    assert [key_end(unit) for unit in ("N m", "kg m^2", "m/s")] == ["Nm", "kgm2", "m_per_s"]


def test_records(rails: Robot) -> None:
    """Only numbers of the axes get another key; a bearing's moment stays in N m."""
    given = {
        "torque_rms_Nm": [1.0],
        "moment_peak_Nm": [2.0],
        "parts": [{"speed_peak_rad_per_s": [3.0], "name": "a"}],
    }
    arms = load_robot("example-delta")
    assert arms.record(given) is given
    found = rails.record(given)
    assert found["torque_rms_N"] == [1.0]
    assert found["moment_peak_Nm"] == [2.0]
    assert found["parts"] == [{"speed_peak_m_per_s": [3.0], "name": "a"}]
    assert found["axis_units"]["tau"] == ["N", "N", "N", "N m"]
    assert set(given) == {"torque_rms_Nm", "moment_peak_Nm", "parts"}


def test_loads_of_a_robot_on_rails() -> None:
    robot = load_robot("kossel-2016")
    found = motion_loads(robot, adept_cycle(robot, cycles_per_minute=20, rate=200))
    record = found.as_dict()
    assert record["drives"]["torque_peak_N"] == found.drives.torque_peak.tolist()
    assert record["axis_units"]["q"] == ["m", "m", "m"]
    assert "N m" not in "\n".join(drive_lines(found))


def test_a_check_of_a_robot_on_rails() -> None:
    numbers = {item.key: item for item in dd.check("kossel-2016").robot.numbers}
    assert numbers["holding_torque_N"].unit == "N"
    assert numbers["rotor_inertia_kg"].unit == "kg"
    assert numbers["adept_torque_rms_N"].name == "force, RMS"


def test_keys_of_results(rails: Robot) -> None:
    arms = load_robot("example-delta")
    assert arms.axis_key("residual_rms", "tau") == "residual_rms_Nm"
    assert rails.axis_key("residual_rms", "tau") == "residual_rms_N"
    assert arms.axis_key("rate", "qd") == "rate_rad_per_s"
    assert rails.axis_key("inertia", "inertia") == "inertia_kg"
