"""The closed form of the family in plain NumPy: one composition of limbs, struts and platform.

With elbow E(q), attachment a(x), B = da/dx, strut s = a - E of length l2, shares m_e, m_x, m_c of
a strut's mass (docs/exact-model.md), and d = s.E':

    S xd = diag(d) qd,  rows of S: s^T B
    S^T lambda = F = F_pl + sum m_x B^T (E' qdd + E'' qd^2 + g z_hat)
    tau = A qdd + m_x E'.add + own gravity + d lambda

The platform's own force is linear in its parameters: each gives matrices M, C and a gravity force.
Written for reading and for comparison with the engines, not for speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from tests.reference.engines.spec import Array, EngineBody

from .members import Z_HAT, Arm, Articulated, Helical, Member, Rail, Spindle


class Shares(NamedTuple):
    """Shares of a strut's mass: elbow, coupling, platform; kg."""

    e: float
    x: float
    c: float


class Own(NamedTuple):
    """What one parameter of the platform adds: force M xdd + C xd + G per unit of it."""

    name: str
    value: float
    M: Array  # (N, dof, dof)
    C: Array  # (N, dof, dof)
    G: Array  # (N, dof)


class Limb(NamedTuple):
    """What actuation gives: elbow with derivatives, (N, 3), and the own gravity's coefficients."""

    q: Array  # (N,)
    E: Array
    E1: Array
    E2: Array
    gravity: Array  # (N, 2), per unit of G and of G_s (arms only)


@dataclass(frozen=True, eq=False)
class Model:
    """Every quantity of the composition at N states; i is a limb, k a parameter."""

    q: Array  # (N, dof)
    qd: Array
    qdd: Array
    d: Array  # (N, dof)
    S: Array  # (N, dof, dof)
    s: Array  # (N, limbs, 3)
    J: Array  # (N, dof, dof)
    Jd: Array
    names: tuple[str, ...]
    values: Array  # (k,)
    M_of: Array  # (N, k, dof, dof), mass matrix per unit of a parameter
    C_of: Array  # (N, k, dof, dof)
    g_of: Array  # (N, k, dof)
    Y: Array  # (N, dof, k)
    F: Array  # (N, dof), force that the struts and axes carry
    multipliers: Array  # (N, dof)
    tips: Array  # (N, limbs, 3), force of the platform on each strut
    tau: Array  # (N, dof)

    @property
    def M(self) -> Array:
        total: Array = np.einsum("nkij,k->nij", self.M_of, self.values)
        return total

    @property
    def C(self) -> Array:
        total: Array = np.einsum("nkij,k->nij", self.C_of, self.values)
        return total

    @property
    def g(self) -> Array:
        total: Array = np.einsum("nki,k->ni", self.g_of, self.values)
        return total


def shares(member: Member) -> list[Shares]:
    """m_e = m (1 - f)^2 + k, m_x = m f (1 - f) - k, m_c = m f^2 + k of all rods of a strut."""
    found = []
    for strut in member.struts:
        m, f = strut.rods * strut.rod.mass, strut.rod.com / strut.length
        k = strut.rods * strut.rod.inertia / strut.length**2
        found.append(Shares(m * (1 - f) ** 2 + k, m * f * (1 - f) - k, m * f**2 + k))
    return found


def limb_parameters(limb: Arm | Rail, share: Shares) -> tuple[float, float, float]:
    """A, G and G_s of a limb; those of a carriage are in kg, and it has no G_s."""
    if isinstance(limb, Rail):
        A = limb.carriage + limb.counterweight + share.e + limb.rotor
        return A, limb.carriage - limb.counterweight + share.e + share.x, 0.0
    c, _, offset = limb.body.com
    elbow = limb.elbow_mass + (limb.bracket.mass if limb.bracket else 0.0) + share.e
    A = limb.body.inertia_com[1, 1] + limb.body.mass * (c**2 + offset**2)
    A += elbow * limb.length**2 + limb.rotor
    G = limb.body.mass * c + (elbow + share.x) * limb.length
    if limb.holder is not None:
        A += limb.holder.inertia + limb.holder.mass * limb.holder.com**2
        G += limb.holder.mass * limb.holder.com
    return float(A), float(G), float(limb.body.mass * offset)


def inverse(limb: Arm | Rail, length: float, a: Array) -> Limb:
    """Inverse kinematics of one limb and its elbow."""
    if isinstance(limb, Rail):
        w, u = a - limb.point, limb.direction
        f = w @ u
        q = f + limb.branch * np.sqrt(length**2 - np.sum(w * w, axis=1) + f**2)
        along = np.broadcast_to(u, a.shape)
        lift = np.full((len(a), 2), u[2])
        return Limb(q, limb.point + q[:, None] * u, along, np.zeros_like(a), lift)
    w, l1, e1, e2 = a - limb.shoulder, limb.length, limb.e1, limb.e2
    h, v = w @ e1, w @ e2
    k = (np.sum(w * w, axis=1) + l1**2 - length**2) / (2 * l1)
    n = limb.branch * np.sqrt(h**2 + v**2 - k**2)
    cos, sin = (h * k + v * n) / (h**2 + v**2), (v * k - h * n) / (h**2 + v**2)
    arm = l1 * (np.outer(cos, e1) + np.outer(sin, e2))
    push = l1 * (np.outer(cos, e2) - np.outer(sin, e1))
    lift = np.column_stack([cos * e2[2] - sin * e1[2], cos * e1[2] + sin * e2[2]])
    return Limb(np.arctan2(sin, cos), limb.shoulder + arm, push, -arm, lift)


def evaluate(member: Member, x: Array, xd: Array, xdd: Array) -> Model:
    """All quantities at platform motions (N, dof)."""
    N, dof, L, g = len(x), member.dof, len(member.limbs), member.gravity
    m = shares(member)
    a, B, Bd = attachments(member, x, xd)
    limbs = [inverse(member.limbs[i], member.struts[i].length, a[:, i]) for i in range(L)]
    q, E, E1, E2 = (np.stack(part, axis=1) for part in list(zip(*limbs, strict=True))[:4])

    s = a - E
    ad = np.einsum("nicj,nj->nic", B, xd)
    add = np.einsum("nicj,nj->nic", B, xdd) + np.einsum("nicj,nj->nic", Bd, xd)
    d = np.sum(s * E1, axis=2)
    qd = np.sum(s * ad, axis=2) / d
    slip = ad - E1 * qd[..., None]
    qdd = np.sum(s * (add - E2 * qd[..., None] ** 2), axis=2) + np.sum(slip * slip, axis=2)
    qdd = qdd / d

    # rows of axes that drive a coordinate themselves: psi of a spindle
    S, Sd, D = np.zeros((N, dof, dof)), np.zeros((N, dof, dof)), np.zeros((N, dof))
    Dd = np.zeros((N, dof))
    S[:, :L] = np.einsum("nic,nicj->nij", s, B)
    Sd[:, :L] = np.einsum("nic,nicj->nij", slip, B) + np.einsum("nic,nicj->nij", s, Bd)
    D[:, :L], Dd[:, :L] = d, np.sum(slip * E1, axis=2) + np.sum(s * E2, axis=2) * qd
    for row in range(L, dof):
        S[:, row, row] = D[:, row] = 1.0
        q, qd, qdd = (np.column_stack([v, w[:, row]]) for v, w in ((q, x), (qd, xd), (qdd, xdd)))
    inverse_S = np.linalg.inv(S).astype(np.float64)
    J = inverse_S @ _diag(D)
    Jd = inverse_S @ (_diag(Dd) - Sd @ J)
    K = B @ J[:, None]
    Kd = Bd @ J[:, None] + B @ Jd[:, None]

    names: list[str] = []
    values: list[float] = []
    M_of, C_of, g_of, Y = [], [], [], []
    to_axes = _diag(D) @ inverse_S.transpose(0, 2, 1)
    F = np.zeros((N, dof))
    tau = np.zeros((N, dof))
    unit = np.eye(dof)
    for i, (limb, share) in enumerate(zip(member.limbs, m, strict=True)):
        A, G, G_s = limb_parameters(limb, share)
        own = limbs[i].gravity
        zero = np.zeros((N, dof, dof))
        column = unit[i] * qdd[:, i, None]
        _add(names, values, f"A_{i + 1}", A)
        M_of.append(np.broadcast_to(np.outer(unit[i], unit[i]), zero.shape))
        C_of.append(zero)
        g_of.append(np.zeros((N, dof)))
        Y.append(column)
        for name, value, lift in zip(("G", "G_s"), (G, G_s), own.T, strict=True):
            if name == "G_s" and isinstance(limb, Rail):
                continue
            _add(names, values, f"{name}_{i + 1}", value)
            M_of.append(zero)
            C_of.append(zero)
            g_of.append(g * unit[i] * lift[:, None])
            Y.append(g * unit[i] * lift[:, None])
        # m_x: W + W^T, row i of W is E'^T K
        W, Wd, V = zero.copy(), zero.copy(), zero.copy()
        W[:, i] = np.einsum("nc,ncj->nj", E1[:, i], K[:, i])
        Wd[:, i] = np.einsum("nc,ncj->nj", E1[:, i], Kd[:, i])
        V[:, :, i] = qd[:, i, None] * np.einsum("ncj,nc->nj", K[:, i], E2[:, i])
        bounce = E1[:, i] * qdd[:, i, None] + E2[:, i] * qd[:, i, None] ** 2 + g * Z_HAT
        force = np.einsum("ncj,nc->nj", B[:, i], bounce)
        lift = g * np.einsum("ncj,c->nj", B[:, i], Z_HAT)
        _add(names, values, f"m_x_{i + 1}", share.x)
        M_of.append(W + W.transpose(0, 2, 1))
        C_of.append(Wd + V)
        g_of.append(np.einsum("nji,nj->ni", J, lift))
        row = unit[i] * np.sum(E1[:, i] * add[:, i], axis=1)[:, None]
        Y.append(row + np.einsum("nij,nj->ni", to_axes, force))
        F += share.x * force
        tau += A * column + share.x * row
        tau += g * unit[i] * (own @ np.array([G, G_s if isinstance(limb, Arm) else 0.0]))[:, None]
    for part in platform_terms(member, m, x, xd):
        own_force = (part.M @ xdd[..., None] + part.C @ xd[..., None])[..., 0] + part.G
        Jt = J.transpose(0, 2, 1)
        _add(names, values, part.name, part.value)
        M_of.append(Jt @ part.M @ J)
        C_of.append(Jt @ (part.M @ Jd + part.C @ J))
        g_of.append((Jt @ part.G[..., None])[..., 0])
        Y.append((to_axes @ own_force[..., None])[..., 0])
        F += part.value * own_force
    multipliers = np.einsum("nji,nj->ni", inverse_S, F)
    # forces at a strut's end: its own inertia and weight there, and the length that is kept
    Edd = E1 * qdd[:, :L, None] + E2 * qd[:, :L, None] ** 2
    m_x, m_c = (np.array([getattr(share, name) for share in m])[:, None] for name in ("x", "c"))
    tips = m_c * add + m_x * Edd + g * (m_c + m_x) * Z_HAT - multipliers[:, :L, None] * s
    return Model(
        q,
        qd,
        qdd,
        D,
        S,
        s,
        J,
        Jd,
        tuple(names),
        np.array(values),
        np.stack(M_of, axis=1),
        np.stack(C_of, axis=1),
        np.stack(g_of, axis=1),
        np.stack(Y, axis=2),
        F,
        multipliers,
        tips,
        tau + D * multipliers,
    )


def attachments(member: Member, x: Array, xd: Array) -> tuple[Array, Array, Array]:
    """a (N, limbs, 3), B = da/dx (N, limbs, 3, dof) and its rate."""
    platform, N, L, dof = member.platform, len(x), len(member.limbs), member.dof
    B = np.zeros((N, L, 3, dof))
    Bd = np.zeros((N, L, 3, dof))
    if dof == 2:
        B[:, :, 0, 0] = B[:, :, 2, 1] = 1.0
        return np.einsum("nicj,nj->nic", B, x) + platform.attachments, B, Bd
    B[:, :, :, :3] = np.eye(3)
    a = x[:, None, :3] + platform.attachments
    if isinstance(platform, Articulated):
        n, across = bar_directions(platform, x[:, 3])
        sigma, k = _sigma(member), platform.ratio
        a = a + sigma[:, None] * n[:, None]
        B[..., 3] = sigma[:, None] * across[:, None] / k
        Bd[..., 3] = -sigma[:, None] * n[:, None] * (xd[:, 3] / k**2)[:, None, None]
    elif isinstance(platform, Helical):
        a = a + _sigma(member)[:, None] * x[:, 3, None, None] * Z_HAT
        B[..., 3] = _sigma(member)[:, None] * Z_HAT
    return a, B, Bd


def bar_directions(platform: Articulated, psi: Array) -> tuple[Array, Array]:
    """n along the bars from half 2 to half 1, and n' = dn/dphi."""
    return _turned(platform.phi0 + psi / platform.ratio)


def _turned(angle: Array) -> tuple[Array, Array]:
    cos, sin, zero = np.cos(angle), np.sin(angle), np.zeros_like(angle)
    return np.column_stack([cos, sin, zero]), np.column_stack([-sin, cos, zero])


def _sigma(member: Member) -> Array:
    """Position of each limb's half along the bars (m), or its rise per angle (m/rad)."""
    platform, half = member.platform, np.array(member.halves)
    if isinstance(platform, Articulated):
        along: Array = platform.length * (platform.tool_fraction - half)
        return along
    assert isinstance(platform, Helical)
    rise: Array = np.array(platform.sigma)[half]
    return rise


def platform_terms(member: Member, m: list[Shares], x: Array, xd: Array) -> list[Own]:
    """The platform's own parameters with what each adds to its force."""
    platform, g, N, dof = member.platform, member.gravity, len(x), member.dof
    m_c = np.array([share.c for share in m])
    mass = member.payload.mass + float(m_c.sum())
    unit = np.zeros((N, dof, dof))
    points = 2 if dof == 2 else 3
    unit[:, :points, :points] = np.eye(points)
    weight = np.zeros((N, dof))
    weight[:, points - 1] = g
    nothing = np.zeros((N, dof, dof))
    if isinstance(platform, Articulated | Helical):
        turning = [platform.tool, member.payload]
        mass += platform.tool.mass + sum(half.mass for half in platform.halves)
        if isinstance(platform, Articulated):
            mass += sum(bar.mass for bar in platform.bars) + sum(w.mass for w in platform.gears)
            own = _articulated(member, platform, m_c, x, xd)
        else:
            own = _helical(member, platform, m_c, x)
    elif isinstance(platform, Spindle):
        turning = [platform.spindle.effector, member.payload]
        mass += platform.body.mass + platform.spindle.lower.mass + platform.spindle.effector.mass
        own = _telescope(member, platform, x, xd)
    else:
        mass += platform.body.mass
        return [Own("M_P", mass, unit, nothing, weight)]
    own += _tool(turning, x, xd)
    axial = sum(_about_axis(body) for body in turning) + _added_inertia(member, m_c)
    I_psi = np.zeros((N, dof, dof))
    I_psi[:, 3, 3] = 1.0
    own.append(Own("I_psi", axial, I_psi, nothing, np.zeros((N, dof))))
    return [Own("M_P", mass, unit, nothing, weight), *own]


def _tool(bodies: list[EngineBody], x: Array, xd: Array) -> list[Own]:
    """First moments of all that turns by psi: w = h_x t' - h_y t with t = n(psi)."""
    t, t1 = _turned(x[:, 3])
    h = np.sum([body.mass * body.com for body in bodies], axis=0)
    return [
        _moment("h_x", float(h[0]), t1, -t, xd),
        _moment("h_y", float(h[1]), -t, -t1, xd),
    ]


def _moment(name: str, value: float, w: Array, w1: Array, xd: Array) -> Own:
    """M = [[0, w], [w^T, 0]], C = [[0, w' psid], [0, 0]] with w' = dw/dpsi."""
    M, C = np.zeros((2, len(w), 4, 4))
    M[:, :3, 3] = M[:, 3, :3] = w
    C[:, :3, 3] = w1 * xd[:, 3, None]
    return Own(name, value, M, C, np.zeros((len(w), 4)))


def _about_axis(body: EngineBody) -> float:
    return float(body.inertia_com[2, 2] + body.mass * (body.com[0] ** 2 + body.com[1] ** 2))


def _bar_frame(
    member: Member, platform: Articulated, m_c: Array
) -> list[tuple[float, float, float]]:
    """Mass and its position along n and n', of all that goes with halves and bars."""
    first = platform.length * platform.tool_fraction
    ends = first, first - platform.length
    found = [(half.mass, end, 0.0) for half, end in zip(platform.halves, ends, strict=True)]
    found += [(bar.mass, first + bar.com[0], bar.com[1]) for bar in platform.bars]
    found += [(w.mass, *(w.at if w.on_bars else (first, 0.0))) for w in platform.gears]
    found += [(c, sigma, 0.0) for c, sigma in zip(m_c, _sigma(member), strict=True)]
    return found


def _articulated(
    member: Member, platform: Articulated, m_c: Array, x: Array, xd: Array
) -> list[Own]:
    """S and S_s: w = (S n' - S_s n)/k."""
    n, n1 = bar_directions(platform, x[:, 3])
    k, masses = platform.ratio, _bar_frame(member, platform, m_c)
    S = float(sum(mass * along for mass, along, _ in masses))
    S_s = float(sum(mass * across for mass, _, across in masses))
    return [
        _moment("S", S, n1 / k, -n / k**2, xd),
        _moment("S_s", S_s, -n / k, -n1 / k**2, xd),
    ]


def _helical(member: Member, platform: Helical, m_c: Array, x: Array) -> list[Own]:
    """S: w = S z_hat, and gravity g S about psi."""
    S = sum(half.mass * s for half, s in zip(platform.halves, platform.sigma, strict=True))
    S += float(m_c @ _sigma(member))
    up = np.broadcast_to(Z_HAT, (len(x), 3))
    own = _moment("S", S, up, np.zeros((len(x), 3)), np.zeros((len(x), 4)))
    own.G[:, 3] = member.gravity
    return [own]


def _added_inertia(member: Member, m_c: Array) -> float:
    """What I_psi holds beside tool and payload: bars, halves, wheels and m_c, or a rotor."""
    platform = member.platform
    if isinstance(platform, Spindle):
        return platform.rotor
    if isinstance(platform, Helical):
        masses = np.array([half.mass for half in platform.halves])
        return float(masses @ np.array(platform.sigma) ** 2 + m_c @ _sigma(member) ** 2)
    assert isinstance(platform, Articulated)
    masses_at = _bar_frame(member, platform, m_c)
    total = sum(mass * (along**2 + across**2) for mass, along, across in masses_at)
    total += sum(bar.inertia_com[2, 2] for bar in platform.bars)
    total += sum(wheel.inertia * wheel.rate**2 for wheel in platform.gears)
    return float(total / platform.ratio**2)


def _telescope(member: Member, platform: Spindle, x: Array, xd: Array) -> list[Own]:
    """Rods of the spindle: H, kappa, mu and I_axial as in docs/exact-model.md.

    T = (H |vd|^2 - 2 kappa pd.vd + I_axial spin^2)/2,  V = g (mu - kappa) v_z

    Rates are linear in xd: vd = U xd, spin = u xd. A product of two velocities with Jacobians U_a,
    U_b has the Coriolis matrix (U_a^T Ud_b + U_b^T Ud_a)/2, which keeps Md - 2C skew. The spin is
    no derivative of a coordinate: the moment d/dt (I spin v) also turns v, which adds the skew
    matrix -I spin U^T [v x] U.
    """
    spindle, N = platform.spindle, len(x)
    m1, c1, m2, c2 = (
        spindle.upper.mass,
        spindle.upper.com[2],
        spindle.lower.mass,
        -spindle.lower.com[2],
    )
    pivot = np.array([0.0, 0.0, spindle.z_upper - spindle.z_lower])
    l = np.linalg.norm(x[:, :3] - pivot, axis=1)[:, None, None]
    v = (x[:, :3] - pivot) / l[:, 0]
    across = np.eye(3) - v[:, :, None] * v[:, None]
    U, Ud, P, zero = (np.zeros((N, 3, 4)) for _ in range(4))
    P[:, :, :3] = np.eye(3)
    U[:, :, :3] = across / l
    vd = (U @ xd[..., None])[..., 0]
    ld = np.sum(v * xd[:, :3], axis=1)[:, None, None]
    turn = vd[:, :, None] * v[:, None] + v[:, :, None] * vd[:, None]
    Ud[:, :, :3] = -turn / l - across * ld / l**2

    a, a1 = _turned(x[:, 3])
    ad = a1 * xd[:, 3, None]
    e, ed = np.sum(a * v, axis=1), np.sum(ad * v + a * vd, axis=1)
    w, wd = np.cross(v, a), np.cross(vd, a) + np.cross(v, ad)
    f, fd = -e / (1 - e**2), -ed * (1 + e**2) / (1 - e**2) ** 2
    u, ud = np.zeros((N, 1, 4)), np.zeros((N, 1, 4))
    u[:, 0] = f[:, None] * (w[:, None] @ U)[:, 0]
    u[:, 0, 3] += v[:, 2] / (1 - e**2)
    fwd = fd[:, None] * w + f[:, None] * wd
    ud[:, 0] = (fwd[:, None] @ U)[:, 0] + f[:, None] * (w[:, None] @ Ud)[:, 0]
    ud[:, 0, 3] += vd[:, 2] / (1 - e**2) + 2 * v[:, 2] * e * ed / (1 - e**2) ** 2

    def product(Ua: Array, Uad: Array, Ub: Array, Ubd: Array) -> tuple[Array, Array]:
        A, B = Ua.transpose(0, 2, 1), Ub.transpose(0, 2, 1)
        return (A @ Ub + B @ Ua) / 2, (A @ Ubd + B @ Uad) / 2

    spin = (u @ xd[..., None])[:, :, 0]
    M_s, C_s = product(u, ud, u, ud)
    C_s = C_s - spin[..., None] * U.transpose(0, 2, 1) @ np.cross(v[:, :, None], U, axis=1)
    rise = member.gravity * U[:, 2]  # dv_z/dx
    H = m1 * c1**2 + m2 * c2**2 + spindle.upper.inertia_com[0, 0] + spindle.lower.inertia_com[0, 0]
    axial = spindle.upper.inertia_com[2, 2] + spindle.lower.inertia_com[2, 2]
    M_k, C_k = product(P, zero, U, Ud)
    nothing = np.zeros((N, 4))
    return [
        Own("H", float(H), *product(U, Ud, U, Ud), nothing),
        Own("kappa", float(m2 * c2), -2 * M_k, -2 * C_k, -rise),
        Own("mu", float(m1 * c1), np.zeros((N, 4, 4)), np.zeros((N, 4, 4)), rise),
        Own("I_axial", float(axial), M_s, C_s, nothing),
    ]


def tied(names: tuple[str, ...], Y: Array) -> tuple[tuple[str, ...], Array]:
    """Columns of equal limbs added: A, G, G_s, m_x of all limbs become one each."""
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        stem, _, last = name.rpartition("_")
        groups.setdefault(stem if last.isdigit() else name, []).append(k)
    columns = [Y[:, :, members].sum(axis=2) for members in groups.values()]
    return tuple(groups), np.stack(columns, axis=2)


def rank(Y: Array) -> int:
    """Rank of a stacked regressor (N, dof, k), its columns scaled to one."""
    rows = Y.reshape(-1, Y.shape[2])
    size = np.linalg.norm(rows, axis=0)
    seen = size > 1e-12 * size.max()
    found = np.linalg.svd(rows[:, seen] / size[seen], compute_uv=False)
    return int(np.sum(found > 1e-9 * found[0]))


def articulated_multipliers(member: Member, x: Array, s: Array, F: Array) -> tuple[Array, Array]:
    """Multipliers (N, 4) of S^T lambda = F by cross products, and det S.

    With N12 = s1 x s2, N34 = s3 x s4; z_hat for n', 1 for k and sigma_1 - sigma_2 for L in a
    helical platform.
    """
    platform = member.platform
    if isinstance(platform, Articulated):
        _, across = bar_directions(platform, x[:, 3])
        k, L = platform.ratio, platform.length
    else:
        assert isinstance(platform, Helical)
        across = np.broadcast_to(Z_HAT, (len(x), 3))
        k, L = 1.0, platform.sigma[0] - platform.sigma[1]
    second = _sigma(member)[3]
    s1, s2, s3, s4 = (s[:, i] for i in range(4))
    N12, N34, F_p = np.cross(s1, s2), np.cross(s3, s4), F[:, :3]
    t = (k * F[:, 3:] - second * dot(across, F_p)) / L
    volume = dot(N12, np.cross(N34, across))
    f1 = (dot(N34, F_p) * np.cross(across, N12) + t * np.cross(N12, N34)) / volume
    f2 = F_p - f1
    found = [
        dot(np.cross(f1, s2), N12) / dot(N12, N12),
        dot(np.cross(s1, f1), N12) / dot(N12, N12),
        dot(np.cross(f2, s4), N34) / dot(N34, N34),
        dot(np.cross(s3, f2), N34) / dot(N34, N34),
    ]
    return np.hstack(found), (L / k * volume)[:, 0]


def dot(u: Array, v: Array) -> Array:
    product: Array = np.sum(u * v, axis=1, keepdims=True)
    return product


def _diag(values: Array) -> Array:
    return values[..., None] * np.eye(values.shape[-1])


def _add(names: list[str], values: list[float], name: str, value: float) -> None:
    names.append(name)
    values.append(value)
