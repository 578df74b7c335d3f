/* The exact model of a Delta robot around the generated functions of kernels.h.
 *
 * robot.h gives DOF, the places VR_... of the variables and the robot's numbers. Nothing here may
 * assume finite numbers: NaN marks what does not exist. No globals, no allocation.
 */
#ifndef DELTADYN_MODEL_H
#define DELTADYN_MODEL_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double real;
#define REAL_SQRT(value) sqrt(value)
#define REAL_ABS(value) fabs(value)
#define INLINE static inline

typedef struct {
    const char *name;
    int role; /* one of the roles below */
    real least, most;
    unsigned size; /* of the array that it begins; 0 behind an array's first */
} Variable;

enum { OUTPUT = 0, INPUT = 1, FIXED = 2, TUNABLE = 3 };

/* Values of the output `status`. */
enum { GOOD, UNREACHABLE, SINGULAR, NOT_POSITIVE, UNBOUNDED, GEARS, TOO_MANY, STATUSES };

#include "robot.h"

#include "kernels.h"

enum { LIMB_JOINTS = 4, JOINTS = SPINDLE ? 7 : 4 }; /* kinds of passive joints */
enum { PASSIVE_ROWS = 3 * LIMB_JOINTS + JOINTS - LIMB_JOINTS };

typedef struct {
    real values[REALS]; /* by value reference */
    real q[DOF], qd[DOF], time;
    int status, fresh, from_joints;
} Model;

/* A whole state of motion. */
typedef struct {
    real cosine[LEGS], sine[LEGS], q[DOF], qd[DOF], qdd[DOF], p[DOF], pd[DOF], pdd[DOF];
} State;

static const char *status_text(int status)
{
    static const char *const TEXTS[STATUSES] = {
        "good",
        "out of reach: the struts cannot meet",
        "singular: the struts lie in one plane, or nearly so",
        "the mass matrix is not positive definite",
        "the motion grew without bound",
        "the gears' losses allow no direction of their loads",
        "the step needs more than a million integration steps; make step or smoothing larger",
    };
    return TEXTS[status];
}

static int all_finite(const real *values, int count)
{
    for (int i = 0; i < count; i++)
        if (!(fabs(values[i]) <= DBL_MAX))
            return 0;
    return 1;
}

/* Variables at their places in the robot's numbers; they stand there as they are. */
static void place_variables(const real *v, real *par)
{
    par[PAR_GRAVITY] = v[VR_GRAVITY];
    par[PAR_M_P] = v[VR_M_P_EMPTY];
    memcpy(par + PAR_M_X, v + VR_M_X, LEGS * sizeof(real));
    memcpy(par + PAR_A, v + VR_A, LEGS * sizeof(real));
    memcpy(par + PAR_G, v + VR_G, LEGS * sizeof(real));
    memcpy(par + PAR_G_S, v + VR_G_S, LEGS * sizeof(real));
#if SPINDLE
    memcpy(par + PAR_SPINDLE + 1, v + VR_SPINDLE, 7 * sizeof(real)); /* behind pivot_z */
#elif HALVES
    memcpy(par + PAR_HALVES, v + VR_HALVES, 5 * sizeof(real));
#endif
    memcpy(par + PAR_VISCOUS, v + VR_VISCOUS, DOF * sizeof(real));
    memcpy(par + PAR_COULOMB, v + VR_COULOMB, DOF * sizeof(real));
    memcpy(par + PAR_COULOMB_NEGATIVE, v + VR_COULOMB_NEGATIVE, DOF * sizeof(real));
    memcpy(par + PAR_STRIBECK, v + VR_STRIBECK, DOF * sizeof(real));
    memcpy(par + PAR_STRIBECK_VELOCITY, v + VR_STRIBECK_VELOCITY, DOF * sizeof(real));
    memcpy(par + PAR_OFFSET, v + VR_OFFSET, DOF * sizeof(real));
    memcpy(par + PAR_LOAD, v + VR_LOAD, DOF * sizeof(real));
    par[PAR_SMOOTHING] = v[VR_SMOOTHING];
}

#if SPINDLE
enum { PAR_TOOL = PAR_SPINDLE + 5 }; /* first moments along x and y, inertia about the axis */
#elif HALVES
enum { PAR_TOOL = PAR_HALVES + 2 };
#endif

/* The robot's numbers in the order of the generated functions, with the variables' values. */
static void fill_parameters(const real *v, real *par)
{
    const real payload = v[VR_PAYLOAD_MASS];
    memcpy(par, ROBOT, sizeof(ROBOT));
    place_variables(v, par);
    par[PAR_M_P] += payload;
#if SPINDLE || HALVES
    const real x = v[VR_PAYLOAD_OFFSET], y = v[VR_PAYLOAD_OFFSET + 1];
    par[PAR_TOOL] += payload * x;
    par[PAR_TOOL + 1] += payload * y;
    par[PAR_TOOL + 2] += payload * (x * x + y * y);
#endif
}

#if HALVES
#include "pose.h"

/* cosine and sine of psi, then of the bars, behind a row. */
static void turned(const real *p, real *x)
{
    x[0] = cos(p[3]);
    x[1] = sin(p[3]);
    bars_at(p, x + 2);
}
#else
/* cosine and sine of psi; a robot whose tool does not turn does not read it. */
static void turned(const real *p, real *x)
{
    x[0] = cos(p[DOF - 1]);
    x[1] = sin(p[DOF - 1]);
    x[2] = x[3] = 0;
}
#endif

/* What the generated function of a joint motion reads; s holds q, qd, qdd, and p of halves. */
static void joint_row(const State *s, real *x)
{
    const int ahead = HALVES ? LEGS : 0; /* the pose of halves stands before the joints */
    for (int i = 0; i < LEGS; i++) {
        x[ahead + i] = s->q[i];
        x[ahead + LEGS + i] = s->qd[i];
        x[ahead + 2 * LEGS + i] = s->qdd[i];
        x[ahead + 3 * LEGS + i] = cos(s->q[i]);
        x[ahead + 4 * LEGS + i] = sin(s->q[i]);
    }
#if HALVES
    memcpy(x, s->p, sizeof(s->p));
    bars_at(s->p, x + BARS_BEHIND);
#endif
}

/* What that function gives, into a state or into its change. */
static void take_joint_row(const real *y, State *s)
{
    memcpy(s->cosine, y, LEGS * sizeof(real));
    memcpy(s->sine, y + LEGS, LEGS * sizeof(real));
#if HALVES
    memcpy(s->pd, y + 2 * LEGS, LEGS * sizeof(real));
    memcpy(s->pdd, y + 3 * LEGS, LEGS * sizeof(real));
#else
    memcpy(s->p, y + 2 * LEGS, LEGS * sizeof(real));
    memcpy(s->pd, y + 3 * LEGS, LEGS * sizeof(real));
    memcpy(s->pdd, y + 4 * LEGS, LEGS * sizeof(real));
#endif
#if SPINDLE
    s->p[3] = s->q[3];
    s->pd[3] = s->qd[3];
    s->pdd[3] = s->qdd[3];
#endif
}

enum { JOINT_IN = 6 * LEGS + 2, JOINT_OUT = 5 * LEGS };

#if HALVES
/* The pose of joints followed from that of the state before; where joints jumped, from home, if the
 * pose there is no farther from the one before than joints can carry it. */
static int pose_of_joints(const real *q, const real *near, real *p)
{
    if (point_of(q, NULL, near, p) == GOOD)
        return 1;
    return point_of(q, NULL, NULL, p) == GOOD && is_good(q, near, p);
}
#endif

/* The state of joint angles and their rates; false where the struts cannot meet. `near` is a pose
 * nearby, which a platform of halves is followed from. */
static int state_of_joints(
    const real *par, const real *q, const real *qd, const real *qdd, const real *near, State *s)
{
    real x[JOINT_IN], y[JOINT_OUT];
    memcpy(s->q, q, sizeof(s->q));
    memcpy(s->qd, qd, sizeof(s->qd));
    memcpy(s->qdd, qdd, sizeof(s->qdd));
#if HALVES
    if (!pose_of_joints(q, near, s->p))
        return 0;
#else
    (void)near;
#endif
    joint_row(s, x);
    LIMBS(joint_state)(par, x, y, 1);
    take_joint_row(y, s);
    return all_finite(y, (HALVES ? 4 : 5) * LEGS);
}

static real sign(real value)
{
    return (real)((value > 0) - (value < 0));
}

static real direction(real rate, real smoothing)
{
    return smoothing > 0 ? tanh(rate / smoothing) : sign(rate);
}

/* The kind of joint that a row of B belongs to; there are two universal joints of each name. */
#define JOINT_OF_ROW(row) ((row) < 3 * LIMB_JOINTS ? (row) / 3 : (row)-2 * LIMB_JOINTS)
#define COPIES(joint) ((joint) > LIMB_JOINTS ? 2 : 1)

/* Friction in the passive joints: rates B qd, and the slope of friction about rest, per row of B. */
typedef struct {
    int there;
    real B[PASSIVE_ROWS * DOF], slope[PASSIVE_ROWS];
} Passive;

/* Add to tau what friction in the passive joints asks: B^T f(B qd). */
static void passive_friction(
    const real *par, const real *v, const State *s, Passive *passive, real *tau)
{
#ifdef NO_PASSIVE
    (void)par, (void)v, (void)s, (void)tau;
    passive->there = 0;
#else
    const real *viscous = v + VR_PASSIVE_VISCOUS, *coulomb = v + VR_PASSIVE_COULOMB;
    const real smoothing = par[PAR_SMOOTHING];
    real x[3 * DOF];
    passive->there = 0;
    for (int joint = 0; joint < JOINTS; joint++)
        passive->there |= viscous[joint] != 0 || coulomb[joint] != 0;
    if (!passive->there)
        return;
    for (int i = 0; i < DOF; i++) {
        x[i] = s->q[i];
        x[DOF + i] = cos(s->q[i]);
        x[2 * DOF + i] = sin(s->q[i]);
    }
    KERNEL(passive)(par, 1, x, passive->B, 1);
    for (int row = 0; row < PASSIVE_ROWS; row++) {
        const int joint = JOINT_OF_ROW(row);
        const real copies = COPIES(joint);
        const real *b = passive->B + row * DOF;
        real rate = 0;
        for (int i = 0; i < DOF; i++)
            rate += b[i] * s->qd[i];
        const real f = viscous[joint] * rate + coulomb[joint] * direction(rate, smoothing);
        const real steep = smoothing > 0 ? coulomb[joint] / smoothing : 0;
        passive->slope[row] = copies * (viscous[joint] + steep);
        for (int i = 0; i < DOF; i++)
            tau[i] += copies * f * b[i];
    }
#endif
}

enum { AT = 2 * LEGS, TORQUE_IN = AT + 6 * DOF + 4 };

/* What the generated function of the torque reads, or its change; `turning` is of psi and bars. */
static void torque_row(const State *s, const real *force, const real *turning, real *x)
{
    memcpy(x, s->cosine, LEGS * sizeof(real));
    memcpy(x + LEGS, s->sine, LEGS * sizeof(real));
    memcpy(x + AT, s->qd, sizeof(s->qd));
    memcpy(x + AT + DOF, s->qdd, sizeof(s->qdd));
    memcpy(x + AT + 2 * DOF, s->p, sizeof(s->p));
    memcpy(x + AT + 3 * DOF, s->pd, sizeof(s->pd));
    memcpy(x + AT + 4 * DOF, s->pdd, sizeof(s->pdd));
    memcpy(x + AT + 5 * DOF, force, DOF * sizeof(real));
    memcpy(x + AT + 6 * DOF, turning, 4 * sizeof(real));
}

/* tau, qd, qdd, direction, Stribeck shape of each axis; the torque is without the drives' friction. */
static void needed_torque(const real *par, const real *v, const State *s, Passive *passive, real *y)
{
    real x[TORQUE_IN], turning[4];
    turned(s->p, turning);
    torque_row(s, v + VR_FORCE, turning, x);
    KERNEL(state_torque)(par, x, y, 1);
    passive_friction(par, v, s, passive, y);
    for (int i = 0; i < DOF; i++) {
        const real rate = s->qd[i], smoothing = par[PAR_SMOOTHING];
        const real velocity = par[PAR_STRIBECK_VELOCITY + i];
        const real ratio = velocity > 0 ? rate / velocity : 0;
        y[3 * DOF + i] = direction(rate, smoothing);
        y[4 * DOF + i] = velocity > 0 ? exp(-ratio * ratio) : 0;
    }
}

/* The drives' friction on top of the torque in y. */
static void add_friction(const real *par, const State *s, real *y)
{
    DRIVES(friction)(par, y, y, 1);
    for (int i = 0; i < DOF; i++)
        if (par[PAR_THINNING + i] > 0)
            y[i] += par[PAR_THINNING + i] * tanh(s->qd[i] / par[PAR_THINNING_VELOCITY + i]);
}

enum { AXES = 4, WAVES = 4 }; /* room in ROBOT for axes and for waves of ripple */

/* The ripple that the drives must add. */
static real ripple_of(const real *par, real angle, int i)
{
    real sum = 0;
    for (int wave = 0; wave < WAVES && par[PAR_RIPPLE_ORDER + wave] > 0; wave++) {
        const real phase = par[PAR_RIPPLE_ORDER + wave] * angle;
        sum += par[PAR_RIPPLE_COS + wave * AXES + i] * cos(phase)
            + par[PAR_RIPPLE_SIN + wave * AXES + i] * sin(phase);
    }
    return sum;
}

/* What a motor's torque leaves behind its own loss, as a share; `torque` has its sign. */
static real left_over(const real *par, real torque, real turn, int i)
{
    return 1 - par[PAR_MOTOR_LOAD + i] * turn * (torque < 0 ? -1 : 1);
}

/* Into the variables: the state, and the controller's own angles and rates. */
static void store_state(real *v, const State *s)
{
    memcpy(v + VR_Q, s->q, sizeof(s->q));
    memcpy(v + VR_QD, s->qd, sizeof(s->qd));
    memcpy(v + VR_QDD, s->qdd, sizeof(s->qdd));
    memcpy(v + VR_P, s->p, sizeof(s->p));
    memcpy(v + VR_PD, s->pd, sizeof(s->pd));
    memcpy(v + VR_PDD, s->pdd, sizeof(s->pdd));
    for (int i = 0; i < DOF; i++) {
        v[VR_CONTROLLER_Q + i] = CONTROLLER_SIGN[i] * s->q[i] + CONTROLLER_OFFSET[i];
        v[VR_CONTROLLER_QD + i] = CONTROLLER_SIGN[i] * s->qd[i];
    }
}

#endif
