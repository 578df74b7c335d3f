"""Robot files: units, shortcuts and sources are read; what is saved is read back equal."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.family import random_member
from tests.reference.family.convert import to_robot
from tests.reference.family.draw import KINDS as FAMILY

from deltadyn.errors import RobotFileError
from deltadyn.robot import STANDARD_GRAVITY, Robot
from deltadyn.robot.bodies import (
    Arm,
    ArticulatedPlatform,
    Carriage,
    Effector,
    Geometry,
    HelicalPlatform,
    Payload,
    PlanarPlatform,
    Platform,
    RailGeometry,
    Rod,
    Spindle,
    Strut,
    TenParameters,
)
from deltadyn.robot.fields import OF_HALVES, SECTIONS, TEN, TOP, RobotKind, sections
from deltadyn.robot.file import load_robot, robot_from_text, robot_names, robot_text, save_robot
from deltadyn.robot.settings import (
    LIMB_JOINTS,
    PASSIVE_JOINTS,
    Controller,
    Drives,
    Eccentricity,
    Friction,
    GrayBox,
    Limits,
    PassiveFriction,
    Ripple,
    Sensors,
    Source,
    Workspace,
)
from deltadyn.units import KINDS

SMALL = """\
deltadyn: 1
name: small
geometry: {base_radius_mm: 200, platform_radius_cm: 5, arm_length_m: 0.3, strut_length_mm: 1106}
arm: {mass_g: 980, com_mm: 120, inertia_kgcm2: 80}
strut: {mass_kg: 0.12, com_fraction: 0.5, inertia_gm2: 4.9}
platform: {mass_kg: 0.5}
"""


def small(old: str = "", new: str = "") -> Robot:
    assert old in SMALL
    return robot_from_text(SMALL.replace(old, new, 1))


def test_units_are_converted_without_loss() -> None:
    robot = small()
    assert robot.geometry.strut_length == (1.106,) * 3
    assert robot.geometry.platform_radius == (0.05,) * 3
    assert robot.arms[0] == Arm(0.98, 0.12, 0.008)
    assert robot.struts[0].inertia == 0.0049
    assert robot.gravity == STANDARD_GRAVITY
    assert robot.geometry.azimuth == (0.0, math.radians(120), math.radians(240))
    assert (robot.dof, robot.name, robot.description) == (3, "small", "")


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("rate_rpm: 60", 2 * math.pi),
        ("rate_deg_s: 180", math.pi),
        ("rate_rad_s: [1, 2, 3]", (1.0, 2.0, 3.0)),
        ("acceleration_deg_s2: 90", math.pi / 2),
        ("platform_speed_mm_s: 5000", 5.0),
        ("platform_acceleration_m_s2: 1e2", 100.0),
        ("ball_joint_angle_deg: 45", math.pi / 4),
        ("strut_force_N: 1_000", 1000.0),
        ("torque_peak_Nm: 010", 10.0),
        ("cycles_per_min: 1.5e+2", 150.0),
    ],
)
def test_every_way_to_write_a_number(limit: str, expected: float | tuple[float, ...]) -> None:
    robot = robot_from_text(SMALL + f"limits: {{{limit}}}\n")
    name = limit.partition(":")[0]
    field = next(field for field in vars(robot.limits) if name.startswith(f"{field}_"))
    value = getattr(robot.limits, field)
    if isinstance(value, tuple) and not isinstance(expected, tuple):
        expected = (expected,) * 3
    assert value == pytest.approx(expected, rel=1e-15)


def test_shortcuts_of_the_arm() -> None:
    uniform = small("com_mm: 120, inertia_kgcm2: 80", "uniform: true").arms[0]
    assert uniform == Arm(0.98, 0.15, 0.98 * 0.3**2 / 12)
    axis = small("inertia_kgcm2: 80", "axis_inertia_kgm2: 0.03, com_offset_mm: 50").rotary_arms[0]
    assert axis.axis_inertia == pytest.approx(0.03, rel=1e-15)
    point = small(
        "mass_g: 980, com_mm: 120, inertia_kgcm2: 80",
        "mass_kg: 1, com_m: 0.1, axis_inertia_kgm2: 0.01",
    )
    assert point.rotary_arms[0].inertia == 0.0


def test_shortcuts_of_the_strut() -> None:
    uniform = small("com_fraction: 0.5, inertia_gm2: 4.9", "uniform: true, rods: 1").struts[0]
    assert uniform == Strut.uniform(0.12, 1.106, rods=1)
    com = small("com_fraction: 0.5", "com_mm: 553").struts[0]
    assert com.com_fraction == 0.5
    ten = TenParameters(0.278, (0.104, 0.0, 0.0), (0.024611, 0.114, 0.116, 0.0, 0.0, 0.0))
    text = (
        "ten: {mass_kg: 0.278, first_moment_kgm: [0.104, 0, 0], "
        "inertia_kgm2: [0.024611, 0.114, 0.116, 0, 0, 0]}"
    )
    robot = small("mass_kg: 0.12, com_fraction: 0.5, inertia_gm2: 4.9", text)
    assert robot.struts[0] == Strut.from_ten(ten, 1.106)


def test_values_per_arm() -> None:
    robot = small("mass_g: 980, com_mm: 120", "mass_g: [980, 981, 982], com_mm: 120")
    assert [arm.mass for arm in robot.arms] == [0.98, 0.981, 0.982]
    assert not robot.equal_limbs
    three = ", ".join(f"{{mass_kg: {mass}, uniform: true}}" for mass in (1, 2, 3))
    listed = small("{mass_g: 980, com_mm: 120, inertia_kgcm2: 80}", f"[{three}]")
    assert [arm.mass for arm in listed.arms] == [1.0, 2.0, 3.0]


def test_sources_stand_under_the_path_of_the_value() -> None:
    text = SMALL.replace("mass_g: 980", 'mass_g: {value: 980, source: "a scale"}')
    text = text.replace(
        "com_mm: 120, inertia_kgcm2: 80", "uniform: {value: true, assumed: true, source: no data}"
    )
    text += (
        "limits: {workspace: {radius_m: {value: 1, source: x}, z_min_m: -1, z_max_m: {value: 0}}}\n"
    )
    text += "sources: {anything: {source: a remark, assumed: false}}\n"
    assert robot_from_text(text).sources == {
        "arm.mass": Source("a scale"),
        "arm.com": Source("no data", assumed=True),
        "arm.inertia": Source("no data", assumed=True),
        "limits.workspace.radius": Source("x"),
        "anything": Source("a remark"),
    }


@pytest.mark.parametrize("name", robot_names())
def test_a_catalogue_robot_comes_back_equal(name: str, tmp_path: Path) -> None:
    robot = load_robot(name)
    path = tmp_path / "mine.yaml"
    robot.save(path)
    again = load_robot(path)
    assert again == robot
    assert again.sources == robot.sources
    assert again.description == robot.description
    assert robot_text(again) == path.read_text("utf-8")


def test_a_saved_file_is_readable(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    load_robot("abb-irb360-6-1600").save(path)
    text = path.read_text("utf-8")
    top = [line.partition(":")[0] for line in text.splitlines() if line[:1].isalpha()]
    assert top == [
        "deltadyn", "name", "description", "gravity_m_s2", "geometry", "arm", "strut", "platform",
        "spindle", "drives", "friction", "limits", "controller",
    ]  # fmt: skip
    assert "&" not in text.replace("friction and", "")
    assert "!!" not in text
    assert "azimuth_deg:" in text
    assert "[-40, -40, -40, -360]" in text
    data = yaml.safe_load(text)  # another YAML reader finds numbers, not texts
    inertia = data["spindle"]["upper"]["ten"]["inertia_kgm2"]["value"]
    assert inertia == [0.148, 0.148, 2.826e-6, 0, 0, 0]
    assert all(isinstance(number, int | float) for number in inertia)


def test_angles_are_in_degrees_only_where_that_is_exact() -> None:
    exact = small().replace(controller=Controller(offset=math.radians(-12.5)))
    assert "offset_deg: -12.5" in robot_text(exact)
    other = small().replace(controller=Controller(offset=(0.1, 0.2, math.nextafter(0.5, 1.0))))
    assert "offset_rad: [0.1, 0.2, 0.5000000000000001]" in robot_text(other)


def test_struts_that_differ_are_written_one_by_one() -> None:
    ten = TenParameters(0.3, (0.15, 0.0, 0.001), (0.01, 0.2, 0.2, 0.0, 0.001, 0.0))
    robot = small()
    thin, thick = robot.struts[0], Strut.from_ten(ten, 1.106)
    mixed = robot.replace(struts=(thin, thick, Strut(0.3, 0.4, 0.01, 2, ten)))
    text = robot_text(mixed)
    assert text.count("- rods: 2") == 3
    assert text.count("com_fraction") == 2  # the second follows from its ten parameters
    assert robot_from_text(text) == mixed


def test_saving_replaces_a_file_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("old", "utf-8")
    path.chmod(0o640)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RobotFileError, match="cannot be written: No space left") as caught:
            small().save(path)
    assert caught.value.path == str(path)
    assert path.read_text("utf-8") == "old"
    assert os.listdir(tmp_path) == ["mine.yaml"]
    small().save(path)
    assert load_robot(path) == small()
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["mine.yaml"]


def test_saving_follows_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.yaml", tmp_path / "link.yaml"
    link.symlink_to(target)
    small().save(str(link))
    assert link.is_symlink()
    assert load_robot(target) == small()


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none" / "mine.yaml"):
        with pytest.raises(RobotFileError, match="cannot be written"):
            small().save(path)
    assert os.listdir(tmp_path) == []


def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("name: Größe".encode("latin-1"))
    large = tmp_path / "log.csv"
    large.write_bytes(b"0,1\n" * 300_000)
    for path, message in (
        (tmp_path / "none.yaml", "does not exist"),
        (tmp_path, "is a folder"),
        (latin, "is not a text in UTF-8"),
        (large, "is larger than 1000000 bytes"),
        (latin / "inside.yaml", "cannot be read: Not a directory"),
    ):
        with pytest.raises(RobotFileError, match=message) as caught:
            load_robot(path)
        assert caught.value.path == str(path)
        with pytest.raises(RobotFileError, match=message):
            load_robot(str(path))


def test_a_file_with_a_byte_order_mark_or_windows_lines(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
    assert load_robot(path) == small()


# Random robots.

SIZES = st.floats(1e-3, 10.0)
SIGNED = st.floats(-10.0, 10.0)
NONNEGATIVE = st.floats(0.0, 10.0)
TEXTS = st.text(min_size=1, max_size=30).filter(lambda text: bool(text.strip()))


def per(count: int, values: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    return st.one_of(values, st.tuples(*[values] * count))


@st.composite
def tens(draw: st.DrawFn, axis: int, low: float, high: float) -> TenParameters:
    """The parameters of some points of mass; along `axis` all lie between low and high."""
    count = draw(st.integers(1, 5))
    masses = np.array(draw(st.lists(st.floats(0.1, 2.0), min_size=count, max_size=count)))
    seed = draw(st.integers(0, 2**32 - 1))
    points = np.random.default_rng(seed).uniform(-0.1, 0.1, (count, 3))
    points[:, axis] = low + (high - low) * (points[:, axis] + 0.1) / 0.2
    moments = np.einsum("n,ni,nj->ij", masses, points, points)
    tensor = np.trace(moments) * np.eye(3) - moments
    values = [float(tensor[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))]
    first = [float(value) for value in masses @ points]
    return TenParameters(float(masses.sum()), tuple(first), tuple(values))  # type: ignore[arg-type]


@st.composite
def struts(draw: st.DrawFn, length: float) -> Strut:
    rods = draw(st.sampled_from([1, 2]))
    if draw(st.booleans()):
        return Strut.from_ten(draw(tens(0, 0.05 * length, 0.95 * length)), length, rods)
    mass, fraction = draw(NONNEGATIVE), draw(st.floats(0.0, 1.0))
    most = mass * fraction * (1 - fraction) * length**2
    return Strut(mass, fraction, draw(st.floats(0.0, 1.0)) * most, rods)


@st.composite
def rods(draw: st.DrawFn, sign: int) -> Rod:
    length = draw(st.none() | SIZES)
    if draw(st.booleans()):
        ends = (0.1, 0.9) if sign > 0 else (-0.9, -0.1)
        return Rod.from_ten(draw(tens(2, *ends)), length)
    mass = draw(NONNEGATIVE)
    inertia = draw(NONNEGATIVE) if mass > 0 else 0.0
    return Rod(mass, draw(NONNEGATIVE), inertia, draw(st.floats(0, 2)) * inertia, length)


@st.composite
def frictions(draw: st.DrawFn, dof: int, joints: tuple[str, ...]) -> Friction:
    some = st.lists(st.sampled_from(joints), unique=True, max_size=3) if joints else st.just([])
    passive = tuple(
        PassiveFriction(joint, draw(NONNEGATIVE), draw(NONNEGATIVE)) for joint in draw(some)
    )
    stribeck, thinning, motor = (draw(st.booleans()) for _ in range(3))
    share = per(dof, st.floats(0.0, 0.9))
    return Friction(
        viscous=draw(per(dof, NONNEGATIVE)),
        coulomb=draw(per(dof, NONNEGATIVE)),
        coulomb_negative=draw(st.none() | per(dof, NONNEGATIVE)),
        stribeck=draw(per(dof, NONNEGATIVE)) if stribeck else None,
        stribeck_velocity=draw(per(dof, SIZES)) if stribeck else None,
        offset=draw(st.none() | per(dof, SIGNED)),
        thinning=draw(per(dof, NONNEGATIVE)) if thinning else None,
        thinning_velocity=draw(per(dof, SIZES)) if thinning else None,
        load=None if motor else draw(st.none() | share),
        motor_load=draw(share) if motor else None,
        smoothing=draw(st.none() | SIZES),
        passive=passive,
    )


@st.composite
def ripples(draw: st.DrawFn, dof: int) -> tuple[Ripple, ...]:
    orders = st.lists(st.sampled_from([0.5, 1.0, 2.5, 64.0, 1e-3]), unique=True, max_size=4)
    return tuple(
        Ripple(order, draw(per(dof, SIGNED)), draw(per(dof, SIGNED))) for order in draw(orders)
    )


@st.composite
def eccentricities(draw: st.DrawFn, dof: int) -> tuple[Eccentricity, ...]:
    orders = st.lists(st.sampled_from([0.5, 1.0, 2.5, 64.0]), unique=True, max_size=4)
    small = per(dof, st.floats(-1e-3, 1e-3))
    return tuple(Eccentricity(order, draw(small), draw(small)) for order in draw(orders))


@st.composite
def limits(draw: st.DrawFn, dof: int) -> Limits:
    workspace = st.builds(Workspace, SIZES, st.floats(-10, -5), st.floats(-4, 5))
    return Limits(
        angle_min=draw(st.none() | per(dof, st.floats(-10, -0.1))),
        angle_max=draw(st.none() | per(dof, st.floats(0.0, 10))),
        rate=draw(st.none() | per(dof, st.sampled_from([math.radians(600), 1.5, 1e-7]))),
        acceleration=draw(st.none() | per(dof, st.floats(1e-300, 1e300))),
        torque_peak=draw(st.none() | per(dof, SIZES)),
        ball_joint_angle=draw(st.none() | st.floats(0.1, 1.5)),
        workspace=draw(st.none() | workspace),
        payload=draw(st.none() | SIZES),
    )


PATHS = (
    "gravity", "geometry.base_radius", "geometry.azimuth", "arm.mass", "arm.com_offset",
    "arm[1].com", "strut.rods", "strut[0].mass", "strut.ten.mass", "strut[2].ten.inertia",
    "spindle.upper.mass", "spindle.lower.ten.first_moment", "drives.rotor_side", "limits.rate",
    "payload.offset", "friction.passive.elbow_sway.viscous", "controller.sign", "gray_box.rho2",
    "drives.ripple[0].cos", "drives.ripple[1].order", "sensors.torque_ratio",
    "actuation", "carriage.mass", "carriage[1].counterweight", "geometry.rail_pitch", "drives.lead",
    "geometry.axis_yaw", "limits.rate[3]", "drives.rotor_inertia", "drives.rotor_inertia[3]",
    "friction.viscous[3]", "drives.ripple[0].cos[3]", "controller.offset[3]",
    "platform.kind", "platform.mass", "platform.half_mass", "platform.bar_length", "platform.phi0",
    "platform.bar_com", "platform.lead", "platform.tool_fraction", "arm[3].mass",
    "strut[3].inertia",
)  # fmt: skip


@st.composite
def settings(draw: st.DrawFn, kind: RobotKind) -> dict[str, Any]:
    """What a robot of a kind has beside geometry and bodies."""
    dof, legs = kind.dof, kind.legs
    sides = st.sampled_from(["motor_side", "output_side"])
    source = st.builds(Source, TEXTS, st.booleans())
    travel = st.fixed_dictionaries(
        {draw(st.sampled_from(["lead", "pulley_radius"])): per(legs, SIZES)}
    )
    joints = () if kind.linear else PASSIVE_JOINTS if kind.spindle else LIMB_JOINTS
    return {
        "name": draw(TEXTS.filter(str.isprintable)),  # one line without control characters
        "description": draw(st.just("") | TEXTS),
        "drives": Drives(
            draw(per(dof, SIZES)),
            draw(per(dof, NONNEGATIVE)),
            draw(sides),
            draw(ripples(dof)),
            *draw(st.just(()) | st.tuples(per(dof, SIZES), st.none() | per(dof, NONNEGATIVE))),
            **(draw(travel) if kind.linear else {}),
        ),
        "sensors": Sensors(draw(per(dof, SIZES)), draw(eccentricities(dof))),
        "friction": draw(frictions(dof, joints)),
        "limits": draw(limits(dof)),
        "controller": Controller(
            draw(per(dof, st.sampled_from([1.0, -1.0]))), draw(per(dof, SIGNED))
        ),
        "gray_box": GrayBox(draw(SIZES), draw(SIGNED)),
        "gravity": draw(NONNEGATIVE),
        "sources": draw(st.dictionaries(st.sampled_from(PATHS) | TEXTS, source, max_size=8)),
    }


@st.composite
def robots(draw: st.DrawFn, linear: bool = False) -> Robot:
    kind = RobotKind(linear, spindle=draw(st.booleans()))
    angles = st.one_of(
        st.just((0.0, 120.0, 240.0)),
        st.tuples(st.floats(0, 90), st.floats(100, 200), st.floats(210, 350)),
    )
    azimuth = [math.radians(angle) for angle in draw(angles)]
    spacing = draw(st.none() | SIZES)
    turned = per(3, st.just(0.0) | st.floats(-0.2, 0.2) | st.just(math.radians(12.5)))
    aside = per(3, st.just(0.0) | st.floats(-0.2, 0.2))
    if linear:
        geometry: Geometry | RailGeometry = RailGeometry(
            draw(per(3, st.floats(0.2, 0.5))),
            draw(per(3, st.floats(0.0, 0.15))),  # rails on the axis itself would coincide
            draw(per(3, st.floats(0.8, 2.0))),
            azimuth,
            spacing,
            *(draw(values) for values in (aside, aside, turned, turned)),
        )
        arm: st.SearchStrategy[Any] = st.builds(Carriage, NONNEGATIVE, st.just(0.0) | NONNEGATIVE)
    else:
        geometry = Geometry(
            draw(per(3, st.floats(0.0, 0.5))),
            draw(per(3, st.floats(0.0, 0.5))),
            draw(per(3, st.floats(0.1, 1.0))),
            draw(per(3, st.floats(0.5, 2.0))),
            azimuth,
            spacing,
            *(draw(values) for values in (aside, aside, turned, turned)),
        )
        arm = st.builds(
            Arm, NONNEGATIVE, SIGNED, NONNEGATIVE, st.just(0.0) | SIGNED, st.just(0.0) | NONNEGATIVE
        )
    strut = st.tuples(*(struts(length) for length in geometry.strut_length))
    triple = st.tuples(SIGNED, SIGNED, SIGNED)
    spindle = st.builds(Spindle, rods(1), rods(-1), SIGNED, SIGNED)
    return Robot(
        geometry=geometry,
        arms=draw(st.tuples(arm, arm, arm) | arm.map(lambda one: (one, one, one))),
        struts=draw(st.one_of(strut, struts(min(geometry.strut_length)))),
        platform=Platform(draw(NONNEGATIVE)),
        spindle=draw(spindle) if kind.spindle else None,
        effector=draw(st.builds(Effector) | st.builds(Effector, NONNEGATIVE, triple, NONNEGATIVE)),
        payload=draw(st.builds(Payload) | st.builds(Payload, NONNEGATIVE, triple, NONNEGATIVE)),
        **draw(settings(kind)),
    )


@st.composite
def members(draw: st.DrawFn) -> Robot:
    """A robot of any kind, made of a random member of the family."""
    member = random_member(draw(st.sampled_from(FAMILY)), draw(st.integers(0, 9)))
    robot = to_robot(member).robot
    kind = RobotKind(robot.linear, robot.platform.kind, robot.spindle is not None)
    return robot.replace(**draw(settings(kind)))


@pytest.mark.full
@given(members())
def test_any_member_of_the_family_comes_back_equal(robot: Robot) -> None:
    check_comes_back(robot)


@pytest.mark.full
@given(robots())
def test_any_robot_comes_back_equal(robot: Robot) -> None:
    check_comes_back(robot)
    assert "actuation: linear" not in robot_text(robot)


@pytest.mark.full
@given(robots(linear=True))
def test_any_robot_on_rails_comes_back_equal(robot: Robot) -> None:
    check_comes_back(robot)
    assert "actuation: linear" in robot_text(robot) or "actuation" in robot.sources


def check_comes_back(robot: Robot) -> None:
    text = robot_text(robot)
    again = robot_from_text(text)
    assert again == robot
    assert again.sources == robot.sources
    assert again.description == robot.description
    assert robot_text(again) == text


def test_save_robot_is_what_save_does(tmp_path: Path) -> None:
    save_robot(small(), tmp_path / "one.yaml")
    small().save(tmp_path / "two.yaml")
    assert (tmp_path / "one.yaml").read_bytes() == (tmp_path / "two.yaml").read_bytes()


DOCS = (Path(__file__).parents[1] / "docs" / "robot-file.md").read_text("utf-8")


def test_the_example_of_the_documentation_works() -> None:
    example = DOCS.partition("```yaml\n")[2].partition("```")[0]
    robot = robot_from_text(example)
    assert robot.geometry.strut_length == (0.9, 0.9002, 0.8999)
    assert robot.sources["arm.inertia"] == Source("CAD, without the screws", assumed=True)


def test_the_example_on_rails_of_the_documentation_works() -> None:
    parts = DOCS.split("```yaml\n")
    examples = [part.partition("```")[0] for part in parts]
    example = next(text for text in examples if "actuation: linear" in text)
    robot = robot_from_text(example)
    assert robot.linear
    assert robot.friction.viscous == (8.0, 8.0, 8.0, 0.01)
    assert robot.friction.coulomb == (5.0, 5.5, 5.2, 0.0)
    assert robot.limits.angle_max == (0.5, 0.5, 0.5, 2 * math.pi)
    assert robot.limits.torque_peak == (150.0, 150.0, 150.0, 2.0)
    assert robot.drives.output_inertia[0] == pytest.approx(0.3e-4 / 0.012**2)


def test_the_examples_of_other_platforms_of_the_documentation_work() -> None:
    parts = DOCS.split("```yaml\n")
    examples = [part.partition("```")[0] for part in parts]
    planar, par4, heli4 = (
        robot_from_text(next(text for text in examples if f"kind: {kind}" in text))
        for kind in ("planar", "articulated", "helical")
    )
    assert (planar.dof, planar.legs, planar.coordinates) == (2, 2, ("x", "z"))
    assert planar.platform == PlanarPlatform(0.8)
    assert planar.geometry.azimuth == (0.0, math.pi)
    assert planar.drives.gear_ratio == (20.0, 20.0)
    assert planar.arms[1] == Arm(1.1, 0.15, 1.1 * 0.3**2 / 12, elbow_mass=0.15)
    assert (par4.dof, par4.legs, par4.turns) == (4, 4, True)
    assert par4.platform == ArticulatedPlatform((0.35, 0.3), 0.12, 0.1, 2e-4, ratio=2.0)
    assert par4.platform.moments() == (0.35 * 0.06 + 0.3 * -0.06, 0.0, 0.65 * 0.06**2 + 2e-4)
    assert par4.friction.coulomb == (1.0, 1.0, 1.1, 0.9)
    assert par4.axis_units("tau") == ("N m",) * 4
    assert heli4.platform == HelicalPlatform((0.4, 0.3), 0.04)
    assert heli4.geometry.azimuth == tuple(math.radians(a) for a in (0, 180, 90, 270))
    assert heli4.friction.coulomb == (6.0, 6.0, 6.5, 5.5)
    assert heli4.limits.torque_peak == (400.0,) * 4
    assert heli4.axis_units("tau") == ("N",) * 4


def test_the_documentation_names_every_field_and_unit() -> None:
    rails = sections(RobotKind(linear=True, spindle=True)).values()
    parts = (TOP, TEN, *SECTIONS.values(), *rails, *OF_HALVES.values())
    fields = {field for section in parts for field in section}
    pairs = DOCS.replace("_mm`", "_m`").replace("_deg`", "_rad`").replace("_deg_s", "_rad_s")
    pairs = pairs.replace("_mm_s`", "_m_s`")
    for field in fields:
        written = any(f"`{name}`" in pairs for name in (field.name, *field.keys))
        assert written, f"{field.name} is not documented"
    for kind, units in KINDS.items():
        row = f"| {kind} | {' '.join(f'`_{unit.suffix}`' for unit in units) or 'none'} |"
        assert row in DOCS
