"""Poses of a member by plain geometry: attachments, inverse kinematics, random poses in reach."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from tests.reference.engines.spec import Array

from .members import Z_HAT, Arm, Articulated, Helical, Member, Rail, Spindle

SMALLEST_BEND = 0.3  # sine between strut and the normal of the elbow's motion, at least
SMALLEST_SPAN = 0.1  # smallest singular value of the struts' directions, at least
STEP = 1e-6  # of differences that only tell how well a pose is conditioned


def attachments(member: Member, x: Array) -> Array:
    """Attachments (N, limbs, 3) of the struts on the platform at poses x (N, dof)."""
    platform = member.platform
    if x.shape[1] == 2:
        x = np.insert(x, 1, 0.0, axis=1)
    points = x[:, None, :3] + platform.attachments
    half = np.array(member.halves)
    if isinstance(platform, Articulated):
        phi = platform.phi0 + x[:, 3] / platform.ratio
        n = np.column_stack([np.cos(phi), np.sin(phi), np.zeros(len(x))])
        distance = platform.length * (platform.tool_fraction - half)
        points = points + distance[:, None] * n[:, None]
    elif isinstance(platform, Helical):
        rise = x[:, 3, None] * np.array(platform.sigma)[half]
        points = points + rise[..., None] * Z_HAT
    return points


def inverse(member: Member, x: Array) -> Array:
    """Joint coordinates (N, dof) of poses, by each limb's branch; NaN where out of reach."""
    held = attachments(member, x)
    lengths = [strut.length for strut in member.struts]
    each = enumerate(zip(member.limbs, lengths, strict=True))
    q = [_inverse_limb(limb, length, held[:, i]) for i, (limb, length) in each]
    if isinstance(member.platform, Spindle):
        q.append(x[:, 3])
    return np.column_stack(q)


def _inverse_limb(limb: Arm | Rail, length: float, held: Array) -> Array:
    with np.errstate(invalid="ignore"):
        if isinstance(limb, Arm):
            # law of cosines in the arm's plane, with what of the strut remains in it
            w = held - limb.shoulder
            along, aside = w @ limb.e1, w @ limb.e2
            distance = np.hypot(along, aside)
            in_plane = length**2 - (w @ limb.t) ** 2
            opening = (limb.length**2 + distance**2 - in_plane) / (2 * limb.length * distance)
            angle: Array = np.arctan2(aside, along) - limb.branch * np.arccos(opening)
            return angle
        w = held - limb.point
        foot = w @ limb.direction
        root: Array = np.sqrt(length**2 - np.sum(w**2, axis=1) + foot**2)
        return foot + limb.branch * root


def elbows(member: Member, q: Array) -> Array:
    """Elbows (N, limbs, 3) of joint coordinates."""
    points = []
    for i, limb in enumerate(member.limbs):
        angle = q[:, i, None]
        if isinstance(limb, Arm):
            arm = limb.length * (np.cos(angle) * limb.e1 + np.sin(angle) * limb.e2)
            points.append(limb.shoulder + arm)
        else:
            points.append(limb.point + angle * limb.direction)
    return np.stack(points, axis=1)


def random_poses(member: Member, rng: np.random.Generator, count: int) -> Array:
    """Draw poses (N, dof) with bent limbs and struts that span the motions of the platform."""
    l2 = float(np.mean([strut.length for strut in member.struts]))
    base = [limb.shoulder if isinstance(limb, Arm) else limb.point for limb in member.limbs]
    l1 = np.mean([limb.length if isinstance(limb, Arm) else 0.0 for limb in member.limbs])
    height = float(np.mean([point[2] for point in base]))
    half = 0.35 * l2
    low = np.array([-half, -half, height - l1 - l2])
    high = np.array([half, half, height - 0.2 * l2])
    if len(member.limbs) == 2:
        low, high = low[[0, 2]], high[[0, 2]]
    if member.dof == 4:
        turn = angle_range(member)
        low, high = np.append(low, -turn), np.append(high, turn)
    kept = np.empty((0, len(low)))
    for _ in range(200):
        x = rng.uniform(low, high, (4 * count, len(low)))
        kept = np.vstack([kept, x[_well_inside(member, x)]])
        if len(kept) >= count:
            return kept[:count]
    raise ValueError(f"{len(kept)} of {count} poses of a {member.kind} robot lie inside its reach")


def angle_range(member: Member) -> float:
    """Largest angle of the tool: bars within 45 degrees of home, else half a turn."""
    if isinstance(member.platform, Articulated):
        return float(abs(member.platform.ratio) * np.pi / 4)
    return float(np.pi)


def _well_inside(member: Member, x: Array) -> NDArray[np.bool_]:
    q = inverse(member, x)
    limbs = len(member.limbs)
    length = np.array([strut.length for strut in member.struts])
    strut = (attachments(member, x) - elbows(member, q)) / length[:, None]
    push = np.stack(
        [
            elbows(member, q + STEP * row)[:, i] - elbows(member, q - STEP * row)[:, i]
            for i, row in enumerate(np.eye(q.shape[1])[:limbs])
        ],
        axis=1,
    )
    bend = np.sum(strut * push, axis=2) / np.linalg.norm(push, axis=2)
    span = np.stack([_columns(member, x, strut, row) for row in _steps(member)], axis=2)
    inside: NDArray[np.bool_] = np.isfinite(bend).all(axis=1)
    inside[inside] &= np.all(np.abs(bend[inside]) > SMALLEST_BEND, axis=1)
    inside[inside] &= np.linalg.svd(span[inside], compute_uv=False)[:, -1] > SMALLEST_SPAN
    return inside


def _steps(member: Member) -> Array:
    """Steps of x that each move attachments by about STEP; psi of a spindle moves none."""
    steps = STEP * np.eye(member.dof)
    if isinstance(member.platform, Spindle):
        return steps[:3]
    if isinstance(member.platform, Articulated):
        steps[3] *= abs(member.platform.ratio) / member.platform.length
    elif isinstance(member.platform, Helical):
        steps[3] /= abs(member.platform.sigma[0] - member.platform.sigma[1])
    return steps


def _columns(member: Member, x: Array, strut: Array, step: Array) -> Array:
    """Shift of the attachments along the struts (N, limbs) for a step of the pose."""
    moved = attachments(member, x + step) - attachments(member, x - step)
    shift: Array = np.sum(strut * moved, axis=2) / (2 * STEP)
    return shift
