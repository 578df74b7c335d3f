/* Closed forms that a peer's engine needs around its open tree: C99, and C++ as well.
 *
 * The tree: three limbs of arm (theta), elbow and sway, and with a spindle the chain psi, fork,
 * cross, slide, cross_low, fork_low. The platform is a point mass that needs no engine. A peer is
 * given all coordinates, rates and accelerations of its tree from p, pd, pdd by a few closed forms,
 * and its forces are brought to the drives by the transpose of the same forms: no numerical
 * Jacobian, no iteration, one 3 by 3 solve. No peer can do with less.
 *
 * LIMBS says what moves the elbows: arms with tangential axes in the base plane, arms about any
 * axes, or carriages on rails. Each is a program of its own.
 */
#ifndef DELTADYN_BENCH_CLOSURE_H
#define DELTADYN_BENCH_CLOSURE_H

#include <math.h>

#define LIMB_JOINTS 3
#define SPINDLE_JOINTS 6
#define MOST_JOINTS 15
#define BODIES 9

#define STANDARD 0
#define INCLINED 1
#define RAILS 2
#ifndef LIMBS
#define LIMBS STANDARD
#endif

#if LIMBS == STANDARD
typedef struct {
  double ca, sa;   /* cos and sin of the azimuth */
  double shoulder; /* m, base radius */
  double base;     /* m, base radius less platform radius */
  double l1, l2;   /* m */
} limb_shape;
#else
typedef struct {
  double axes[3][3]; /* rows: arm at 0, pins, up; a carriage moves along the last */
  double base[3];    /* m, shoulder or the rail's zero less the platform's joint */
  double l1, l2;     /* m */
} limb_shape;
#endif

/* mass, COM (3), inertia about the COM xx yy zz xy yz xz, in the body's frame */
typedef struct {
  double mass, com[3], inertia[6];
} body_numbers;

/* As the benchmark writes it: doubles only, so that no byte lies between two members. */
typedef struct {
  double dof, count, gravity, platform_mass, upper_z, lower_z;
  double rotor[4];
  limb_shape limb[3];
  body_numbers body[BODIES]; /* arm and strut of limbs 1 to 3, upper rod, lower rod, effector */
} robot_numbers;

/* A joint: cos and sin of its angle, or its place and 0 on a rail; rate and acceleration. */
typedef struct {
  double c, s, rate, acc;
} turn;

typedef struct {
  turn theta, elbow, sway;
  double e1r, e1z;      /* derivative of the elbow's place by theta, in the limb's plane */
  double sr, sz, m, m2; /* strut in the limb's plane, and its length there */
  double strut[3], d;   /* strut in the base frame, and strut . e1 */
} limb_state;

typedef struct {
  turn psi, fork, cross;
  double angle; /* of psi */
  double slide, slide_rate, slide_acc;
  double u[3], m; /* shaft in a frame that turns with psi, and its length normal to the fork */
} spindle_state;

typedef struct {
  limb_state limb[3];
  spindle_state spindle;
} closed_state;

/* A vector's parts along the limb's axes, and the vector of such parts. */
static inline void to_limb(const limb_shape *g, const double *v, double *r) {
#if LIMBS == STANDARD
  r[0] = v[0] * g->ca + v[1] * g->sa, r[1] = v[1] * g->ca - v[0] * g->sa, r[2] = v[2];
#else
  for (int k = 0; k < 3; k++)
    r[k] = g->axes[k][0] * v[0] + g->axes[k][1] * v[1] + g->axes[k][2] * v[2];
#endif
}

static inline void from_limb(const limb_shape *g, const double *r, double *v) {
#if LIMBS == STANDARD
  v[0] = r[0] * g->ca - r[1] * g->sa, v[1] = r[0] * g->sa + r[1] * g->ca, v[2] = r[2];
#else
  for (int k = 0; k < 3; k++)
    v[k] = g->axes[0][k] * r[0] + g->axes[1][k] * r[1] + g->axes[2][k] * r[2];
#endif
}

/* The platform's joint from the shoulder, along the limb's axes. */
static inline void from_shoulder(const limb_shape *g, const double *p, double *r) {
#if LIMBS == STANDARD
  to_limb(g, p, r);
  r[0] -= g->base;
#else
  const double w[3] = {p[0] - g->base[0], p[1] - g->base[1], p[2] - g->base[2]};
  to_limb(g, w, r);
#endif
}

/* Coordinates, rates and accelerations of one limb from those of the platform point. */
static inline void close_limb(const limb_shape *g, const double *p, const double *pd,
                              const double *pdd, limb_state *x) {
  double at_joint[3], speed[3], push[3];
  from_shoulder(g, p, at_joint), to_limb(g, pd, speed), to_limb(g, pdd, push);
  const double h = at_joint[0], w = at_joint[1], z = at_joint[2];
  const double vr = speed[0], vt = speed[1], vz = speed[2];
  const double ar = push[0], at = push[1], az = push[2];
#if LIMBS == RAILS
  const double q = z + sqrt(g->l2 * g->l2 - h * h - w * w);
  const double e1r = 0, e1z = 1, e2r = 0, e2z = 0;
  const double sr = h, st = w, sz = z - q;
#else
  const double k = (h * h + w * w + z * z + g->l1 * g->l1 - g->l2 * g->l2) / (2 * g->l1);
  const double n2 = h * h + z * z, n = sqrt(n2 - k * k);
  const double c = (h * k - z * n) / n2, s = (-z * k - h * n) / n2;
  const double e1r = -g->l1 * s, e1z = -g->l1 * c, e2r = -g->l1 * c, e2z = g->l1 * s;
  const double sr = h - g->l1 * c, st = w, sz = z + g->l1 * s;
#endif
  const double d = sr * e1r + sz * e1z;
  const double rate = (sr * vr + st * vt + sz * vz) / d;
  const double sdr = vr - e1r * rate, sdt = vt, sdz = vz - e1z * rate;
  const double br = ar - e2r * rate * rate, bz = az - e2z * rate * rate;
  const double acc =
      (sr * br + st * at + sz * bz + sdr * sdr + sdt * sdt + sdz * sdz) / d;
  const double sddr = br - e1r * acc, sddz = bz - e1z * acc;
  const double m2 = sr * sr + sz * sz, m = sqrt(m2);
  const double beta = (sz * sdr - sr * sdz) / m2;
  const double betad = (sz * sddr - sr * sddz - 2 * (sr * sdr + sz * sdz) * beta) / m2;
  const double cb = sr / m, sb = -sz / m, gamma = sdt / m;
  x->theta.rate = rate, x->theta.acc = acc;
#if LIMBS == RAILS
  x->theta.c = q, x->theta.s = 0;
  x->elbow.c = cb, x->elbow.s = sb, x->elbow.rate = beta, x->elbow.acc = betad;
#else
  x->theta.c = c, x->theta.s = s;
  x->elbow.c = cb * c + sb * s, x->elbow.s = sb * c - cb * s;
  x->elbow.rate = beta - rate, x->elbow.acc = betad - acc;
#endif
  x->sway.c = m / g->l2, x->sway.s = st / g->l2;
  x->sway.rate = gamma, x->sway.acc = (at + st * gamma * gamma) / m;
  x->e1r = e1r, x->e1z = e1z, x->sr = sr, x->sz = sz, x->m = m, x->m2 = m2, x->d = d;
  const double rod[3] = {sr, st, sz};
  from_limb(g, rod, x->strut);
}

/* The spindle's joints; the lower universal joint mirrors the upper one. */
static inline void close_spindle(const robot_numbers *robot, const double *p, const double *pd,
                                 const double *pdd, spindle_state *x) {
  const double c = cos(p[3]), s = sin(p[3]), w = pd[3];
  const double ux = c * p[0] + s * p[1], uy = c * p[1] - s * p[0];
  const double uz = p[2] + robot->lower_z - robot->upper_z;
  const double px = c * pd[0] + s * pd[1], py = c * pd[1] - s * pd[0], vz = pd[2];
  const double vx = px + w * uy, vy = py - w * ux;
  const double ax = c * pdd[0] + s * pdd[1] + w * (py + vy) + pdd[3] * uy;
  const double ay = c * pdd[1] - s * pdd[0] - w * (px + vx) - pdd[3] * ux, az = pdd[2];
  const double m2 = uy * uy + uz * uz, m = sqrt(m2), l2 = m2 + ux * ux, l = sqrt(l2);
  const double mmd = uy * vy + uz * vz, md = mmd / m;
  const double mdd = (vy * vy + vz * vz + uy * ay + uz * az - md * md) / m;
  const double ld = (ux * vx + mmd) / l;
  const double fork = (uy * vz - uz * vy) / m2, cross = (vx * m - ux * md) / l2;
  x->angle = p[3];
  x->psi.c = c, x->psi.s = s, x->psi.rate = w, x->psi.acc = pdd[3];
  x->fork.c = -uz / m, x->fork.s = uy / m, x->fork.rate = fork;
  x->fork.acc = (uy * az - uz * ay - 2 * mmd * fork) / m2;
  x->cross.c = m / l, x->cross.s = ux / l, x->cross.rate = cross;
  x->cross.acc = (ax * m - ux * mdd - 2 * l * ld * cross) / l2;
  x->slide = l, x->slide_rate = ld;
  x->slide_acc = (vx * vx + vy * vy + vz * vz + ux * ax + uy * ay + uz * az - ld * ld) / l;
  x->u[0] = ux, x->u[1] = uy, x->u[2] = uz, x->m = m;
}

/* All of the tree at p, pd, pdd, which lie behind one another in `state`. */
static inline void close_state(const robot_numbers *robot, int dof, const double *state,
                               closed_state *x) {
  const double *p = state, *pd = state + dof, *pdd = state + 2 * dof;
  for (int i = 0; i < 3; i++) close_limb(&robot->limb[i], p, pd, pdd, &x->limb[i]);
  if (dof == 4) close_spindle(robot, p, pd, pdd, &x->spindle);
}

/* The drives' torques from the tree's forces: virtual work of all joints and of the platform. */
static inline void project(const robot_numbers *robot, int dof, const double *state,
                           const closed_state *x, const double *force, double *tau) {
  const double *pdd = state + 2 * dof;
  double load[3] = {robot->platform_mass * pdd[0], robot->platform_mass * pdd[1],
                    robot->platform_mass * (pdd[2] + robot->gravity)};
  for (int i = 0; i < 3; i++) {
    const limb_state *a = &x->limb[i];
    const limb_shape *g = &robot->limb[i];
    const double *f = force + LIMB_JOINTS * i;
    const double wr = f[1] * a->sz / a->m2, wz = -f[1] * a->sr / a->m2, wt = f[2] / a->m;
    const double along[3] = {wr, wt, wz};
    double pull[3];
    from_limb(g, along, pull);
    tau[i] = f[0] - (LIMBS == RAILS ? 0 : f[1]) - wr * a->e1r - wz * a->e1z;
    for (int k = 0; k < 3; k++) load[k] += pull[k];
  }
  if (dof == 4) {
    const spindle_state *a = &x->spindle;
    const double *f = force + 3 * LIMB_JOINTS, *u = a->u;
    const double m = a->m, m2 = m * m, l = a->slide, l2 = l * l;
    const double fork = (f[1] - f[5]) / m2, cross = (f[2] - f[4]) / l2, slide = f[3] / l;
    const double wx = cross * m + slide * u[0], on_m = slide - cross * u[0] / m;
    const double wy = on_m * u[1] - fork * u[2], wz = on_m * u[2] + fork * u[1];
    load[0] += a->psi.c * wx - a->psi.s * wy, load[1] += a->psi.s * wx + a->psi.c * wy;
    load[2] += wz;
    tau[3] = f[0] + wx * u[1] - wy * u[0];
  }
  double share[3], det = 0.0; /* the solve of sum_i share_i strut_i = load */
  for (int i = 0; i < 3; i++) {
    const double *b = x->limb[(i + 1) % 3].strut, *c = x->limb[(i + 2) % 3].strut;
    const double normal[3] = {b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2],
                              b[0] * c[1] - b[1] * c[0]};
    share[i] = load[0] * normal[0] + load[1] * normal[1] + load[2] * normal[2];
    if (i == 0) {
      const double *a = x->limb[0].strut;
      det = a[0] * normal[0] + a[1] * normal[1] + a[2] * normal[2];
    }
  }
  for (int i = 0; i < 3; i++) tau[i] += x->limb[i].d * share[i] / det;
}

#endif
