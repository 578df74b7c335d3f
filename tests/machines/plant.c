/* A Delta robot as a machine: bodies, drives with their imperfections, sensors, a sampled controller.

   Written apart from the library under test: no header and no formula of it is used.

   Mechanics. Every body is a set of particles, and the equations of motion are D'Alembert's

       sum_k m_k (a_k + g z) . dx_k/dq_j = Q_j,      a_k = (dx_k/dq) qdd + bias_k.

   A rod with mass m, centre c and transverse inertia I is two particles m/2 at c +- sqrt(I/m) on
   its line. A body that turns has second moments along its own axes e_a: they act as particles
   whose position is e_a. The rods' lengths are met exactly at every evaluation, because the
   platform is the lower intersection of three spheres about the elbows.

   Friction. Coulomb friction is set-valued: each axis sticks (its rate stays 0) or slides with a
   known sign. A step in which a rate would change its sign is cut at that instant. Between the
   cuts the right side is smooth and a Runge-Kutta step of fourth order is used. */

#include <math.h>
#include <string.h>

#define AXES 4
#define LIMBS 3
#define ORDERS 2
#define SLIPS 4
#define HISTORY 256

/* Lengths in m, masses in kg, angles in rad. The same order of fields stands in machines.py. */
typedef struct {
    double base_radius[LIMBS], platform_radius[LIMBS], arm[LIMBS], rod[LIMBS], azimuth[LIMBS];
    double arm_mass[LIMBS], arm_com[LIMBS], arm_offset[LIMBS], arm_inertia[LIMBS];
    double elbow_mass[LIMBS];
    double rod_mass[LIMBS], rod_com[LIMBS], rod_inertia[LIMBS]; /* of one of the two rods */
    double platform_mass, payload_mass, payload_at[3], payload_turning, gravity;
    double spindle; /* 1 where there is a telescope and a fourth axis */
    double upper_z, lower_z;
    double upper_mass, upper_com, upper_across, upper_along;
    double lower_mass, lower_com, lower_across, lower_along;
    double effector_mass, effector_at[3], effector_turning;
    double slide_viscous, slide_coulomb; /* in the telescope */
} Bodies;

/* One drive, seen at the output side of its gear. */
typedef struct {
    double rotor; /* kg m^2 */
    double viscous, coulomb, asymmetry;
    double stribeck, stribeck_rate, stribeck_power;
    double thinning, thinning_rate; /* extra viscosity at rest, and the rate at which it halves */
    double warm_range, warm_time, warm_mean;
    double bristle, bristle_damping; /* LuGre in place of set-valued friction where bristle > 0 */
    double slip_stiffness[SLIPS], slip_torque[SLIPS]; /* Maxwell elements */
    double ripple[ORDERS], ripple_order[ORDERS], ripple_phase[ORDERS]; /* N m, per turn, rad */
    double loss_load, loss_motor; /* shares of the torque through the gear, of the motor's torque */
    double stiffness, damping;    /* of the gear; rigid where stiffness is 0 */
    double hardening;             /* rad: the spring is twice as stiff (secant) at this wind-up */
    double creep_stiffness, creep_time; /* a spring in series with a damper, beside the gear */
    double torque_constant;       /* true over assumed */
    double current_time;          /* s, first order */
    double eccentricity, eccentricity_phase, encoder_ratio; /* turns of the disc per turn */
    double angle_delay, torque_delay; /* s, by which each is logged late */
    double step;  /* rad, of the encoder */
    double kp, ki, kd, rate_filter; /* controller; the filter in s */
    double limit;                   /* N m */
} Drive;

/* What touches the machine. A wall pushes back along its normal as a spring where the platform is
   behind it. */
typedef struct {
    double wall_at[3], wall_normal[3], wall_stiffness; /* m, unit vector, N/m; none where it is 0 */
} World;

typedef struct {
    double x[AXES], v[AXES]; /* arms (and spindle) */
    double m[AXES], u[AXES]; /* rotors; only with elastic gears */
    double z[AXES], c[AXES]; /* bristles; creep of the gear */
} State;

typedef struct {
    const Bodies *b;
    const Drive *d;
    World world;
    double force[3], pull[AXES]; /* on the platform in N, on the arms in N m: of this tick */
    int n, elastic;
    double w0[LIMBS], w1[LIMBS], s00[LIMBS], s01[LIMBS], s11[LIMBS]; /* moments of the rods' particles */
    double ca[LIMBS], sa[LIMBS];
    int mode[AXES], side[AXES]; /* sliding sign or 0; sign of the torque through the gear */
    double slip[AXES][SLIPS];   /* deflections at the start of a step */
    double at[AXES];            /* rotor angles at the start of a step */
    double torque[AXES], target[AXES], since; /* motor torque of the current interval */
    double warm[AXES];
} Machine;

/* ------------------------------------------------------------------------------ mechanics */

typedef struct {
    double M[AXES][AXES], h[AXES]; /* M qdd + h is the torque at the arms */
    double p[3], pd[3], J[3][AXES], gamma[3], lengths;
} Mechanics;

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static void prepare(Machine *k, const Bodies *b, const Drive *d)
{
    memset(k, 0, sizeof *k);
    k->b = b;
    k->d = d;
    k->n = b->spindle != 0 ? 4 : 3;
    for (int i = 0; i < LIMBS; i++) {
        double spread = b->rod_mass[i] > 0 ? sqrt(b->rod_inertia[i] / b->rod_mass[i]) : 0.0;
        k->ca[i] = cos(b->azimuth[i]);
        k->sa[i] = sin(b->azimuth[i]);
        for (int rod = 0; rod < 2; rod++)
            for (int sign = -1; sign <= 1; sign += 2) {
                double m = b->rod_mass[i] / 2;
                double s = (b->rod_com[i] + sign * spread) / b->rod[i]; /* x = (1 - s) E + s B */
                k->w0[i] += m * (1 - s);
                k->w1[i] += m * s;
                k->s00[i] += m * (1 - s) * (1 - s);
                k->s01[i] += m * s * (1 - s);
                k->s11[i] += m * s * s;
            }
    }
    if (d)
        for (int i = 0; i < k->n; i++) k->elastic |= d[i].stiffness > 0;
}

/* One more set of particles at a vector e(y) of y = (p, psi): mass matrix and bias force. */
static void add_particles(double m, double D[3][4], const double *bias, double M[4][4], double *f)
{
    for (int j = 0; j < 4; j++) {
        double col[3] = {D[0][j], D[1][j], D[2][j]};
        f[j] += m * dot(col, bias);
        for (int l = 0; l <= j; l++) {
            double v = m * (D[0][j] * D[0][l] + D[1][j] * D[1][l] + D[2][j] * D[2][l]);
            M[j][l] += v;
            if (l != j) M[l][j] += v;
        }
    }
}

/* Unit vector of w with its derivatives: e' = P w'/|w|, and the second derivative along the motion. */
typedef struct { double e[3], D[3][4], d1[3], d2[3], size, rate; } Unit;

static void unit(const double *w, double W[3][4], const double *w1, const double *w2, Unit *u)
{
    double l = sqrt(dot(w, w)), l1, l2;
    for (int i = 0; i < 3; i++) u->e[i] = w[i] / l;
    l1 = dot(u->e, w1);
    for (int i = 0; i < 3; i++) u->d1[i] = (w1[i] - l1 * u->e[i]) / l;
    l2 = dot(u->d1, w1) + dot(u->e, w2);
    for (int i = 0; i < 3; i++) u->d2[i] = (w2[i] - l2 * u->e[i] - 2 * l1 * u->d1[i]) / l;
    for (int j = 0; j < 4; j++) {
        double along = u->e[0] * W[0][j] + u->e[1] * W[1][j] + u->e[2] * W[2][j];
        for (int i = 0; i < 3; i++) u->D[i][j] = (W[i][j] - along * u->e[i]) / l;
    }
    u->size = l;
    u->rate = l1;
}

/* Cross product of two moving vectors, with the same derivatives. */
static void moving_cross(const Unit *a, const Unit *b, double *w, double W[3][4], double *w1, double *w2)
{
    double t[3], s[3];
    cross(a->e, b->e, w);
    cross(a->d1, b->e, t);
    cross(a->e, b->d1, s);
    for (int i = 0; i < 3; i++) w1[i] = t[i] + s[i];
    cross(a->d2, b->e, t);
    cross(a->e, b->d2, s);
    for (int i = 0; i < 3; i++) w2[i] = t[i] + s[i];
    cross(a->d1, b->d1, t);
    for (int i = 0; i < 3; i++) w2[i] += 2 * t[i];
    for (int j = 0; j < 4; j++) {
        double ca[3] = {a->D[0][j], a->D[1][j], a->D[2][j]};
        double cb[3] = {b->D[0][j], b->D[1][j], b->D[2][j]};
        cross(ca, b->e, t);
        cross(a->e, cb, s);
        for (int i = 0; i < 3; i++) W[i][j] = t[i] + s[i];
    }
}

/* Telescope and effector in the coordinates (p, psi): M and the force at rest of the coordinates. */
static void spindle(const Bodies *b, const double *p, const double *pd, double psi, double psid,
                    double M[4][4], double *f)
{
    double w[3] = {p[0], p[1], p[2] + b->lower_z - b->upper_z}, zero[3] = {0, 0, 0};
    double I[3][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}};
    double c = cos(psi), s = sin(psi), w1[3], w2[3], W[3][4];
    Unit v, fork, across, third;
    unit(w, I, pd, zero, &v);
    memset(&fork, 0, sizeof fork);
    fork.e[0] = c, fork.e[1] = s;
    fork.D[0][3] = -s, fork.D[1][3] = c;
    fork.d1[0] = -s * psid, fork.d1[1] = c * psid;
    fork.d2[0] = -c * psid * psid, fork.d2[1] = -s * psid * psid;
    double x[3];
    moving_cross(&v, &fork, x, W, w1, w2);
    unit(x, W, w1, w2, &across);
    moving_cross(&v, &across, third.e, third.D, third.d1, third.d2);

    /* second moments along (across, third, v): P_1 = P_2 = I_along / 2, P_3 = I_across - P_1 */
    double P1 = (b->upper_along + b->lower_along) / 2;
    add_particles(P1, across.D, across.d2, M, f);
    add_particles(P1, third.D, third.d2, M, f);
    add_particles(b->upper_across + b->lower_across - P1, v.D, v.d2, M, f);

    /* centres of mass: the upper rod's at o + c1 v, the lower rod's at p_lower - c2 v */
    double D[3][4], a[3];
    for (int i = 0; i < 3; i++) {
        a[i] = b->upper_com * v.d2[i] + (i == 2 ? b->gravity : 0);
        for (int j = 0; j < 4; j++) D[i][j] = b->upper_com * v.D[i][j];
    }
    add_particles(b->upper_mass, D, a, M, f);
    for (int i = 0; i < 3; i++) {
        a[i] = -b->lower_com * v.d2[i] + (i == 2 ? b->gravity : 0);
        for (int j = 0; j < 4; j++) D[i][j] = I[i][j] - b->lower_com * v.D[i][j];
    }
    add_particles(b->lower_mass, D, a, M, f);

    /* effector and payload turn about the vertical by psi */
    for (int part = 0; part < 2; part++) {
        const double *at = part ? b->payload_at : b->effector_at;
        double m = part ? b->payload_mass : b->effector_mass;
        double ex = c * at[0] - s * at[1], ey = s * at[0] + c * at[1];
        memcpy(D, I, sizeof D);
        D[0][3] = -ey, D[1][3] = ex;
        a[0] = -ex * psid * psid, a[1] = -ey * psid * psid, a[2] = b->gravity;
        add_particles(m, D, a, M, f);
    }
    M[3][3] += b->effector_turning + b->payload_turning;

    /* friction in the telescope, smooth below 1 mm/s */
    double slide = b->slide_viscous * v.rate + b->slide_coulomb * tanh(v.rate / 1e-3);
    for (int i = 0; i < 3; i++) f[i] += slide * v.e[i];
}

static void mechanics(const Machine *k, const double *q, const double *qd, Mechanics *o)
{
    const Bodies *b = k->b;
    int n = k->n;
    double E1[LIMBS][3], E2[LIMBS][3], C[LIMBS][3], S[LIMBS][3], d[LIMBS];
    for (int i = 0; i < LIMBS; i++) {
        double c = cos(q[i]), s = sin(q[i]), l = b->arm[i];
        double radial = b->base_radius[i] + l * c - b->platform_radius[i];
        C[i][0] = radial * k->ca[i], C[i][1] = radial * k->sa[i], C[i][2] = -l * s;
        E1[i][0] = -l * s * k->ca[i], E1[i][1] = -l * s * k->sa[i], E1[i][2] = -l * c;
        E2[i][0] = -l * c * k->ca[i], E2[i][1] = -l * c * k->sa[i], E2[i][2] = l * s;
    }

    /* the lower point at the rods' lengths from the three centres */
    double u[3], v[3], nrm[3], t1[3], t2[3], a1, a2, n2, from[3];
    for (int j = 0; j < 3; j++) u[j] = C[1][j] - C[0][j], v[j] = C[2][j] - C[0][j];
    cross(u, v, nrm);
    n2 = dot(nrm, nrm);
    a1 = (dot(u, u) - b->rod[1] * b->rod[1] + b->rod[0] * b->rod[0]) / 2; /* u . (p - C0) */
    a2 = (dot(v, v) - b->rod[2] * b->rod[2] + b->rod[0] * b->rod[0]) / 2;
    cross(v, nrm, t1);
    cross(nrm, u, t2);
    for (int j = 0; j < 3; j++) from[j] = (a1 * t1[j] + a2 * t2[j]) / n2;
    double up = sqrt((b->rod[0] * b->rod[0] - dot(from, from)) / n2);
    if (nrm[2] > 0) up = -up;
    for (int j = 0; j < 3; j++) o->p[j] = C[0][j] + from[j] + up * nrm[j];

    /* s.(pd - E' qd) = 0 and its derivative give pd = J qd and pdd = J qdd + gamma */
    for (int i = 0; i < LIMBS; i++) {
        for (int j = 0; j < 3; j++) S[i][j] = o->p[j] - C[i][j];
        d[i] = dot(S[i], E1[i]);
    }
    double inv[3][3], col[3][3], det;
    cross(S[1], S[2], col[0]);
    cross(S[2], S[0], col[1]);
    cross(S[0], S[1], col[2]);
    det = dot(S[0], col[0]);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) inv[j][i] = col[i][j] / det;
    for (int j = 0; j < 3; j++) {
        for (int i = 0; i < 3; i++) o->J[j][i] = inv[j][i] * d[i];
        o->J[j][3] = 0;
        o->pd[j] = o->J[j][0] * qd[0] + o->J[j][1] * qd[1] + o->J[j][2] * qd[2];
    }
    double right[3];
    for (int i = 0; i < LIMBS; i++) {
        double rel[3];
        for (int j = 0; j < 3; j++) rel[j] = o->pd[j] - E1[i][j] * qd[i];
        right[i] = dot(S[i], E2[i]) * qd[i] * qd[i] - dot(rel, rel);
    }
    for (int j = 0; j < 3; j++) o->gamma[j] = dot(inv[j], right);

    /* the platform's share, in (p, psi) */
    double Mp[4][4] = {{0}}, f[4] = {0, 0, 0, 0};
    double mass = b->platform_mass + (b->spindle != 0 ? 0 : b->payload_mass);
    for (int i = 0; i < LIMBS; i++) mass += k->s11[i];
    Mp[0][0] = Mp[1][1] = Mp[2][2] = mass;
    f[2] = b->platform_mass * b->gravity + (b->spindle != 0 ? 0 : b->payload_mass * b->gravity);
    for (int i = 0; i < LIMBS; i++) {
        f[2] += k->w1[i] * b->gravity;
        for (int j = 0; j < 3; j++) f[j] += k->s01[i] * E2[i][j] * qd[i] * qd[i];
    }
    if (b->spindle != 0) spindle(b, o->p, o->pd, q[3], qd[3], Mp, f);
    double depth = 0;
    if (k->world.wall_stiffness > 0)
        for (int j = 0; j < 3; j++) depth += (k->world.wall_at[j] - o->p[j]) * k->world.wall_normal[j];
    for (int j = 0; j < 3; j++) {
        f[j] -= k->force[j];
        if (depth > 0) f[j] -= k->world.wall_stiffness * depth * k->world.wall_normal[j];
    }
    for (int j = 0; j < 4; j++)
        f[j] += Mp[j][0] * o->gamma[0] + Mp[j][1] * o->gamma[1] + Mp[j][2] * o->gamma[2];

    /* all in the arms' angles: y' = T q' with T = [J 0; 0 1] */
    double MT[4][AXES];
    for (int r = 0; r < 4; r++)
        for (int j = 0; j < n; j++)
            MT[r][j] = j < 3 ? Mp[r][0] * o->J[0][j] + Mp[r][1] * o->J[1][j] + Mp[r][2] * o->J[2][j]
                             : Mp[r][3];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            o->M[i][j] = i < 3 ? o->J[0][i] * MT[0][j] + o->J[1][i] * MT[1][j] + o->J[2][i] * MT[2][j]
                               : MT[3][j];
    for (int i = 0; i < LIMBS; i++) {
        for (int j = 0; j < LIMBS; j++) {
            double mixed = k->s01[i] *
                           (E1[i][0] * o->J[0][j] + E1[i][1] * o->J[1][j] + E1[i][2] * o->J[2][j]);
            o->M[i][j] += mixed;
            o->M[j][i] += mixed;
        }
        double a = b->arm_com[i], off = b->arm_offset[i], l = b->arm[i];
        double c = cos(q[i]), s = sin(q[i]);
        o->M[i][i] += b->arm_inertia[i] + b->arm_mass[i] * (a * a + off * off) +
                      (b->elbow_mass[i] + k->s00[i]) * l * l;
        o->h[i] = k->s01[i] * dot(E1[i], o->gamma) + o->J[0][i] * f[0] + o->J[1][i] * f[1] +
                  o->J[2][i] * f[2] -
                  b->gravity * (b->arm_mass[i] * (a * c + off * s) +
                                (b->elbow_mass[i] + k->w0[i]) * l * c);
    }
    if (n == 4) o->h[3] = f[3];
    for (int i = 0; i < n; i++) o->h[i] -= k->pull[i];
    o->lengths = 0;
    for (int i = 0; i < LIMBS; i++) {
        double gap = fabs(sqrt(dot(S[i], S[i])) - b->rod[i]);
        if (!(gap <= o->lengths)) o->lengths = gap;
    }
}

/* -------------------------------------------------------------------------------- drives */

static double motor_torque(const Machine *k, int i, double t)
{
    const Drive *d = &k->d[i];
    double c = k->target[i] + (k->torque[i] - k->target[i]) * exp(-(t - k->since) / d->current_time);
    return d->torque_constant * c;
}

static double ripple(const Drive *d, double x)
{
    double sum = 0;
    for (int o = 0; o < ORDERS; o++)
        if (d->ripple[o] != 0) sum += d->ripple[o] * cos(d->ripple_order[o] * x + d->ripple_phase[o]);
    return sum;
}

/* Level of the dry friction towards one side at rate v. */
static double dry(const Drive *d, double v, int sign)
{
    double level = d->coulomb * (1 + sign * d->asymmetry);
    if (d->stribeck != 0) {
        double r = fabs(v) / d->stribeck_rate;
        level += d->stribeck * exp(-(d->stribeck_power == 2 ? r * r : pow(r, d->stribeck_power)));
    }
    return level;
}

static double viscous(const Machine *k, int i, double v)
{
    const Drive *d = &k->d[i];
    return k->warm[i] * (d->viscous + d->thinning / (1 + fabs(v) / d->thinning_rate)) * v;
}

static double clip(double x, double limit) { return x > limit ? limit : x < -limit ? -limit : x; }

/* Maxwell elements: springs that slip at their torque, each a play operator of the angle. */
static double hysteresis(const Machine *k, int i, double x)
{
    const Drive *d = &k->d[i];
    double sum = 0;
    for (int j = 0; j < SLIPS; j++)
        if (d->slip_stiffness[j] > 0) {
            double most = d->slip_torque[j] / d->slip_stiffness[j];
            sum += d->slip_stiffness[j] * clip(k->slip[i][j] + x - k->at[i], most);
        }
    return sum;
}

/* Share of the dry friction that is mobilised, with its sign: what the loss in the gear follows. */
static double mobilised(const Machine *k, int i, double v, double z)
{
    const Drive *d = &k->d[i];
    return d->bristle > 0 ? clip(d->bristle * z / dry(d, v, v >= 0 ? 1 : -1), 1) : k->mode[i];
}

/* Torque of a bristle that follows z' = v - bristle |v| z / level. */
static double bristles(const Drive *d, double v, double z, double *zd)
{
    *zd = v - d->bristle * fabs(v) * z / dry(d, v, v >= 0 ? 1 : -1);
    return d->bristle * z + d->bristle_damping * *zd;
}

static double gear_torque(const Drive *d, double wind, double wind_rate, double creep)
{
    double t = d->stiffness * wind + d->damping * wind_rate;
    if (d->hardening > 0) t += d->stiffness * wind * wind * wind / (d->hardening * d->hardening);
    if (d->creep_stiffness > 0) t += d->creep_stiffness * (wind - creep);
    return t;
}

/* Solve A x = y in place for the axes that are free; the others keep x = 0. */
static void solve(int n, double A[AXES][AXES], double *y, const int *held)
{
    for (int i = 0; i < n; i++)
        if (held[i]) {
            for (int j = 0; j < n; j++) A[i][j] = A[j][i] = 0;
            A[i][i] = 1;
            y[i] = 0;
        }
    for (int i = 0; i < n; i++)
        for (int r = i + 1; r < n; r++) {
            double f = A[r][i] / A[i][i];
            for (int j = i; j < n; j++) A[r][j] -= f * A[i][j];
            y[r] -= f * y[i];
        }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) y[i] -= A[i][j] * y[j];
        y[i] /= A[i][i];
    }
}

typedef struct {
    double acc[AXES];      /* of the arms */
    double rotor[AXES];    /* of the rotors */
    double bristle[AXES], creep[AXES];
    double hold[AXES];     /* what friction must give on an axis that sticks */
    double level[2][AXES]; /* and the most it can, down and up */
    double gear[AXES];     /* torque through the gear */
} Rates;

/* Accelerations for given modes of friction. */
static void rates(Machine *k, const State *y, double t, Rates *r)
{
    Mechanics o;
    int n = k->n, held[AXES] = {0, 0, 0, 0};
    double motor[AXES], push[AXES];
    mechanics(k, y->x, y->v, &o);
    for (int i = 0; i < n; i++) {
        const Drive *d = &k->d[i];
        double x = k->elastic ? y->m[i] : y->x[i], v = k->elastic ? y->u[i] : y->v[i];
        motor[i] = motor_torque(k, i, t);
        push[i] = motor[i] - viscous(k, i, v) - ripple(d, x) - hysteresis(k, i, x);
        r->bristle[i] = r->creep[i] = r->rotor[i] = r->hold[i] = 0;
        held[i] = k->mode[i] == 0;
        if (d->bristle > 0) {
            push[i] -= bristles(d, v, y->z[i], &r->bristle[i]);
            push[i] -= d->loss_motor * mobilised(k, i, v, y->z[i]) * fabs(motor[i]);
            held[i] = 0;
        } else if (k->mode[i]) {
            push[i] -= k->mode[i] * (dry(d, v, k->mode[i]) + d->loss_motor * fabs(motor[i]));
        }
    }
    if (k->elastic) {
        for (int i = 0; i < n; i++) {
            const Drive *d = &k->d[i];
            double g = gear_torque(d, y->m[i] - y->x[i], y->u[i] - y->v[i], y->c[i]);
            r->gear[i] = g;
            if (d->creep_stiffness > 0) r->creep[i] = (y->m[i] - y->x[i] - y->c[i]) / d->creep_time;
            r->acc[i] = g - o.h[i];
            r->hold[i] = push[i] - g;
            double s = mobilised(k, i, y->u[i], y->z[i]);
            r->rotor[i] = held[i] ? 0 : (push[i] - g - d->loss_load * s * fabs(g)) / d->rotor;
        }
        int none[AXES] = {0, 0, 0, 0};
        solve(n, o.M, r->acc, none);
    } else {
        /* rotor and arm move as one: push = rotor qdd + (1 + loss s side) (M qdd + h), where side
           is the sign of M qdd + h; the first guess of it is that of the last evaluation */
        for (int pass = 0; pass < 6; pass++) {
            double A[AXES][AXES], right[AXES];
            int same = 1;
            for (int i = 0; i < n; i++) {
                const Drive *d = &k->d[i];
                double s = mobilised(k, i, y->v[i], y->z[i]);
                double gain = 1 + d->loss_load * s * k->side[i];
                for (int j = 0; j < n; j++) A[i][j] = gain * o.M[i][j];
                A[i][i] += d->rotor;
                right[i] = push[i] - gain * o.h[i];
            }
            solve(n, A, right, held);
            for (int i = 0; i < n; i++) {
                double g = o.h[i];
                for (int j = 0; j < n; j++) g += o.M[i][j] * right[j];
                r->acc[i] = right[i];
                r->gear[i] = g;
                r->hold[i] = push[i] - g;
                int side = g >= 0 ? 1 : -1;
                if (k->d[i].loss_load != 0 && side != k->side[i]) same = 0;
                k->side[i] = side;
            }
            if (same) break;
        }
    }
    for (int i = 0; i < n; i++) {
        const Drive *d = &k->d[i];
        double more = d->loss_load * fabs(r->gear[i]) + d->loss_motor * fabs(motor[i]);
        r->level[0][i] = dry(d, 0, -1) + more;
        r->level[1][i] = dry(d, 0, 1) + more;
    }
}

static void along(const Machine *k, const State *y, const State *at, const Rates *r, double h, State *to)
{
    for (int i = 0; i < k->n; i++) {
        to->x[i] = y->x[i] + h * at->v[i];
        to->v[i] = y->v[i] + h * r->acc[i];
        to->m[i] = y->m[i] + h * at->u[i];
        to->u[i] = y->u[i] + h * r->rotor[i];
        to->z[i] = y->z[i] + h * r->bristle[i];
        to->c[i] = y->c[i] + h * r->creep[i];
    }
}

static void runge_kutta(Machine *k, const State *y, double t, double h, State *to)
{
    State a, b, c;
    Rates r1, r2, r3, r4;
    rates(k, y, t, &r1);
    along(k, y, y, &r1, h / 2, &a);
    rates(k, &a, t + h / 2, &r2);
    along(k, y, &a, &r2, h / 2, &b);
    rates(k, &b, t + h / 2, &r3);
    along(k, y, &b, &r3, h, &c);
    rates(k, &c, t + h, &r4);
    for (int i = 0; i < k->n; i++) {
        to->x[i] = y->x[i] + h / 6 * (y->v[i] + 2 * a.v[i] + 2 * b.v[i] + c.v[i]);
        to->m[i] = y->m[i] + h / 6 * (y->u[i] + 2 * a.u[i] + 2 * b.u[i] + c.u[i]);
        to->v[i] = y->v[i] + h / 6 * (r1.acc[i] + 2 * r2.acc[i] + 2 * r3.acc[i] + r4.acc[i]);
        to->u[i] = y->u[i] + h / 6 * (r1.rotor[i] + 2 * r2.rotor[i] + 2 * r3.rotor[i] + r4.rotor[i]);
        to->z[i] =
            y->z[i] + h / 6 * (r1.bristle[i] + 2 * r2.bristle[i] + 2 * r3.bristle[i] + r4.bristle[i]);
        to->c[i] = y->c[i] + h / 6 * (r1.creep[i] + 2 * r2.creep[i] + 2 * r3.creep[i] + r4.creep[i]);
    }
}

static double *turning(const Machine *k, State *y) { return k->elastic ? y->u : y->v; }
static double *turned(const Machine *k, State *y) { return k->elastic ? y->m : y->x; }

static void start_step(Machine *k, State *y)
{
    for (int i = 0; i < k->n; i++) k->at[i] = turned(k, y)[i];
}

static void end_step(Machine *k, State *y)
{
    for (int i = 0; i < k->n; i++)
        for (int j = 0; j < SLIPS; j++) {
            const Drive *d = &k->d[i];
            if (d->slip_stiffness[j] > 0)
                k->slip[i][j] = clip(k->slip[i][j] + turned(k, y)[i] - k->at[i],
                                     d->slip_torque[j] / d->slip_stiffness[j]);
        }
    start_step(k, y);
}

/* Release the axes whose friction cannot hold them. */
static void release(Machine *k, const State *y, double t)
{
    for (int pass = 0; pass < AXES; pass++) {
        Rates r;
        int some = 0, changed = 0;
        for (int i = 0; i < k->n; i++) some |= k->mode[i] == 0 && !(k->d[i].bristle > 0);
        if (!some) return;
        rates(k, y, t, &r);
        for (int i = 0; i < k->n; i++)
            if (k->mode[i] == 0 && !(k->d[i].bristle > 0)) {
                if (r.hold[i] > r.level[1][i]) k->mode[i] = 1, changed = 1;
                else if (r.hold[i] < -r.level[0][i]) k->mode[i] = -1, changed = 1;
            }
        if (!changed) return;
    }
}

/* Move on by h; a rate that reaches 0 on the way stops there and may start again. */
static void advance(Machine *k, State *y, double t, double h)
{
    double left = h;
    for (int cut = 0; left > 1e-12 && cut < 12; cut++) {
        State to;
        int first = -1;
        double share = 1;
        start_step(k, y);
        release(k, y, t);
        runge_kutta(k, y, t, left, &to);
        for (int i = 0; i < k->n; i++) {
            double v0 = turning(k, y)[i], v1 = turning(k, &to)[i];
            if (k->mode[i] && !(k->d[i].bristle > 0) && v1 * k->mode[i] < 0) {
                double s = v0 * k->mode[i] > 0 ? v0 / (v0 - v1) : 0;
                if (s < share || first < 0) share = s, first = i;
            }
        }
        if (first >= 0 && cut < 11) {
            if (share > 0) { /* the instant of rest, by one more secant step */
                double v0 = turning(k, y)[first], v1;
                runge_kutta(k, y, t, share * left, &to);
                v1 = turning(k, &to)[first];
                if (v0 != v1) {
                    double better = share * v0 / (v0 - v1);
                    if (better > 0 && better < 1) share = better;
                }
                runge_kutta(k, y, t, share * left, &to);
                turning(k, &to)[first] = 0;
                *y = to;
                end_step(k, y);
                t += share * left;
                left -= share * left;
            } else {
                turning(k, y)[first] = 0;
            }
            k->mode[first] = 0;
            continue;
        }
        *y = to;
        end_step(k, y);
        for (int i = 0; i < k->n; i++)
            if (!k->mode[i] && !(k->d[i].bristle > 0)) turning(k, y)[i] = 0;
        return;
    }
}

/* --------------------------------------------------------------------- sensors and control */

typedef struct { double t, x[AXES], v[AXES]; } Past;

static double past_angle(const Past *ring, long count, int i, double t)
{
    long j = count - 1, oldest = count > HISTORY ? count - HISTORY : 0;
    while (j > oldest && ring[j % HISTORY].t > t) j--;
    const Past *a = &ring[j % HISTORY];
    if (t <= a->t || j + 1 >= count) return a->x[i] + a->v[i] * (t - a->t);
    const Past *b = &ring[(j + 1) % HISTORY];
    double h = b->t - a->t, s = (t - a->t) / h;
    double h00 = (1 + 2 * s) * (1 - s) * (1 - s), h01 = s * s * (3 - 2 * s);
    return h00 * a->x[i] + h01 * b->x[i] + h * s * (1 - s) * ((1 - s) * a->v[i] - s * b->v[i]);
}

/* An eccentric disc seen from its axis: the angle of (cos x + e cos f, sin x + e sin f), where x is
   the angle of the disc, which may sit at the motor's side of the gear. */
static double read_angle(const Drive *d, double x, double noise)
{
    double e = d->eccentricity, f = d->eccentricity_phase;
    double disc = d->encoder_ratio * x;
    if (e != 0) x += atan2(e * sin(f - disc), 1 + e * cos(f - disc)) / d->encoder_ratio;
    x += noise;
    return d->step > 0 ? d->step * nearbyint(x / d->step) : x;
}

/* Integral from the start of tick j to a time in it of target + (current - target) exp(-t/T). */
static double impulse(double current, double target, double T, double t)
{
    return target * t + (current - target) * T * (1 - exp(-t / T));
}

/* What the drives report: the mean of the current over one tick about the sample, late or not. */
static void report(const Drive *drives, int axes, long n, double tick, const double *current,
                   const double *target, double *reported)
{
    for (int i = 0; i < axes; i++)
        for (long s = 0; s < n; s++) {
            double T = drives[i].current_time, sum = 0;
            double from = (s - 0.5) * tick - drives[i].torque_delay, to = from + tick;
            from = from > 0 ? from : 0;
            to = to > tick / 2 ? to : tick / 2;
            to = to < n * tick ? to : n * tick;
            for (long j = (long)(from / tick); j < n && j * tick < to; j++) {
                double a = from - j * tick, b = to - j * tick, c = current[j * axes + i];
                double u = target[j * axes + i];
                a = a > 0 ? a : 0;
                b = b < tick ? b : tick;
                if (b > a) sum += impulse(c, u, T, b) - impulse(c, u, T, a);
            }
            reported[s * axes + i] = sum / (to - from);
        }
}

/* The closed loop over n samples of `tick` seconds, `substeps` steps each, from rest or motion.

   In, (n, axes): reference angle and rate, feedforward torque, noise of the encoder. What touches
   the machine: a wall, and where they are not NULL a force on the platform (n, 3), a torque on the
   arms (n, axes) and the mass that is carried (n,), each constant over its tick.
   Out, (n, axes): current (in N m) at the start of each tick and its target, the angle read, the torque reported without noise (mean over one tick about the
   sample, in the unit of the assumed torque constant), then the truth at the samples: angle, rate,
   acceleration of the arms, motor torque, torque through the gear, angle and friction state of the
   rotor; (n, 3): platform. Returns 0, or the number of the sample at which the machine broke. */
long plant_run(const Bodies *bodies, const Drive *drives, long n, double tick, int substeps,
               double clock, const World *world, const double *force, const double *pull,
               const double *carried, const double *ref, const double *ref_rate, const double *forward,
               const double *noise, double *current, double *target, double *read,
               double *reported, double *q, double *qd, double *qdd, double *torque, double *gear,
               double *rotor, double *stuck, double *platform)
{
    Machine k;
    State y;
    static _Thread_local Past ring[HISTORY];
    long count = 0;
    double integral[AXES] = {0}, last[AXES] = {0}, rate[AXES] = {0};
    Bodies loaded = *bodies;
    prepare(&k, &loaded, drives);
    if (world) k.world = *world;
    int axes = k.n;
    memset(&y, 0, sizeof y);
    for (int i = 0; i < axes; i++) {
        y.x[i] = y.m[i] = ref[i];
        y.v[i] = y.u[i] = ref_rate[i];
        k.mode[i] = (y.v[i] > 0) - (y.v[i] < 0);
        k.side[i] = 1;
        k.torque[i] = k.target[i] = forward[i];
        k.warm[i] = 1;
        last[i] = read_angle(&drives[i], ref[i], 0);
        rate[i] = ref_rate[i];
    }
    for (long s = 0; s < n; s++) {
        double t = s * tick;
        Past *now = &ring[count++ % HISTORY];
        Rates r;
        now->t = t;
        for (int i = 0; i < axes; i++) {
            now->x[i] = turned(&k, &y)[i];
            now->v[i] = turning(&k, &y)[i];
        }
        for (int i = 0; i < axes; i++) {
            const Drive *d = &drives[i];
            double at = read_angle(d, now->x[i], noise[s * axes + i]), error, u;
            if (s > 0) {
                double blend = tick / (tick + d->rate_filter);
                rate[i] += blend * ((at - last[i]) / tick - rate[i]);
                k.torque[i] = k.target[i] + (k.torque[i] - k.target[i]) * exp(-tick / d->current_time);
            }
            last[i] = at;
            error = ref[s * axes + i] - at;
            integral[i] = clip(integral[i] + d->ki * error * tick, d->limit);
            u = forward[s * axes + i] + d->kp * error + d->kd * (ref_rate[s * axes + i] - rate[i]) +
                integral[i];
            k.target[i] = clip(u, d->limit);
            if (d->angle_delay > 0) /* on the way to the log; the drive's own loop sees it at once */
                at = read_angle(d, past_angle(ring, count, i, t - d->angle_delay), noise[s * axes + i]);
            read[s * axes + i] = at;
            current[s * axes + i] = k.torque[i];
            target[s * axes + i] = k.target[i];
            if (d->warm_range != 0)
                k.warm[i] = 1 + d->warm_range * (exp(-(clock + t) / d->warm_time) - d->warm_mean);
        }
        if (force) memcpy(k.force, force + 3 * s, sizeof k.force);
        if (pull) memcpy(k.pull, pull + s * axes, axes * sizeof *pull);
        if (carried) loaded.payload_mass = bodies->payload_mass + carried[s];
        k.since = t;
        start_step(&k, &y);
        release(&k, &y, t);
        rates(&k, &y, t, &r);
        Mechanics o;
        mechanics(&k, y.x, y.v, &o);
        for (int i = 0; i < axes; i++) {
            long j = s * axes + i;
            q[j] = y.x[i], qd[j] = y.v[i], qdd[j] = r.acc[i];
            torque[j] = motor_torque(&k, i, t);
            gear[j] = r.gear[i];
            rotor[j] = turned(&k, &y)[i];
            stuck[j] = k.mode[i] == 0 && !(drives[i].bristle > 0);
            if (!isfinite(r.acc[i]) || !isfinite(y.x[i])) return s + 1;
        }
        memcpy(platform + 3 * s, o.p, sizeof o.p);
        for (int step = 0; step < substeps; step++) {
            double h = tick / substeps, at = t + step * h;
            advance(&k, &y, at, h);
            if (step + 1 < substeps) {
                Past *after = &ring[count++ % HISTORY];
                after->t = at + h;
                for (int i = 0; i < axes; i++) {
                    after->x[i] = turned(&k, &y)[i];
                    after->v[i] = turning(&k, &y)[i];
                }
            }
        }
    }
    report(drives, axes, n, tick, current, target, reported);
    return 0;
}

/* Free motion without drives for n steps of h: angles and rates (n, axes), and the energy (n,). */
void plant_swing(const Bodies *bodies, const Drive *drives, long n, double h, const double *q0,
                 const double *qd0, double *q, double *qd)
{
    Machine k;
    State y;
    prepare(&k, bodies, drives);
    memset(&y, 0, sizeof y);
    for (int i = 0; i < k.n; i++) {
        y.x[i] = y.m[i] = q0[i], y.v[i] = y.u[i] = qd0[i];
        k.mode[i] = 1, k.side[i] = 1, k.warm[i] = 1;
    }
    for (long s = 0; s < n; s++) {
        State to;
        for (int i = 0; i < k.n; i++) q[s * k.n + i] = y.x[i], qd[s * k.n + i] = y.v[i];
        start_step(&k, &y);
        runge_kutta(&k, &y, s * h, h, &to);
        y = to;
    }
}

/* Torque at the arms for n states (n, axes), without drives; platform (n, 3) and rod gaps (n,). */
void plant_inverse(const Bodies *bodies, long n, const double *q, const double *qd,
                   const double *qdd, double *torque, double *platform, double *gaps)
{
    Machine k;
    prepare(&k, bodies, 0);
    for (long s = 0; s < n; s++) {
        Mechanics o;
        double x[AXES] = {0}, v[AXES] = {0};
        memcpy(x, q + s * k.n, k.n * sizeof *x);
        memcpy(v, qd + s * k.n, k.n * sizeof *v);
        mechanics(&k, x, v, &o);
        for (int i = 0; i < k.n; i++) {
            double tau = o.h[i];
            for (int j = 0; j < k.n; j++) tau += o.M[i][j] * qdd[s * k.n + j];
            torque[s * k.n + i] = tau;
        }
        memcpy(platform + 3 * s, o.p, sizeof o.p);
        gaps[s] = o.lengths;
    }
}

/* Kinetic and potential energy of n states, body by body in Cartesian coordinates. */
void plant_energy(const Bodies *b, long n, const double *q, const double *qd, double *kinetic,
                  double *potential)
{
    Machine k;
    prepare(&k, b, 0);
    for (long s = 0; s < n; s++) {
        Mechanics o;
        double x[AXES] = {0}, v[AXES] = {0}, T = 0, V = 0;
        memcpy(x, q + s * k.n, k.n * sizeof *x);
        memcpy(v, qd + s * k.n, k.n * sizeof *v);
        mechanics(&k, x, v, &o);
        for (int i = 0; i < LIMBS; i++) {
            double c = cos(x[i]), si = sin(x[i]), l = b->arm[i];
            double elbow = -l * si, rate[3] = {-l * si * k.ca[i], -l * si * k.sa[i], -l * c};
            double a2 = b->arm_com[i] * b->arm_com[i] + b->arm_offset[i] * b->arm_offset[i];
            T += (b->arm_inertia[i] + b->arm_mass[i] * a2 + b->elbow_mass[i] * l * l) * v[i] * v[i] / 2;
            V += b->gravity * (b->arm_mass[i] * (b->arm_offset[i] * c - b->arm_com[i] * si) +
                               b->elbow_mass[i] * elbow);
            double f = b->rod_com[i] / b->rod[i], com = 0, turn = 0;
            for (int j = 0; j < 3; j++) {
                double end = o.pd[j], start = rate[j] * v[i];
                com += pow((1 - f) * start + f * end, 2);
                turn += pow((end - start) / b->rod[i], 2);
            }
            T += 2 * (b->rod_mass[i] * com + b->rod_inertia[i] * turn) / 2;
            V += 2 * b->rod_mass[i] * b->gravity * ((1 - f) * elbow + f * o.p[2]);
        }
        double moving = b->platform_mass + (b->spindle != 0 ? 0 : b->payload_mass);
        T += moving * dot(o.pd, o.pd) / 2;
        V += moving * b->gravity * o.p[2];
        if (b->spindle != 0) {
            /* the angular velocity of the rods from their two directions v and b = v x a / |v x a| */
            double w[3] = {o.p[0], o.p[1], o.p[2] + b->lower_z - b->upper_z};
            double l = sqrt(dot(w, w)), e[3], ed[3], a[3] = {cos(x[3]), sin(x[3]), 0};
            double ad[3] = {-a[1] * v[3], a[0] * v[3], 0}, m[3], md[3], t1[3], t2[3], n1[3];
            for (int j = 0; j < 3; j++) e[j] = w[j] / l;
            double along = dot(e, o.pd);
            for (int j = 0; j < 3; j++) ed[j] = (o.pd[j] - along * e[j]) / l;
            cross(e, a, m);
            cross(ed, a, t1);
            cross(e, ad, t2);
            double size = sqrt(dot(m, m));
            for (int j = 0; j < 3; j++) md[j] = (t1[j] + t2[j]) / size, m[j] /= size;
            cross(e, m, n1);
            double spin = dot(md, n1), across = dot(ed, ed);
            double low[3];
            for (int j = 0; j < 3; j++) low[j] = o.pd[j] - b->lower_com * ed[j];
            T += (b->upper_across + b->upper_mass * b->upper_com * b->upper_com) * across / 2;
            T += b->lower_across * across / 2 + b->lower_mass * dot(low, low) / 2;
            T += (b->upper_along + b->lower_along) * spin * spin / 2;
            V += b->gravity * (b->upper_mass * (b->upper_z + b->upper_com * e[2]) +
                               b->lower_mass * (o.p[2] + b->lower_z - b->lower_com * e[2]));
            for (int part = 0; part < 2; part++) {
                const double *at = part ? b->payload_at : b->effector_at;
                double mass = part ? b->payload_mass : b->effector_mass;
                double ex = a[0] * at[0] - a[1] * at[1], ey = a[1] * at[0] + a[0] * at[1];
                double r[3] = {o.pd[0] - ey * v[3], o.pd[1] + ex * v[3], o.pd[2]};
                T += mass * dot(r, r) / 2;
                V += mass * b->gravity * (o.p[2] + at[2]);
            }
            T += (b->effector_turning + b->payload_turning) * v[3] * v[3] / 2;
        }
        kinetic[s] = T;
        potential[s] = V;
    }
}

/* Sizes of the three structures, for the caller to compare. */
void plant_sizes(long *sizes)
{
    sizes[0] = sizeof(Bodies);
    sizes[1] = sizeof(Drive);
    sizes[2] = sizeof(World);
}
