"""Base parameters: ranks, groups in symbols and in numbers, and what the table says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import any_shape, make_robot, make_states, relative

from deltadyn.dynamics import (
    BaseParameters,
    base_parameters,
    inverse_dynamics,
    regressor,
)
from deltadyn.dynamics.base import CLEAR_GAP, exciting_states, numerical_rank, thin_bodies
from deltadyn.errors import InputError
from deltadyn.kinematics import in_workspace
from deltadyn.robot import Robot
from deltadyn.robot.settings import PassiveFriction

ROUNDING = 1e-11  # relative: columns of very different length share one matrix

# Rank with equal limbs and per arm, no friction, as the design of the library states them.
RANKS = {
    (3, "exact", False): (4, 10),
    (3, "exact", True): (5, 13),
    (4, "exact", False): (11, 17),
    (3, "rigid", None): (12, 34),
    (4, "rigid", None): (27, 49),
}


def plain(dof: int, equal_limbs: bool = True, **parts: Any) -> Robot:
    return make_robot(dof, equal_limbs, **parts)


@pytest.mark.parametrize("case", RANKS, ids=str)
@pytest.mark.parametrize("limbs", ["tied", "equal, per arm", "unequal"])
def test_ranks(case: tuple[int, str, bool | None], limbs: str) -> None:
    dof, model, com_offset = case
    tied = limbs == "tied"
    robot = plain(dof, limbs != "unequal")
    base = base_parameters(robot, model, tied, com_offset)
    assert base.rank == RANKS[case][0 if tied else 1]
    assert len(base.parameters) == len(base.independent) == base.rank
    assert base.gap > 1e9  # the least singular value that counts is above 0.05, rounding 1e-15
    assert base.status.startswith("The rank is clear")


def test_limbs_are_tied_where_they_are_equal() -> None:
    assert base_parameters(plain(3), com_offset=False).rank == 4
    assert base_parameters(plain(3, False), com_offset=False).rank == 10
    assert base_parameters(plain(3)).rank == 5  # the arms of this robot are off their line


def test_ranks_do_not_depend_on_the_states() -> None:
    for seed in range(1, 5):
        assert base_parameters(plain(4), "rigid", seed=seed).rank == 27


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("dof", [3, 4])
def test_rotors_add_no_rank(dof: int, tied: bool) -> None:
    robot = plain(dof)
    found = regressor(robot, exciting_states(robot, 120), "rigid", tied=tied, friction=False)
    keep = [j for j, name in enumerate(found.names) if not name.startswith("rotor")]
    assert len(keep) < len(found.names)
    Y = found.stacked()[:, keep]
    length = np.linalg.norm(Y, axis=0)
    rank, _, gap = numerical_rank(Y[:, length > 1e-9] / length[length > 1e-9])
    assert rank == RANKS[dof, "rigid", None][0 if tied else 1]
    assert gap > CLEAR_GAP
    assert not any(name.startswith("rotor") for name in base_parameters(robot, "rigid").independent)


def test_gnad2024_has_37_with_friction() -> None:
    """27 and 10 of friction: viscous and Coulomb of four axes and of the prismatic joint."""
    robot = plain(4).with_friction(passive=(PassiveFriction("prismatic", 4.08, 5.36),))
    assert base_parameters(robot, "rigid", friction=True).rank == 37


def test_kim2022_has_11_with_friction() -> None:
    assert base_parameters(plain(3), "virtual-work", friction=True).rank == 11


# -- groups ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("limbs", ["tied", "equal, per arm", "unequal"])
@pytest.mark.parametrize("dof", [3, 4])
def test_exact_groups_are_a_linear_map_of_the_standard_parameters(dof: int, limbs: str) -> None:
    """Y_exact K == Y_rigid on thin bodies, column by column, and K @ standard == base."""
    tied, robot = limbs == "tied", plain(dof, limbs != "unequal")
    base, state = base_parameters(robot, "exact", tied, True), make_states(robot, 50)
    exact = regressor(robot, state, "exact", tied=tied, com_offset=True, friction=False)
    rigid = regressor(robot, state, "rigid", tied=tied, friction=False)
    assert base.independent == exact.names
    assert base.standard == rigid.names
    thin = thin_bodies(rigid.names)
    ours, expected = exact.Y @ base.matrix @ thin, rigid.Y @ thin
    scale = np.maximum(np.max(np.abs(expected), axis=(0, 1)), 1.0)
    assert np.max(np.abs(ours - expected) / scale) < ROUNDING
    values = base.matrix @ rigid.parameters
    np.testing.assert_allclose(values, exact.parameters, rtol=ROUNDING, atol=1e-15)
    np.testing.assert_array_equal([item.value for item in base.parameters], exact.parameters)


def test_thin_bodies_are_what_the_exact_model_knows() -> None:
    robot = plain(4)
    names = regressor(robot, make_states(robot, 1), "rigid", friction=False).names
    thin = thin_bodies(names)
    free = {name for name, row in zip(names, thin, strict=True) if row.any()}
    assert {"strut.m", "strut.mcx", "strut.Iyy", "strut.Izz", "upper.mcz", "rotor4"} <= free
    assert not free & {"strut.mcy", "strut.Ixx", "strut.Ixy", "upper.mcx", "lower.Iyz"}


def test_a_wide_body_is_outside_the_map() -> None:
    """Where bodies are not thin the exact model must not explain the rigid one."""
    robot = any_shape(plain(3))
    base, state = base_parameters(robot, "exact", True, True), make_states(robot, 50)
    exact = regressor(robot, state, "exact", com_offset=True, friction=False)
    rigid = regressor(robot, state, "rigid", friction=False)
    ours, expected = exact.Y @ (base.matrix @ rigid.parameters), rigid.Y @ rigid.parameters
    assert relative(ours, expected) > 1e-4


@pytest.mark.parametrize("limbs", ["tied", "equal, per arm", "unequal"])
@pytest.mark.parametrize("dof", [3, 4])
def test_numerical_groups_give_the_torque(dof: int, limbs: str) -> None:
    """On states that QR has not seen: Y_independent @ matrix == Y, column by column."""
    tied, robot = limbs == "tied", any_shape(plain(dof, limbs != "unequal"))
    base, state = base_parameters(robot, "rigid", tied), make_states(robot, 50, seed=9)
    found = regressor(robot, state, "rigid", tied=tied, friction=False)
    columns = [found.names.index(name) for name in base.independent]
    rebuilt = found.Y[:, :, columns] @ base.matrix
    scale = np.maximum(np.max(np.abs(found.Y), axis=(0, 1)), 1.0)
    assert np.max(np.abs(rebuilt - found.Y) / scale) < 1e-9  # shares below 1e-9 are left out
    values = np.array([item.value for item in base.parameters])
    tau = inverse_dynamics(robot, state, "rigid", friction=False)
    assert relative(found.Y[:, :, columns] @ values, tau) < 1e-9


def test_names_are_split_without_remainder() -> None:
    base = base_parameters(plain(4), "rigid")
    parts = (base.independent, base.dependent, base.no_influence)
    assert sorted(name for part in parts for name in part) == sorted(base.standard)
    assert {"arm.m", "arm.Ixx", "platform.Izz", "upper.m", "effector.mcz"} <= set(base.no_influence)
    assert {"rotor", "rotor4", "strut.m", "lower.m", "effector.m"} <= set(base.dependent)
    dead = [base.standard.index(name) for name in base.no_influence]
    assert not base.matrix[:, dead].any()


def test_groups_in_numbers_by_hand() -> None:
    """M_P, A and G of the rigid model where I_zz stands for the strut's transverse inertia."""
    robot = plain(3)
    l1, l2 = robot.rotary.arm_length[0], robot.geometry.strut_length[0]
    base = base_parameters(robot, "rigid")
    row = dict(zip(base.independent, base.matrix, strict=True))
    column = base.standard.index
    np.testing.assert_allclose(row["platform.m"][column("strut.Izz")], 6 / l2**2, rtol=1e-9)
    np.testing.assert_allclose(row["arm.Iyy"][column("strut.m")], 2 * l1**2, rtol=1e-9)
    np.testing.assert_allclose(row["arm.mcx"][column("strut.m")], 2 * l1, rtol=1e-9)
    np.testing.assert_allclose(row["arm.Iyy"][column("rotor")], 1.0, rtol=1e-9)
    np.testing.assert_allclose(row["strut.mcx"][column("strut.Izz")], -1 / l2, rtol=1e-9)
    np.testing.assert_allclose(row["strut.Iyy"][column("strut.Izz")], -1.0, rtol=1e-9)


# -- text -----------------------------------------------------------------------------------------


def test_table_of_the_exact_model() -> None:
    text = str(base_parameters(plain(4), "exact"))
    for part in (
        "12 base parameters of the model 'exact'",
        "platform.mass + payload.mass + effector.mass + lower.mass + 3 Ie/l2^2",
        "rho/l2 - Ie/l2^2",
        "I_arm + rotor + l1^2 (arm.elbow_mass + m - 2 rho/l2 + Ie/l2^2)",
        "I_ez + rotor4",
        "Ie: the strut pair's transverse inertia about the elbow",
        "kg m^2",
        "The rank is clear",
    ):
        assert part in text
    per_arm = str(base_parameters(plain(3, False), "exact"))
    assert "sum of Ie/l2^2 over the limbs" in per_arm
    assert "limb 3" in per_arm
    assert "I_ez" not in per_arm


def test_table_of_the_rigid_model() -> None:
    base = base_parameters(plain(4), "rigid")
    text = base.text
    assert "27 base parameters of the model 'rigid'" in text
    assert "strut.Iyy - strut.Izz" in text
    assert "upper.Ixx + lower.Ixx" in text
    assert "effector.Izz + rotor4" in text
    assert "has no influence in this model: arm.m, " in text
    assert base.grouping("upper.Izz") == "upper.Izz + lower.Izz"
    assert base.grouping("arm.mcz") == "arm.mcz"
    with pytest.raises(InputError, match="name"):
        base.grouping("arm.m")


def test_values_without_rounding() -> None:
    """I_yy - I_zz of a thin strut is nothing, not 1e-17."""
    values = {item.name: item.value for item in base_parameters(plain(3), "rigid").parameters}
    assert values["strut.Iyy"] == 0.0


# -- how the numbers are found --------------------------------------------------------------------


def test_states_are_seeded_and_inside_the_workspace() -> None:
    robot = plain(4, False)
    one, two, other = (exciting_states(robot, 100, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.p, two.p)
    np.testing.assert_array_equal(one.qdd, two.qdd)
    assert (one.p != other.p).any()
    assert in_workspace(robot, one.p).all()
    assert np.ptp(one.p[:, 3]) > 5.0


def test_rank_of_a_matrix_with_a_known_gap() -> None:
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((n, 6)))[0] for n in (40, 6))
    for values, rank, gap in (
        ([1, 0.5, 0.1, 0.05, 0.01, 0.001], 6, 1e-3 / (40 * np.finfo(float).eps)),
        ([1, 0.5, 0.1, 0.05, 1e-12, 1e-13], 4, 5e10),
        ([1, 0.5, 0.1, 0.0, 0.0, 0.0], 3, 0.1 / (40 * np.finfo(float).eps)),
    ):
        found = numerical_rank(U * values @ V.T)
        assert found[0] == rank
        assert found[2] == pytest.approx(gap, rel=0.01)
        np.testing.assert_allclose(found[1][:3], values[:3], rtol=1e-12)


def test_a_doubtful_rank_is_said() -> None:
    base = base_parameters(plain(3), "exact")
    doubtful = BaseParameters(**{**vars(base), "gap": 1e3})
    assert doubtful.status.startswith("The rank is not clear")
    assert "1.0e+03" in doubtful.status


def test_without_gravity_the_gravity_moment_has_no_influence() -> None:
    base = base_parameters(plain(3, gravity=0.0), "exact", com_offset=False)
    assert base.rank == 3
    assert base.no_influence[0] == "G"  # the bodies' entries follow
    assert base.parameters[0].meaning


def test_misuse_is_refused() -> None:
    with pytest.raises(InputError, match="model"):
        base_parameters(plain(3), "exactly")
    with pytest.raises(InputError, match="tied"):
        base_parameters(plain(3, False), "rigid", True)
    with pytest.raises(InputError, match="com_offset"):
        base_parameters(plain(3), "rigid", com_offset=True)
