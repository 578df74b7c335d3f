"""`usd`: the robot with closed loops in OpenUSD, for Isaac Sim; needs the extra `usd`.

Bodies are an articulation: a tree of turns and slides on a fixed base, each with one coordinate.
Loops are closed by spherical joints that are excluded from the articulation. UsdPhysics keeps
masses and frames of joints in single precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import extra_module
from deltadyn.exports.common import (
    EXPORT_MARK,
    INTERFACE_VERSION,
    ExportFiles,
    filled,
    identifier,
    provenance,
    stamp_fingerprint,
)
from deltadyn.exports.scenes.checks import check_masses, left_out
from deltadyn.exports.scenes.robot import robot_scene
from deltadyn.exports.scenes.scene import (
    IDENTITY,
    Body,
    Frame,
    Inertial,
    Joint,
    Loop,
    Scene,
    Shape,
    along_z,
    quaternion,
)
from deltadyn.exports.scenes.words import driven_table, loop_table, units_table
from deltadyn.robot import Robot

WHAT = "OpenUSD stage of a Delta robot with closed loops"
#: What stands between two joints at one place: a simulator wants some mass, the robot has none.
CARRIER = Inertial(1e-8, np.zeros(3), 1e-9 * np.eye(3))
FIXED = Inertial(10.0, np.zeros(3), np.eye(3))  # the base


@dataclass(frozen=True)
class Options:
    """Options of target `usd`: there are none."""


def files(robot: Robot, options: Options | None = None) -> ExportFiles:
    """The stage as text, and the README."""
    extra_module("pxr.Usd", "target 'usd'", "usd")
    check_masses(robot, "usd")
    scene, own = robot_scene(robot), identifier(robot)
    missing = [*left_out(robot), *_friction(robot)]
    stage = _Stage(robot, scene)
    note = [*provenance(robot, WHAT), *(f"not in the model: {item}" for item in missing)]
    return stamp_fingerprint(
        {
            "README-usd.md": _readme(robot, scene, missing),
            f"{own}.usda": stage.text("\n".join(note)),
        },
        left_out(robot),
    )


class _Stage:
    """Builds the stage prim by prim."""

    def __init__(self, robot: Robot, scene: Scene) -> None:
        from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

        self.gf, self.geom, self.physics, self.sdf = Gf, UsdGeom, UsdPhysics, Sdf
        self.scene = scene
        self.stage: Any = Usd.Stage.CreateInMemory()
        UsdGeom.SetStageUpAxis(self.stage, UsdGeom.Tokens.z)
        UsdGeom.SetStageMetersPerUnit(self.stage, 1.0)
        UsdPhysics.SetStageKilogramsPerUnit(self.stage, 1.0)
        self.root = f"/{identifier(robot)}"
        whole = UsdGeom.Xform.Define(self.stage, self.root)
        self.stage.SetDefaultPrim(whole.GetPrim())
        UsdPhysics.ArticulationRootAPI.Apply(whole.GetPrim())
        world = UsdPhysics.Scene.Define(self.stage, "/physics_scene")
        world.CreateGravityDirectionAttr(Gf.Vec3f(0.0, 0.0, -1.0))
        world.CreateGravityMagnitudeAttr(robot.gravity)
        for body in scene.bodies:
            self._body(body)
        UsdGeom.Scope.Define(self.stage, f"{self.root}/joints")
        self._fixed()
        for joint in scene.joints:
            self._joint(joint)
        for k, loop in enumerate(scene.loops, start=1):
            self._loop(loop, k)
        self.stage.GetRootLayer().customLayerData = {
            "deltadyn": version("deltadyn"),
            "interface": str(INTERFACE_VERSION),
            "fingerprint": EXPORT_MARK,
        }

    def text(self, note: str) -> str:
        """The root layer, with a note at its head."""
        layer = self.stage.GetRootLayer()
        layer.documentation = note
        return str(layer.ExportToString())

    def _body(self, body: Body) -> None:
        item = self.geom.Xform.Define(self.stage, f"{self.root}/{body.name}")
        self._place(item, body.world)
        prim = item.GetPrim()
        self.physics.RigidBodyAPI.Apply(prim)
        own = FIXED if body is self.scene.bodies[0] else body.inertial
        own = CARRIER if own.mass <= 0 else own
        moments, axes = np.linalg.eigh(own.inertia)
        axes = axes * np.linalg.det(axes)  # right-handed
        mass = self.physics.MassAPI.Apply(prim)
        mass.CreateMassAttr(own.mass)
        mass.CreateCenterOfMassAttr(self._vector(own.com))
        mass.CreateDiagonalInertiaAttr(self._vector(moments))
        mass.CreatePrincipalAxesAttr(self._quaternion(axes))
        for shape in body.shapes:
            self._shape(shape, f"{self.root}/{body.name}/{shape.name}")

    def _place(self, item: Any, frame: Frame) -> None:
        w, x, y, z = quaternion(frame.R)
        item.AddTranslateOp().Set(self.gf.Vec3d(*frame.t.tolist()))
        turn = item.AddOrientOp(self.geom.XformOp.PrecisionDouble)
        turn.Set(self.gf.Quatd(w, self.gf.Vec3d(x, y, z)))

    def _vector(self, values: FloatArray) -> Any:
        return self.gf.Vec3f(*values.tolist())

    def _quaternion(self, R: FloatArray) -> Any:
        w, x, y, z = quaternion(R)
        return self.gf.Quatf(w, self.gf.Vec3f(x, y, z))

    def _shape(self, shape: Shape, path: str) -> None:
        item = {
            "box": self.geom.Cube,
            "sphere": self.geom.Sphere,
            "cylinder": self.geom.Cylinder,
            "capsule": self.geom.Capsule,
            "mesh": self.geom.Mesh,
        }[shape.kind].Define(self.stage, path)
        self._place(item, shape.frame)
        if shape.mesh is not None:
            item.CreatePointsAttr([self._vector(point) for point in shape.mesh.points])
            item.CreateFaceVertexCountsAttr([3] * len(shape.mesh.faces))
            item.CreateFaceVertexIndicesAttr([i for face in shape.mesh.faces for i in face])
            item.CreateSubdivisionSchemeAttr(self.geom.Tokens.none)
        elif shape.kind == "box":
            item.CreateSizeAttr(2.0)
            item.AddScaleOp().Set(self.gf.Vec3f(*shape.size))
        else:
            item.CreateRadiusAttr(shape.size[0])
            if shape.kind != "sphere":
                item.CreateHeightAttr(2 * shape.size[1])
                item.CreateAxisAttr(self.geom.Tokens.z)
        extent = self.geom.Boundable.ComputeExtentFromPlugins(item, 0)
        item.CreateExtentAttr(extent)
        item.CreateDisplayColorAttr([self.gf.Vec3f(*shape.colour)])

    def _ends(self, joint: Any, bodies: tuple[str, str], frames: tuple[Frame, Frame]) -> None:
        """The two bodies of a joint, and its frame in each; no name is the world."""
        for k, (name, frame) in enumerate(zip(bodies, frames, strict=True)):
            if name:
                getattr(joint, f"CreateBody{k}Rel")().SetTargets([f"{self.root}/{name}"])
            getattr(joint, f"CreateLocalPos{k}Attr")(self._vector(frame.t))
            getattr(joint, f"CreateLocalRot{k}Attr")(self._quaternion(frame.R))

    def _fixed(self) -> None:
        joint = self.physics.FixedJoint.Define(self.stage, f"{self.root}/joints/base_fixed")
        self._ends(joint, ("", self.scene.bodies[0].name), (IDENTITY, IDENTITY))

    def _joint(self, own: Joint) -> None:
        """A turn or slide along z of its frames; its coordinate is the robot's own."""
        turns = own.kind == "hinge"
        kind = self.physics.RevoluteJoint if turns else self.physics.PrismaticJoint
        joint = kind.Define(self.stage, f"{self.root}/joints/{own.name}")
        child = Frame(along_z(own.axis), np.zeros(3))
        self._ends(joint, (own.parent, own.child), (self.scene.at_zero(own) @ child, child))
        joint.CreateAxisAttr(self.physics.Tokens.z)
        unit = math.degrees(1.0) if turns else 1.0
        if own.limits is not None:
            joint.CreateLowerLimitAttr(own.limits[0] * unit)
            joint.CreateUpperLimitAttr(own.limits[1] * unit)
        way, prim = "angular" if turns else "linear", joint.GetPrim()
        if own.driven or own.viscous:
            drive = self.physics.DriveAPI.Apply(prim, way)
            drive.CreateTypeAttr(self.physics.Tokens.force)
            drive.CreateStiffnessAttr(0.0)
            drive.CreateDampingAttr(own.viscous / unit)
            drive.CreateTargetVelocityAttr(0.0)
            if own.effort is not None:
                drive.CreateMaxForceAttr(own.effort)
        # of PhysX: where the articulation starts, and a mass along a rail that has no weight
        prim.AddAppliedSchema(f"PhysicsJointStateAPI:{way}")
        self._number(prim, f"state:{way}:physics:position", own.home * unit)
        self._number(prim, f"state:{way}:physics:velocity", 0.0)
        if own.armature:
            prim.AddAppliedSchema("PhysxJointAPI")
            self._number(prim, "physxJoint:armature", own.armature)

    def _number(self, prim: Any, name: str, value: float) -> None:
        prim.CreateAttribute(name, self.sdf.ValueTypeNames.Float, False).Set(value)

    def _loop(self, loop: Loop, k: int) -> None:
        joint = self.physics.SphericalJoint.Define(self.stage, f"{self.root}/joints/loop_{k}")
        one, two = (Frame(np.eye(3), point) for point in loop.points)
        self._ends(joint, loop.bodies, (one, two))
        joint.CreateExcludeFromArticulationAttr(True)


def _friction(robot: Robot) -> list[str]:
    """What drives without a target cannot say."""
    friction = robot.friction
    items = []
    if any(friction.coulomb) or any(item.coulomb for item in friction.passive):
        items.append(
            "Coulomb friction (UsdPhysics has none; viscous friction is the drives' damping)"
        )
    if any(item.joint == "platform_swing" for item in friction.passive):
        items.append("friction.passive of platform_swing (no joint of the tree is there)")
    return items


def _readme(robot: Robot, scene: Scene, missing: list[str]) -> str:
    words = {
        "robot": robot.name,
        "own": identifier(robot),
        "provenance": "\n".join(provenance(robot, WHAT)),
        "units": units_table(robot),
        "driven": driven_table(robot, scene),
        "loops": loop_table(scene),
        "gravity": f"{robot.gravity:g}",
        "rotors": RAILS if any(joint.armature for joint in scene.joints) else ARMS,
        "left_out": "".join(f"- Not in the model: {item}.\n" for item in missing),
    }
    return filled("usd", "README.md", words)


ARMS = "Rotors are part of the bodies that they turn."
RAILS = "Inertia of the drives along the rails is PhysX's `physxJoint:armature`, in kg."
