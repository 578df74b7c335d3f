"""The closed form of the family against closed trees in MuJoCo, and the ranks of its parameters.

DELTADYN_FAMILY_STATES sets the number of states of each member; 1000 is the full comparison.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.reference.engines.spec import Array, EngineBody

from . import KINDS, Arm, Articulated, Gear, Member, Rail, States, random_member, states
from .assemblies import articulated_assemblies, bar_volume
from .closure import close, solve_states
from .formulas import Model, articulated_multipliers, evaluate, rank, tied
from .mujoco_tree import mujoco_tree
from .tree import Joint, Link, Ratio, build_tree, starting_points

STATES = int(os.environ.get("DELTADYN_FAMILY_STATES", "60"))
# Relative, per axis. Both sides solve the same loops in double precision; a screw of 3 mm/rad
# between the halves of a helical platform multiplies rounding by its conditioning of 1e3.
AGREEMENT = 1e-10
RANK_STATES = 40
CASES = [(kind, seed, equal) for kind in KINDS for seed, equal in ((0, False), (1, True))]


@pytest.fixture(scope="module", params=CASES, ids=lambda c: f"{c[0]}, {'equal' if c[2] else 'own'}")
def member(request: pytest.FixtureRequest) -> Member:
    kind, seed, equal = request.param
    return random_member(kind, seed, equal=equal)


@pytest.fixture(scope="module")
def reference(member: Member) -> States:
    return states(member, STATES, 7)


@pytest.fixture(scope="module")
def model(member: Member, reference: States) -> Model:
    return evaluate(member, reference.x, reference.xd, reference.xdd)


def worst(ours: Array, reference: Array) -> float:
    """Largest difference of an axis over its largest value.

    An axis that is zero by construction (gravity on psi, on a horizontal rail) counts against all.
    """
    largest = np.max(np.abs(reference), axis=0)
    scale = np.where(largest > 1e-6 * largest.max(), largest, largest.max())
    return float(np.max(np.abs(ours - reference) / scale))


@pytest.mark.full
def test_inverse_kinematics_and_rates(model: Model, reference: States) -> None:
    turns = np.round((model.q - reference.q) / (2 * np.pi))  # an angle is found within one turn
    assert np.max(np.abs(model.q - reference.q - 2 * np.pi * turns)) < 1e-13
    assert worst(model.qd, reference.qd) < AGREEMENT
    assert worst(model.qdd, reference.qdd) < AGREEMENT
    assert worst(model.J, reference.J) < AGREEMENT


def test_torque_and_terms(model: Model, reference: States) -> None:
    assert worst(model.tau, reference.tau) < AGREEMENT
    assert worst(model.M, reference.M) < AGREEMENT
    assert worst(model.g, reference.g) < AGREEMENT
    c = np.einsum("nij,nj->ni", model.C, reference.qd)
    assert worst(c, reference.c) < AGREEMENT


def test_forces_of_the_platform_on_the_struts(model: Model, reference: States) -> None:
    tips = model.tips
    if reference.x.shape[1] == 2:  # rods in a plane: the closed tree knows no force across it
        tips = tips * np.array([1.0, 0.0, 1.0])
    assert np.max(np.abs(tips - reference.tips)) < AGREEMENT * np.max(np.abs(reference.tips))


def test_regressor(model: Model, reference: States) -> None:
    assert worst(model.Y @ model.values, reference.tau) < AGREEMENT


def test_coriolis_matrix_is_skew(member: Member, model: Model, reference: States) -> None:
    h = 1e-5
    moved = [
        evaluate(member, reference.x + k * h * reference.xd, reference.xd, reference.xdd).M
        for k in (-2, -1, 1, 2)
    ]
    Md = (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * h)
    skew = Md - 2 * model.C
    # rounding of M over the step, at entries of Md that differ by the units of the axes
    assert np.max(np.abs(skew + skew.transpose(0, 2, 1))) < 1e-7 * np.max(np.abs(Md))


def test_every_parameter_is_seen(member: Member, model: Model, reference: States) -> None:
    """Agreement tells nothing about a term that is too small to matter."""
    seen = np.max(np.abs(model.Y * model.values), axis=(0, 1)) / np.max(np.abs(reference.tau))
    flat = {f"G_{i + 1}" for i, limb in enumerate(member.limbs) if _is_level(limb)}
    for name, part in zip(model.names, seen, strict=True):
        assert part == 0.0 if name in flat else part > 1e-7, (name, part)


def _is_level(limb: Arm | Rail) -> bool:
    return isinstance(limb, Rail) and limb.direction[2] == 0.0


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith(("par4", "heli4"))])
def test_multipliers_by_cross_products(kind: str) -> None:
    drawn = random_member(kind, 0)
    found = states(drawn, 20, 5)
    model = evaluate(drawn, found.x, found.xd, found.xdd)
    multipliers, volume = articulated_multipliers(drawn, found.x, model.s, model.F)
    assert worst(multipliers, model.multipliers) < AGREEMENT
    assert worst(volume, np.linalg.det(model.S)) < AGREEMENT


RANKS = {  # tied, per limb
    "rotary": (5, 13),
    "rotary inclined": (5, 13),
    "linear vertical": (4, 10),
    "linear any rails": (4, 10),
    "linear horizontal": (3, 7),
    "linear parallel": (3, 7),
    "planar rotary": (5, 9),
    "planar linear": (4, 7),
    "planar beam": (3, 4),
    "par4 k=1": (8, 20),
    "par4 k=2": (10, 22),
    "par4 k=4": (10, 22),
    "par4 k=-2": (10, 22),
    "par4 inclined k=3": (10, 22),
    "par4 rails k=2": (9, 18),
    "heli4 rotary": (9, 21),
    "heli4 rails": (8, 17),
    "spindle linear": (11, 17),
    "spindle inclined": (12, 20),
}


@pytest.mark.parametrize("kind", KINDS)
def test_ranks(kind: str) -> None:
    for seed, equal in ((0, False), (1, True)):
        drawn = random_member(kind, seed, equal=equal)
        found = states(drawn, RANK_STATES, 3)
        model = evaluate(drawn, found.x, found.xd, found.xdd)
        _, together = tied(model.names, model.Y)
        assert (rank(together), rank(model.Y)) == RANKS[kind]


def test_a_beam_with_unequal_struts_tells_its_carriages_apart() -> None:
    beam = random_member("planar beam", 0)
    longer = replace(beam.struts[1], length=1.1 * beam.struts[0].length)
    unequal = replace(beam, struts=(beam.struts[0], longer))
    for drawn, expected in ((beam, 4), (unequal, 5)):
        found = states(drawn, RANK_STATES, 3)
        assert rank(evaluate(drawn, found.x, found.xd, found.xdd).Y) == expected


def _heavier(body: EngineBody) -> EngineBody:
    shift = np.array([0.01, -0.02, 0.03])
    return EngineBody(1.5 * body.mass, body.com + shift, 1.3 * body.inertia_com)


def _limb(member: Member) -> Member:
    limb = member.limbs[0]
    if isinstance(limb, Arm):
        changed: Arm | Rail = replace(limb, body=_heavier(limb.body), rotor=2 * limb.rotor)
    else:
        changed = replace(limb, carriage=2 * limb.carriage, counterweight=0.5)
    return replace(member, limbs=(changed, *member.limbs[1:]))


def _strut(member: Member) -> Member:
    strut = member.struts[1]
    rod = replace(strut.rod, mass=1.4 * strut.rod.mass, com=0.9 * strut.rod.com)
    changed = replace(strut, rod=rod)
    return replace(member, struts=(member.struts[0], changed, *member.struts[2:]))


def _payload(member: Member) -> Member:
    return replace(member, payload=_heavier(member.payload))


def _transmission(member: Member) -> Member:
    platform = member.platform
    assert isinstance(platform, Articulated)
    bars = _heavier(platform.bars[0]), platform.bars[1]
    halves = platform.halves[0], _heavier(platform.halves[1])
    gears = (*platform.gears, Gear(0.1, 1e-4, -2.5, True, (0.02, 0.03)))
    return replace(member, platform=replace(platform, bars=bars, halves=halves, gears=gears))


CHANGES = [(kind, change) for kind in KINDS for change in (_limb, _strut, _payload)]
CHANGES += [(kind, _transmission) for kind in KINDS if kind.startswith("par4")]


@pytest.mark.full
@pytest.mark.parametrize(("kind", "change"), CHANGES)
def test_regressor_is_the_difference_of_torques(
    kind: str, change: Callable[[Member], Member]
) -> None:
    """Other bodies in the trees change the engine's torque by Y times the change of parameters."""
    member = random_member(kind, 0)
    other = change(member)
    before, after = states(member, 10, 11), states(other, 10, 11)
    np.testing.assert_array_equal(before.x, after.x)
    model = evaluate(member, before.x, before.xd, before.xdd)
    values = evaluate(other, before.x, before.xd, before.xdd).values - model.values
    step = after.tau - before.tau
    assert np.max(np.abs(step - model.Y @ values)) < AGREEMENT * np.max(np.abs(after.tau))
    assert np.max(np.abs(step)) > 1e-4 * np.max(np.abs(after.tau))


@pytest.mark.parametrize(
    "kind", ["rotary", "rotary inclined", "linear vertical", "linear any rails", "planar linear"]
)
def test_other_branches(kind: str) -> None:
    drawn = random_member(kind, 2)
    limbs = (drawn.limbs[0], *(replace(limb, branch=-1) for limb in drawn.limbs[1:]))
    turned = replace(drawn, limbs=limbs)
    found = states(turned, 20, 5)
    model = evaluate(turned, found.x, found.xd, found.xdd)
    assert worst(model.tau, found.tau) < AGREEMENT
    assert worst(model.M, found.M) < AGREEMENT


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("par4")])
def test_assemblies_of_articulated_platforms(kind: str) -> None:
    """The drawn pose is the lowest assembly on home's side of det S = 0.

    The lowest of all is another one in some states.
    """
    drawn = random_member(kind, 1)
    found = states(drawn, 40, 5)
    sides = []
    for q, x in zip(found.q, found.x, strict=True):
        poses = articulated_assemblies(drawn, q)
        side = np.sign(bar_volume(drawn, q, x))
        sides.append(side)
        same = [pose for pose in poses if np.sign(bar_volume(drawn, q, pose)) == side]
        # squared twice: the roots of the polynomial keep half of the digits in bad cases
        np.testing.assert_allclose(same[0], x, atol=1e-6)
        assert len(poses) <= 8
    assert len(set(sides)) == 1


def test_bars_across_are_singular_at_home() -> None:
    """At home the struts mirror in the bisector's plane: N12, N34 and n' lie in it."""
    drawn = random_member("par4 k=2", 1, equal=True)
    platform = drawn.platform
    assert isinstance(platform, Articulated)
    x = np.array([[0.0, 0.0, -0.75, 0.0]])
    outward = np.array([1.0, 1.0, -1.0, -1.0])[:, None] * platform.length / 2
    for turn, singular in ((0.0, False), (np.pi / 2, True)):
        phi0 = _bisector(drawn) + turn
        n = np.array([np.cos(phi0), np.sin(phi0), 0.0])
        b = platform.attachments - outward * n  # the same home for both
        bars = replace(platform, phi0=phi0, tool_fraction=0.5, attachments=b)
        turned = replace(drawn, platform=bars)
        model = evaluate(turned, x, np.zeros((1, 4)), np.zeros((1, 4)))
        scaled = model.S / np.linalg.norm(model.S, axis=2, keepdims=True)
        assert bool(abs(np.linalg.det(scaled)[0]) < 1e-12) is singular


def _bisector(member: Member) -> float:
    first, second = (limb.shoulder for limb in member.limbs[:2] if isinstance(limb, Arm))
    middle = first + second
    return float(np.arctan2(middle[1], middle[0]))


def test_a_rotor_on_a_screw_counts_with_the_square_of_its_ratio() -> None:
    """A rotor that spins in the base is J (2 pi i / lead)^2 at the carriage."""
    drawn = random_member("linear any rails", 0)
    spin, lead, ratio = 2e-5, 0.02, 1.5
    rate = 2 * np.pi * ratio / lead
    bare = replace(drawn.limbs[0], rotor=0.0)
    tree = build_tree(replace(drawn, limbs=(bare, *drawn.limbs[1:])))
    wheel = EngineBody(0.3, np.zeros(3), spin * np.diag([1.0, 0.5, 0.5]))
    rotor = Link("rotor", "", np.zeros(3), (Joint("rotor", False, np.eye(3)[0]),), (wheel,))
    gear = Ratio({"rotor": 1.0, "q0": -rate})
    tree = replace(tree, links=(*tree.links, rotor), ratios=(*tree.ratios, gear))
    carriage = replace(drawn.limbs[0], rotor=spin * rate**2)
    lumped = replace(drawn, limbs=(carriage, *drawn.limbs[1:]))
    found = states(lumped, 10, 3)
    engine = mujoco_tree(tree)
    start = starting_points(tree, found.x, found.q)
    start[:, -1] = rate * found.q[:, 0]
    spinning = solve_states(engine, close(engine, start), found.xd, found.xdd)
    assert worst(spinning.tau, found.tau) < AGREEMENT
    assert worst(evaluate(lumped, found.x, found.xd, found.xdd).tau, found.tau) < AGREEMENT
