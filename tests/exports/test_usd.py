"""The exported OpenUSD stage, read by usd-core, against this project's model."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module as real_import
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.exports.loose_bodies import Array, Mechanism, Part, Tie
from tests.exports.scene_cases import KINDS, robot_of, states_of

import deltadyn as dd
from deltadyn.errors import MissingExtraError
from deltadyn.exports import usd
from deltadyn.exports.common import home_angles
from deltadyn.kinematics.struts import skeleton
from deltadyn.robot.settings import Friction
from deltadyn.simulation.plant.mjcf import driven_joints

pytest.importorskip("pxr")
from pxr import Usd, UsdGeom, UsdPhysics

FORMS = {"PhysicsRevoluteJoint": "hinge", "PhysicsPrismaticJoint": "slide"}
FORMS |= {"PhysicsSphericalJoint": "ball", "PhysicsFixedJoint": "fixed"}
#: Joint frames and masses of UsdPhysics are single precision.
CLOSE, SHARE = 1e-6, 1e-6  # m or rad, of the largest torque: 3e-7 measured


@lru_cache(maxsize=16)
def stage_of(kind: str) -> Any:
    stage = Usd.Stage.CreateInMemory()
    text = next(text for name, text in usd.files(robot_of(kind)).items() if name.endswith(".usda"))
    assert stage.GetRootLayer().ImportFromString(text)
    return stage


def rotation(quaternion: Any) -> Array:
    x, y, z = quaternion.GetImaginary()
    found: Array = Rotation.from_quat([x, y, z, quaternion.GetReal()]).as_matrix()
    return found


def part(prim: Any) -> Part:
    """Pose in the world, mass, COM and inertia of a rigid body."""
    world = UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(0)
    mass = UsdPhysics.MassAPI(prim)
    axes = rotation(mass.GetPrincipalAxesAttr().Get())
    moments = np.array(mass.GetDiagonalInertiaAttr().Get(), dtype=float)
    assert moments.min() > 0
    assert moments.max() <= (moments.sum() - moments.max()) * (1 + 1e-5)
    return Part(
        np.array(world.ExtractRotationMatrix()).T,  # USD's vectors are rows
        np.array(world.ExtractTranslation()),
        mass.GetMassAttr().Get(),
        np.array(mass.GetCenterOfMassAttr().Get(), dtype=float),
        axes @ np.diag(moments) @ axes.T,
    )


def joint_of(prim: Any) -> tuple[Tie, Array, Array]:
    """A joint, and its frames' rotations in parent and child."""
    joint = UsdPhysics.Joint(prim)
    ends = [rel.GetTargets() for rel in (joint.GetBody0Rel(), joint.GetBody1Rel())]
    parent, child = (targets[0].name if targets else "" for targets in ends)
    above, below = (rotation(a.Get()) for a in (joint.GetLocalRot0Attr(), joint.GetLocalRot1Attr()))
    points = [
        np.array(a.Get(), dtype=float) for a in (joint.GetLocalPos0Attr(), joint.GetLocalPos1Attr())
    ]
    form = FORMS[prim.GetTypeName()]
    axes: tuple[tuple[Array, ...], tuple[Array, ...]] = ((), ())
    if form in ("hinge", "slide"):
        assert prim.GetAttribute("physics:axis").Get() == "Z"
        axes = (above[:, 2],), (below[:, 2],)
    return Tie(prim.GetName(), form, parent, child, points[0], points[1], *axes), above, below


def read(kind: str) -> tuple[Mechanism, dict[str, float]]:
    """The mechanism, and coordinates of its hinges and slides at home by their frames."""
    stage, robot = stage_of(kind), robot_of(kind)
    parts = {
        prim.GetName(): part(prim)
        for prim in stage.Traverse()
        if prim.HasAPI(UsdPhysics.RigidBodyAPI)
    }
    found = [joint_of(prim) for prim in stage.Traverse() if prim.IsA(UsdPhysics.Joint)]
    ties, homes = [item for item, _, _ in found], {}
    for item, above, below in found:
        if item.kind not in ("hinge", "slide"):
            continue
        up, down = parts[item.parent], parts[item.child]
        if item.kind == "hinge":
            turned = (up.R @ above).T @ (down.R @ below)
            homes[item.name] = float(Rotation.from_matrix(turned).as_rotvec()[2])
        else:
            gap = down.R @ item.at_child + down.p - up.R @ item.at_parent - up.p
            homes[item.name] = float(gap @ (up.R @ above)[:, 2])
    drives = driven_joints(robot)
    gravity = (
        UsdPhysics.Scene(stage.GetPrimAtPath("/physics_scene")).GetGravityMagnitudeAttr().Get()
    )
    return Mechanism(parts, ties, drives, [homes[name] for name in drives], gravity), homes


@pytest.mark.parametrize("kind", KINDS)
def test_bodies_and_joints_have_the_torque_of_the_model(kind: str) -> None:
    robot = robot_of(kind)
    mechanism, _ = read(kind)
    stage = stage_of(kind)
    rotors = np.zeros(robot.dof)
    for axis, name in enumerate(driven_joints(robot)):
        prim = stage.GetPrimAtPath(stage.GetDefaultPrim().GetPath().AppendPath(f"joints/{name}"))
        rotors[axis] = prim.GetAttribute("physxJoint:armature").Get() or 0.0
    q, qd, qdd, tau = states_of(kind)
    for row in range(len(q)):
        found = mechanism.torque(q[row], qd[row], qdd[row]) + rotors * qdd[row]
        np.testing.assert_allclose(found, tau[row], rtol=0, atol=SHARE * np.abs(tau).max())
        point = robot.in_space(dd.forward_kinematics(robot, q[row]))
        np.testing.assert_allclose(mechanism.pose["platform"][1], point[:3], atol=CLOSE)


@pytest.mark.parametrize("kind", KINDS)
def test_bodies_stand_at_home_with_joints_in_place(kind: str) -> None:
    robot = robot_of(kind)
    mechanism, homes = read(kind)
    start = home_angles(robot)
    own = [homes[name] for name in driven_joints(robot)]
    np.testing.assert_allclose(own, start, atol=CLOSE)  # the robot's own coordinates
    assert mechanism.largest_gap() < 1e-7  # m, also where loops are closed
    bones = skeleton(robot, dd.forward_kinematics(robot, start))
    for i in range(robot.legs):
        elbow = mechanism.parts[f"strut_{i + 1}"]
        np.testing.assert_allclose(elbow.p, bones.elbows[i], atol=1e-12)  # poses are doubles
        tip = elbow.R @ np.array([robot.geometry.strut_length[i], 0.0, 0.0]) + elbow.p
        np.testing.assert_allclose(tip, bones.joints[i], atol=1e-12)


def descriptions(stage: Any) -> dict[str, list[Any]]:
    """What usd-core's own parser of physics finds, by its kind."""
    load = getattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange", None)
    if load is not None:
        found = load(stage, ["/"])
    else:
        found = UsdPhysics.LoadUsdPhysicsFromRange(stage, ["/"])
    return {str(kind).rsplit(".", 1)[-1]: list(items) for kind, (_, items) in found.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_the_parser_of_usd_physics_finds_an_articulation_with_loops(kind: str) -> None:
    robot, found = robot_of(kind), descriptions(stage_of(kind))
    assert all(item.isValid for items in found.values() for item in items)
    loops = robot.legs + (robot.spindle is not None)
    assert len(found["SphericalJoint"]) == loops
    assert all(item.excludeFromArticulation for item in found["SphericalJoint"])
    (articulation,) = found["Articulation"]
    assert [path.name for path in articulation.rootPrims] == ["base_fixed"]
    kinds = ("FixedJoint", "RevoluteJoint", "PrismaticJoint")
    tree = [item for name in kinds for item in found.get(name, [])]
    assert not any(item.excludeFromArticulation for item in tree)
    # every body is carried by one joint, and parents lead to the base: no loop is left
    carried = {str(item.body1): str(item.body0) for item in tree}
    assert len(carried) == len(tree) == len(found["RigidBody"])
    for name in carried:
        steps = 0
        while carried.get(name, "").count("/") > 1:
            name, steps = carried[name], steps + 1
            assert steps < len(tree)
        assert name.endswith("/base")


def validation(stage: Any) -> list[str]:
    validating = pytest.importorskip("pxr.UsdValidation")
    validators = validating.ValidationRegistry().GetOrLoadAllValidators()
    assert any("PhysicsJointChecker" in item.GetMetadata().name for item in validators)
    return [item.GetName() for item in validating.ValidationContext(validators).Validate(stage)]


def test_the_validators_of_usd_have_nothing_to_say() -> None:
    for kind in ("sipro-d3-1200", "vertical_spindle"):
        assert validation(stage_of(kind)) == []
    broken = Usd.Stage.CreateInMemory()
    text = stage_of("sipro-d3-1200").GetRootLayer().ExportToString()
    spoilt = text.replace("</sipro_d3_1200/strut_1>", "</sipro_d3_1200/nobody>")
    assert spoilt != text
    assert broken.GetRootLayer().ImportFromString(spoilt)
    assert validation(broken) != []


def test_drives_limits_and_stamps(tmp_path: Path) -> None:
    robot = dd.load_robot("example-delta-4").replace(
        friction=Friction(viscous=(0.5, 0.4, 0.3, 0.02), coulomb=1.0)
    )
    made = dd.export(robot, "usd", tmp_path)
    assert "Coulomb friction (UsdPhysics has none" in made.files[0].read_text("utf-8")
    stage = Usd.Stage.Open(str(tmp_path / "example_delta_4.usda"))
    assert len(stage.GetRootLayer().customLayerData["fingerprint"]) == 16
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    for axis, name in enumerate(driven_joints(robot)):
        prim = stage.GetPrimAtPath(f"/example_delta_4/joints/{name}")
        drive = UsdPhysics.DriveAPI(prim, "angular")
        damping = np.degrees(drive.GetDampingAttr().Get())  # per degree there
        assert damping == pytest.approx(robot.friction.viscous[axis], rel=1e-6)
        peak = robot.limits.torque_peak[axis]  # type: ignore[index]
        assert drive.GetMaxForceAttr().Get() == pytest.approx(peak, rel=1e-6)
        low = np.radians(prim.GetAttribute("physics:lowerLimit").Get())
        assert low == pytest.approx(robot.limits.angle_min[axis], rel=1e-6)  # type: ignore[index]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> Any:
        if name.startswith("pxr"):
            raise ImportError(name)
        return real_import(name)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(MissingExtraError, match=r"target 'usd'.*deltadyn\[usd\]"):
        usd.files(robot_of("sipro-d3-1200"))
