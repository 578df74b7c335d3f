/* Closed forms that a peer's engine needs around its open tree: C99, and C++ as well.
 *
 * The tree: limbs of arm (theta), elbow and sway, without sway in a plane, and with a spindle the
 * chain psi, fork, cross, slide, cross_low, fork_low. The platform is a point mass, or two halves
 * with what turns between them, and needs no engine: its force is a closed form too. A peer is
 * given all coordinates, rates and accelerations of its tree from p, pd, pdd by a few closed forms,
 * and its forces are brought to the drives by the transpose of the same forms: no numerical
 * Jacobian, no iteration, one small solve by cross products. No peer can do with less.
 *
 * LIMBS says what moves the elbows: arms with tangential axes in the base plane, arms about any
 * axes, or carriages on rails. PLATFORM says what they carry. Each pair is a program of its own.
 */
#ifndef DELTADYN_BENCH_CLOSURE_H
#define DELTADYN_BENCH_CLOSURE_H

#include <math.h>

#define POINT 0
#define PLANE 1
#define ARTICULATED 2
#define HELICAL 3
#ifndef PLATFORM
#define PLATFORM POINT
#endif

#if PLATFORM == PLANE
#define LEGS 2
#define LIMB_JOINTS 2 /* nothing sways in a plane */
#else
#define LEGS (PLATFORM == POINT ? 3 : 4)
#define LIMB_JOINTS 3
#endif
#define SPINDLE_JOINTS 6
#define MOST_JOINTS 15
#define BODIES (2 * LEGS + 3)
#define HAS_SPINDLE(dof) (PLATFORM == POINT && (dof) == 4)

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

/* Halves: the bars' angle at psi = 0 and their turns per turn of the tool, the places of both halves
 * along the bars or the screw; first moments along and across the bars, of the tool, inertia. */
typedef struct {
  double phi0, rate, sigma[2], S, S_s, h_x, h_y, I_psi;
} halves_numbers;

/* As the benchmark writes it: doubles only, so that no byte lies between two members. */
typedef struct {
  double dof, count, gravity, platform_mass, upper_z, lower_z;
  double rotor[4];
  halves_numbers halves;
  limb_shape limb[LEGS];
  body_numbers body[BODIES]; /* arm and strut of each limb, upper rod, lower rod, effector */
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
  limb_state limb[LEGS];
  spindle_state spindle;
  double bars[2], tool[2]; /* cosine and sine of the bars' angle and of psi */
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
#if PLATFORM == POINT
  for (int i = 0; i < LEGS; i++) close_limb(&robot->limb[i], p, pd, pdd, &x->limb[i]);
  if (dof == 4) close_spindle(robot, p, pd, pdd, &x->spindle);
#elif PLATFORM == PLANE
  const double a[3] = {p[0], 0, p[1]}, ad[3] = {pd[0], 0, pd[1]}, add[3] = {pdd[0], 0, pdd[1]};
  for (int i = 0; i < LEGS; i++) close_limb(&robot->limb[i], a, ad, add, &x->limb[i]);
#else
  const halves_numbers *h = &robot->halves;
  x->tool[0] = cos(p[3]), x->tool[1] = sin(p[3]);
#if PLATFORM == ARTICULATED
  const double phi = h->phi0 + h->rate * p[3], w = h->rate * pd[3], wd = h->rate * pdd[3];
  const double c = cos(phi), s = sin(phi);
  x->bars[0] = c, x->bars[1] = s;
#endif
  for (int half = 0; half < 2; half++) {
    const double sigma = h->sigma[half];
#if PLATFORM == ARTICULATED
    const double in = sigma * w * w, on = sigma * wd;
    const double a[3] = {p[0] + sigma * c, p[1] + sigma * s, p[2]};
    const double ad[3] = {pd[0] - sigma * w * s, pd[1] + sigma * w * c, pd[2]};
    const double add[3] = {pdd[0] - on * s - in * c, pdd[1] + on * c - in * s, pdd[2]};
#else
    const double a[3] = {p[0], p[1], p[2] + sigma * p[3]};
    const double ad[3] = {pd[0], pd[1], pd[2] + sigma * pd[3]};
    const double add[3] = {pdd[0], pdd[1], pdd[2] + sigma * pdd[3]};
#endif
    for (int i = 2 * half; i < 2 * half + 2; i++)
      close_limb(&robot->limb[i], a, ad, add, &x->limb[i]);
  }
#endif
}

static inline void cross_product(const double *a, const double *b, double *c) {
  c[0] = a[1] * b[2] - a[2] * b[1], c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

static inline double dot_product(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* What the platform itself asks of its coordinates: three of them are its place. */
static inline void platform_load(const robot_numbers *robot, int dof, const double *state,
                                 const closed_state *x, double *load) {
  const double *pdd = state + 2 * dof, mass = robot->platform_mass;
#if PLATFORM == PLANE
  load[0] = mass * pdd[0], load[1] = 0, load[2] = mass * (pdd[1] + robot->gravity);
#else
  load[0] = mass * pdd[0], load[1] = mass * pdd[1], load[2] = mass * (pdd[2] + robot->gravity);
#endif
#if PLATFORM == ARTICULATED || PLATFORM == HELICAL
  const halves_numbers *h = &robot->halves;
  const double ct = x->tool[0], st = x->tool[1], turn2 = state[dof + 3] * state[dof + 3];
  double w[3] = {-h->h_x * st - h->h_y * ct, h->h_x * ct - h->h_y * st, 0};
  double bend[2] = {-h->h_x * ct + h->h_y * st, -h->h_x * st - h->h_y * ct};
#if PLATFORM == ARTICULATED
  const double c = x->bars[0], s = x->bars[1], k = h->rate;
  w[0] -= k * (h->S * s + h->S_s * c), w[1] += k * (h->S * c - h->S_s * s);
  bend[0] -= k * k * (h->S * c - h->S_s * s), bend[1] -= k * k * (h->S * s + h->S_s * c);
  const double lifted = 0;
#else
  const double lifted = h->S;
  w[2] = h->S;
#endif
  load[3] = h->I_psi * pdd[3] + dot_product(w, pdd) + robot->gravity * lifted;
  load[0] += w[0] * pdd[3] + bend[0] * turn2, load[1] += w[1] * pdd[3] + bend[1] * turn2;
  load[2] += w[2] * pdd[3];
#endif
  (void)x;
}

/* share_i with the forces share_i strut_i at the attachments that carry the load. */
static inline void share_load(const robot_numbers *robot, const closed_state *x, const double *load,
                              double *share) {
#if PLATFORM == PLANE
  const double *a = x->limb[0].strut, *b = x->limb[1].strut;
  const double det = a[0] * b[2] - a[2] * b[0];
  share[0] = (load[0] * b[2] - load[2] * b[0]) / det;
  share[1] = (load[2] * a[0] - load[0] * a[2]) / det;
#elif PLATFORM == POINT
  double det = 0.0; /* the solve of sum_i share_i strut_i = load */
  for (int i = 0; i < 3; i++) {
    double normal[3];
    cross_product(x->limb[(i + 1) % 3].strut, x->limb[(i + 2) % 3].strut, normal);
    share[i] = dot_product(load, normal);
    if (i == 0) det = dot_product(x->limb[0].strut, normal);
  }
  for (int i = 0; i < 3; i++) share[i] /= det;
#else
  /* forces on the halves, each in the plane of its two struts, with the sum and moment asked for */
  const halves_numbers *h = &robot->halves;
#if PLATFORM == ARTICULATED
  const double along[3] = {-x->bars[1], x->bars[0], 0}, rate = h->rate;
#else
  const double along[3] = {0, 0, 1}, rate = 1;
#endif
  const double t = (load[3] / rate - h->sigma[1] * dot_product(along, load)) /
                   (h->sigma[0] - h->sigma[1]);
  double normal[2][3], turned[3], both[3], on[2][3];
  for (int half = 0; half < 2; half++)
    cross_product(x->limb[2 * half].strut, x->limb[2 * half + 1].strut, normal[half]);
  cross_product(along, normal[0], turned), cross_product(normal[0], normal[1], both);
  const double lead = dot_product(normal[1], load), det = dot_product(normal[1], turned);
  for (int k = 0; k < 3; k++) {
    on[0][k] = (lead * turned[k] + t * both[k]) / det;
    on[1][k] = load[k] - on[0][k];
  }
  for (int half = 0; half < 2; half++) {
    const double square = dot_product(normal[half], normal[half]);
    double first[3], second[3];
    cross_product(on[half], x->limb[2 * half + 1].strut, first);
    cross_product(x->limb[2 * half].strut, on[half], second);
    share[2 * half] = dot_product(first, normal[half]) / square;
    share[2 * half + 1] = dot_product(second, normal[half]) / square;
  }
#endif
  (void)robot;
}

/* The drives' torques from the tree's forces: virtual work of all joints and of the platform. */
static inline void project(const robot_numbers *robot, int dof, const double *state,
                           const closed_state *x, const double *force, double *tau) {
  double load[4], share[4];
  platform_load(robot, dof, state, x, load);
  for (int i = 0; i < LEGS; i++) {
    const limb_state *a = &x->limb[i];
    const limb_shape *g = &robot->limb[i];
    const double *f = force + LIMB_JOINTS * i;
    const double wr = f[1] * a->sz / a->m2, wz = -f[1] * a->sr / a->m2;
    const double wt = LIMB_JOINTS == 3 ? f[LIMB_JOINTS - 1] / a->m : 0;
    const double along[3] = {wr, wt, wz};
    double pull[3];
    from_limb(g, along, pull);
    tau[i] = f[0] - (LIMBS == RAILS ? 0 : f[1]) - wr * a->e1r - wz * a->e1z;
    for (int k = 0; k < 3; k++) load[k] += pull[k];
#if PLATFORM == ARTICULATED
    const double aside = x->bars[0] * pull[1] - x->bars[1] * pull[0];
    load[3] += robot->halves.sigma[i / 2] * robot->halves.rate * aside;
#elif PLATFORM == HELICAL
    load[3] += robot->halves.sigma[i / 2] * pull[2];
#endif
  }
  if (HAS_SPINDLE(dof)) {
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
  share_load(robot, x, load, share);
  for (int i = 0; i < LEGS; i++) tau[i] += x->limb[i].d * share[i];
}

#endif
