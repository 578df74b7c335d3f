"""Regressors: Y @ parameters is the torque, and each column is what its parameter does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import (
    KIND_NAMES,
    KINDS,
    MODELS,
    any_shape,
    full_friction,
    make_robot,
    make_states,
    relative,
)

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import Regressor, inverse_dynamics, regressor
from deltadyn.dynamics.regressor import torque_of
from deltadyn.errors import InputError
from deltadyn.kinematics import State
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Platform
from deltadyn.robot.settings import Drives, Friction, GrayBox, PassiveFriction

ROUNDING = 1e-12  # relative: sums of some 40 products leave 1e-15
DIFFERENCE = 1e-11  # two torques of 100 N m subtracted, and some N m left

each_kind = pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
each_model = pytest.mark.parametrize("model", MODELS)


@each_kind
@each_model
@pytest.mark.parametrize("tied", [None, False])
def test_product_is_the_torque_with_every_friction_term(
    kind: tuple[int, bool], model: str, tied: bool | None
) -> None:
    robot = make_robot(*kind, friction=full_friction(kind[0]))
    for own in (robot, any_shape(robot)) if model == "rigid" else (robot,):
        state = make_states(own, 200)
        reg = regressor(own, state, model, tied=tied)
        assert relative(reg.Y @ reg.parameters, inverse_dynamics(own, state, model)) < ROUNDING
        smooth = own.with_friction(smoothing=0.2)
        reg = regressor(smooth, state, model, tied=tied)
        assert relative(reg.Y @ reg.parameters, inverse_dynamics(smooth, state, model)) < ROUNDING
        bare = regressor(own, state, model, tied=tied, friction=False)
        tau = inverse_dynamics(own, state, model, friction=False)
        assert relative(torque_of(bare), tau) < ROUNDING
        assert bare.names == reg.names[: len(bare.names)]


@pytest.mark.parametrize("rotors", [(0.0, 0.0, 0.0), (0.0, 0.1, 0.2), (0.3, 0.0, 0.1)])
@pytest.mark.parametrize("equal_bodies", [True, False])
@each_model
def test_axes_without_a_rotor(
    model: str, equal_bodies: bool, rotors: tuple[float, float, float]
) -> None:
    """Limbs whose rotors alone differ are not equal, and are not tied."""
    robot = make_robot(3, equal_bodies, drives=Drives(rotor_inertia=rotors))
    assert robot.equal_limbs is (equal_bodies and len(set(rotors)) == 1)
    state = make_states(robot, 20)
    reg = regressor(robot, state, model)
    assert relative(reg.Y @ reg.parameters, inverse_dynamics(robot, state, model)) < ROUNDING


@pytest.mark.parametrize("com_offset", [None, True, False])
def test_gravity_of_arms_off_their_line_is_a_choice(com_offset: bool | None) -> None:
    off = make_robot(3, True)
    on = off.replace(arms=(replace(off.rotary_arms[0], com_offset=0.0),) * 3)
    state = make_states(off, 20)
    for robot in (on, off):
        reg = regressor(robot, state, com_offset=com_offset, friction=False)
        has_column = robot is off if com_offset is None else com_offset
        assert ("G_s" in reg.names) is has_column
        missing = robot is off and com_offset is False
        assert (relative(torque_of(reg), inverse_dynamics(robot, state)) > 1e-3) is missing


# Columns without friction, counted by hand. The robots of the factory have arms off their line and
# masses in the elbows. exact: M_P, then m_x, A, G, G_s, and seven of the spindle; rigid: ten per
# body and one per rotor; half-half: platform, arm, elbow, rotor, strut, and I_psi; euler-lagrange
# has I, mc and mcz in place of the arm's mass; projected-rod adds both rods.
COUNTS = {
    "exact": {(3, True): 5, (3, False): 13, (4, True): 12, (4, False): 20},
    "rigid": {(3, True): 31, (3, False): 73, (4, True): 62, (4, False): 104},
    "half-half": {(3, True): 5, (3, False): 13, (4, True): 6, (4, False): 14},
    "gray-box": {(3, True): 4, (3, False): 4, (4, True): 5, (4, False): 5},
    "virtual-work": {(3, True): 5, (3, False): 5, (4, True): 6, (4, False): 6},
    "euler-lagrange": {(3, True): 7, (3, False): 19, (4, True): 8, (4, False): 20},
    "projected-rod": {(3, True): 5, (3, False): 13, (4, True): 8, (4, False): 16},
}
# Fv, Fc+, Fc-, Fs, Ft, F0, mu on every axis; Fv and Fc in four or seven passive joints
FRICTION_COUNTS = {3: 7 * 3 + 2 * 4, 4: 7 * 4 + 2 * 7}
UNITS = {"kg", "kg m", "kg m^2", "N m", "N m s/rad", "N", "N s/m", "1"}


@each_kind
@each_model
def test_columns_are_counted_and_named(kind: tuple[int, bool], model: str) -> None:
    robot = make_robot(*kind, friction=full_friction(kind[0]))
    state = make_states(robot, 3)
    bare = regressor(robot, state, model, friction=False)
    full = regressor(robot, state, model)
    count = COUNTS[model][kind]
    assert len(bare.names) == count
    assert len(full.names) == count + FRICTION_COUNTS[robot.dof]
    for reg in (bare, full):
        assert len(set(reg.names)) == len(reg.names) == len(reg.units) == reg.parameters.size
        assert reg.Y.shape == (3, robot.dof, len(reg.names))
        assert set(reg.units) <= UNITS
    if robot.equal_limbs:
        per_arm = regressor(robot, state, model, tied=False, friction=False)
        assert len(per_arm.names) == COUNTS[model][robot.dof, False]
        assert np.array_equal(full.Y, regressor(robot, state, model, tied=True).Y)


def test_names_of_the_exact_model() -> None:
    robot = make_robot(4, True, friction=Friction(passive=(PassiveFriction("prismatic"),)))
    spindle = ("H", "kappa", "mu", "I_axial", "h_x", "h_y", "I_psi")
    drives = tuple(f"{name}{axis}" for name in ("Fv", "Fc") for axis in (1, 2, 3, 4))
    reg = regressor(robot, make_states(robot, 1))
    limbs = ("M_P", "m_x", "A", "G", "G_s")
    assert reg.names == (*limbs, *spindle, *drives, "prismatic.Fv", "prismatic.Fc")
    assert reg.units[-2:] == ("N s/m", "N")
    per_arm = regressor(robot, make_states(robot, 1), tied=False)
    assert per_arm.names[:7] == ("M_P", "m_x1", "m_x2", "m_x3", "A1", "A2", "A3")


def test_virtual_work_has_the_eleven_parameters_of_kim2022() -> None:
    robot = make_robot(3, True)
    reg = regressor(robot, make_states(robot, 1), "virtual-work")
    assert len(reg.names) == 11


# Ranks that theory gives [gnad2024] and the design of this library states. The smallest singular
# value that counts is 2e-3 of the largest, the largest that does not is rounding, 1e-15.
RANKS = [
    ("exact", {"com_offset": False}, {(3, True): 4, (3, False): 10, (4, True): 11, (4, False): 17}),
    ("exact", {"com_offset": True}, {(3, True): 5, (3, False): 13, (4, True): 12, (4, False): 20}),
    ("rigid", {}, {(3, True): 12, (3, False): 34, (4, True): 27, (4, False): 49}),
]


def rank(reg: Regressor) -> int:
    """Number of singular values above 1e-9 of the largest, with columns of unit length."""
    Y = reg.stacked()
    norms = np.linalg.norm(Y, axis=0)
    Y = Y[:, norms > 1e-12 * norms.max()]
    values = np.linalg.svd(Y / np.linalg.norm(Y, axis=0), compute_uv=False)
    assert not np.any((values > 1e-13 * values[0]) & (values < 1e-4 * values[0]))
    return int(np.count_nonzero(values > 1e-9 * values[0]))


@each_kind
@pytest.mark.parametrize(("model", "options", "ranks"), RANKS)
def test_rank(
    kind: tuple[int, bool], model: str, options: dict[str, bool], ranks: dict[Any, int]
) -> None:
    robot = make_robot(*kind)
    reg = regressor(robot, make_states(robot, 300), model, friction=False, **options)
    assert rank(reg) == ranks[kind]


def test_base_parameters_of_gnad2024_are_27_and_10_of_friction() -> None:
    """Viscous and Coulomb friction on four drives and in the prismatic joint."""
    friction = Friction(0.1, 0.2, passive=(PassiveFriction("prismatic", 1.0, 1.0),))
    robot = make_robot(4, True, friction=friction)
    assert rank(regressor(robot, make_states(robot, 300), "rigid")) == 37


def test_stacked_rows_are_samples_then_axes() -> None:
    robot = make_robot(3, True)
    reg = regressor(robot, make_states(robot, 5))
    assert np.array_equal(reg.stacked()[3 * 2 + 1], reg.Y[2, 1])
    assert np.array_equal(torque_of(reg, 2 * reg.parameters), 2 * torque_of(reg))


@each_kind
@each_model
def test_one_sample_gives_columns_without_the_row(kind: tuple[int, bool], model: str) -> None:
    robot = make_robot(*kind, friction=full_friction(kind[0]))
    many = make_states(robot, 2)
    one = State.from_joints(robot, many.q[1], many.qd[1], many.qdd[1])
    reg = regressor(robot, one, model)
    assert reg.Y.shape == (robot.dof, len(reg.names))
    assert relative(reg.Y @ reg.parameters, inverse_dynamics(robot, one, model)) < ROUNDING


@each_model
def test_limbs_that_differ_cannot_be_tied(model: str) -> None:
    robot = make_robot(3, False)
    with pytest.raises(InputError, match="the limbs of this robot are not equal") as caught:
        regressor(robot, make_states(robot, 1), model, tied=True)
    assert (caught.value.quantity, caught.value.value) == ("tied", True)


# A column is what its parameter does: the torque of a changed robot, less that of the first.


def changed(robot: Robot, part: str, index: int | None = None, **more: float) -> Robot:
    """The robot with more of these fields of a part; of one limb where an index is given."""

    def grown(old: Any) -> Any:
        return replace(old, **{name: getattr(old, name) + value for name, value in more.items()})

    if part in ("arms", "struts"):
        limbs = enumerate(getattr(robot, part))
        return robot.replace(
            **{part: tuple(grown(x) if index in (i, None) else x for i, x in limbs)}
        )
    if part in ("upper", "lower"):
        assert robot.spindle is not None
        rod = grown(getattr(robot.spindle, part))
        return robot.replace(spindle=replace(robot.spindle, **{part: rod}))
    return robot.replace(**{part: grown(getattr(robot, part))})


def effect(before: Robot, after: Robot, state: State, model: str) -> FloatArray:
    return inverse_dynamics(after, state, model) - inverse_dynamics(before, state, model)


@pytest.mark.parametrize("equal_limbs", [True, False])
def test_columns_of_the_exact_model_by_hand(equal_limbs: bool) -> None:
    """What 0.1 kg or 0.01 kg m^2 more does, in terms of the base parameters."""
    robot = make_robot(4, equal_limbs)
    state = make_states(robot, 50)
    reg = regressor(robot, state, friction=False)
    index, limb = (None, "") if equal_limbs else (1, "2")
    count = 3 if equal_limbs else 1
    arm, strut, load = robot.rotary_arms[1], robot.struts[1], robot.payload
    l1, l2, f = robot.rotary.arm_length[1], robot.geometry.strut_length[1], strut.com_fraction
    m_x, A, G, G_s = (f"{name}{limb}" for name in ("m_x", "A", "G", "G_s"))
    assert robot.spindle is not None
    c1, c2 = robot.spindle.upper.com, robot.spindle.lower.com
    off2 = load.offset[0] ** 2 + load.offset[1] ** 2
    kg, k = 0.1, 2 * 0.001 / l2**2
    cases: list[tuple[Robot, dict[str, float]]] = [
        (changed(robot, "platform", mass=kg), {"M_P": kg}),
        (
            changed(robot, "payload", mass=kg),
            {
                "M_P": kg,
                "h_x": kg * load.offset[0],
                "h_y": kg * load.offset[1],
                "I_psi": kg * off2,
            },
        ),
        (
            changed(robot, "arms", index, mass=kg),
            {
                A: kg * (arm.com**2 + arm.com_offset**2),
                G: kg * arm.com,
                G_s: kg * arm.com_offset,
            },
        ),
        (changed(robot, "arms", index, inertia=0.01), {A: 0.01}),
        (changed(robot, "arms", index, elbow_mass=kg), {A: kg * l1**2, G: kg * l1}),
        (
            changed(robot, "struts", index, mass=kg),
            {
                "M_P": count * 2 * kg * f**2,
                m_x: 2 * kg * f * (1 - f),
                A: 2 * kg * (1 - f) ** 2 * l1**2,
                G: 2 * kg * (1 - f) * l1,
            },
        ),
        (
            changed(robot, "struts", index, inertia=0.001),
            {"M_P": count * k, m_x: -k, A: k * l1**2},
        ),
        (changed(robot, "upper", mass=kg), {"H": kg * c1**2, "mu": kg * c1}),
        (changed(robot, "lower", mass=kg), {"H": kg * c2**2, "kappa": kg * c2, "M_P": kg}),
        (changed(robot, "upper", inertia=0.01), {"H": 0.01}),
        (changed(robot, "lower", axial_inertia=0.01), {"I_axial": 0.01}),
        (changed(robot, "effector", inertia_zz=0.01), {"I_psi": 0.01}),
    ]
    for after, expected in cases:
        delta = np.array([expected.get(name, 0.0) for name in reg.names])
        assert set(expected) <= set(reg.names)
        assert relative(effect(robot, after, state, "exact"), reg.Y @ delta) < DIFFERENCE


@each_kind
@each_model
def test_columns_do_not_depend_on_their_own_parameters(kind: tuple[int, bool], model: str) -> None:
    """Y of one robot, times the other robot's parameters, is the other robot's torque."""
    robot = make_robot(*kind)
    state = make_states(robot, 50)
    reg = regressor(robot, state, model)
    others = [
        changed(robot, "platform", mass=0.3),
        robot.with_rotor_inertia([2 * value for value in robot.drives.output_inertia]),
        robot.replace(friction=Friction(viscous=0.3, coulomb=0.4)),
    ]
    if model == "gray-box":
        others.append(robot.replace(gray_box=GrayBox(1.5, 0.7)))
    else:
        others.append(changed(robot, "struts", mass=0.05))
        others.append(changed(robot, "arms", mass=0.2))
    if robot.dof == 4:
        others.append(changed(robot, "effector", inertia_zz=0.01))
    for other in others:
        parameters = regressor(other, state, model).parameters
        assert not np.allclose(parameters, reg.parameters, rtol=1e-3, atol=0.0)
        assert relative(reg.Y @ parameters, inverse_dynamics(other, state, model)) < ROUNDING


@pytest.mark.parametrize("model", ["half-half", "euler-lagrange", "projected-rod"])
def test_mass_of_one_rod_is_the_column_of_the_lumped_models(model: str) -> None:
    """`strut.m` counts one rod of the pair: half of the pair at each end."""
    robot = make_robot(3, True)
    state = make_states(robot, 20)
    reg = regressor(robot, state, model)
    column = reg.Y[:, :, reg.names.index("strut.m")]
    after = changed(robot, "struts", mass=0.1)
    assert relative(effect(robot, after, state, model), 0.1 * column) < DIFFERENCE
    assert reg.parameters[0] == pytest.approx(robot.platform.mass + robot.payload.mass)
    heavier = robot.replace(platform=Platform(robot.platform.mass + 1.0))
    assert relative(effect(robot, heavier, state, model), reg.Y[:, :, 0]) < DIFFERENCE


@each_kind
def test_columns_of_friction(kind: tuple[int, bool]) -> None:
    """More of one term on one axis acts on that axis alone, as its column says."""
    friction = full_friction(kind[0])
    robot = make_robot(*kind, friction=friction)
    state = make_states(robot, 50)
    reg = regressor(robot, state)
    symbols = {
        "viscous": "Fv",
        "coulomb": "Fc+",
        "coulomb_negative": "Fc-",
        "stribeck": "Fs",
        "offset": "F0",
        "load": "mu",
    }
    for field, symbol in symbols.items():
        for axis in range(robot.dof):
            more = np.array(getattr(robot.friction, field))
            more[axis] += 0.1
            after = robot.with_friction(**{field: more})
            column = reg.Y[:, :, reg.names.index(f"{symbol}{axis + 1}")]
            assert not np.delete(column, axis, axis=1).any()
            assert column.any()
            rise = effect(robot, after, state, "exact")
            assert np.max(np.abs(rise - 0.1 * column)) < DIFFERENCE * np.max(np.abs(column))
