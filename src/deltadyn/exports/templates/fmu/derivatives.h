/* How a state and its torques change along a direction: exact derivatives, no differences.
 *
 * The generated functions have their derivatives beside them (..._change in kernels.h, written from
 * their own source). Here those of what stands around them. A name with d in front is the change of
 * what it names. At a kink (a rate or a load of zero) the side of growing values counts.
 */
#ifndef DELTADYN_DERIVATIVES_H
#define DELTADYN_DERIVATIVES_H

#include "model.h"

/* The change of the robot's numbers with that of the variables. */
static void change_parameters(const real *v, const real *dv, real *dpar)
{
    const real dpayload = dv[VR_PAYLOAD_MASS];
    memset(dpar, 0, PAR_COUNT * sizeof(real));
    place_variables(dv, dpar);
    dpar[PAR_M_P] += dpayload;
#if SPINDLE || HALVES
    const real payload = v[VR_PAYLOAD_MASS];
    const real x = v[VR_PAYLOAD_OFFSET], y = v[VR_PAYLOAD_OFFSET + 1];
    const real dx = dv[VR_PAYLOAD_OFFSET], dy = dv[VR_PAYLOAD_OFFSET + 1];
    dpar[PAR_TOOL] += dpayload * x + payload * dx;
    dpar[PAR_TOOL + 1] += dpayload * y + payload * dy;
    dpar[PAR_TOOL + 2] += dpayload * (x * x + y * y) + payload * 2 * (x * dx + y * dy);
#else
    (void)v;
#endif
}

#if HALVES
/* Of the bars' cosine and sine. */
static void change_bars(const real *p, const real *dp, real *dbars)
{
    real bars[2];
    const real dphi = ROBOT[PAR_CARRIER + 1] * dp[3];
    bars_at(p, bars);
    dbars[0] = -bars[1] * dphi;
    dbars[1] = bars[0] * dphi;
}
#endif

/* Of what `turned` gives. */
static void change_turned(const real *p, const real *dp, real *dx)
{
    const real dpsi = dp[DOF - 1];
    dx[0] = -sin(p[DOF - 1]) * dpsi;
    dx[1] = cos(p[DOF - 1]) * dpsi;
#if HALVES
    change_bars(p, dp, dx + 2);
#else
    dx[2] = dx[3] = 0;
#endif
}

/* The change of a state of joints; ds holds that of q, qd, qdd. */
static void change_joints(const real *par, const State *s, State *ds)
{
    real x[JOINT_IN], dx[JOINT_IN], dy[JOINT_OUT];
    const int ahead = HALVES ? LEGS : 0;
    joint_row(s, x);
#if HALVES
    /* dp = J dq: the rates of the platform where the joints' are dq */
    State moved = *s;
    real y[JOINT_OUT];
    memcpy(moved.qd, ds->q, sizeof(moved.qd));
    joint_row(&moved, x);
    LIMBS(joint_state)(par, x, y, 1);
    memcpy(ds->p, y + 2 * LEGS, LEGS * sizeof(real));
    joint_row(s, x);
#endif
    for (int i = 0; i < LEGS; i++) {
        dx[ahead + i] = ds->q[i];
        dx[ahead + LEGS + i] = ds->qd[i];
        dx[ahead + 2 * LEGS + i] = ds->qdd[i];
        dx[ahead + 3 * LEGS + i] = -sin(s->q[i]) * ds->q[i];
        dx[ahead + 4 * LEGS + i] = cos(s->q[i]) * ds->q[i];
    }
#if HALVES
    memcpy(dx, ds->p, sizeof(ds->p));
    change_bars(s->p, ds->p, dx + BARS_BEHIND);
#endif
    LIMBS_CHANGE(joint_state)(par, NULL, x, dx, dy);
    take_joint_row(dy, ds);
}

static real change_direction(real rate, real drate, real smoothing, real dsmoothing)
{
    if (!(smoothing > 0))
        return 0;
    const real turn = tanh(rate / smoothing);
    return (1 - turn * turn) * (drate - rate / smoothing * dsmoothing) / smoothing;
}

/* Add to dtau the change of B^T f(B qd) of the passive joints. */
static void change_passive(
    const real *par, const real *dpar, const real *v, const real *dv, const State *s,
    const State *ds, const Passive *passive, real *dtau)
{
#ifdef NO_PASSIVE
    (void)par, (void)dpar, (void)v, (void)dv, (void)s, (void)ds, (void)passive, (void)dtau;
#else
    const real *viscous = v + VR_PASSIVE_VISCOUS, *coulomb = v + VR_PASSIVE_COULOMB;
    const real *dviscous = dv + VR_PASSIVE_VISCOUS, *dcoulomb = dv + VR_PASSIVE_COULOMB;
    const real smoothing = par[PAR_SMOOTHING];
    real x[3 * DOF], dx[3 * DOF], B[PASSIVE_ROWS * DOF], dB[PASSIVE_ROWS * DOF];
    int there = passive->there;
    for (int joint = 0; joint < JOINTS; joint++)
        there |= dviscous[joint] != 0 || dcoulomb[joint] != 0;
    if (!there)
        return;
    for (int i = 0; i < DOF; i++) {
        x[i] = s->q[i];
        x[DOF + i] = cos(s->q[i]);
        x[2 * DOF + i] = sin(s->q[i]);
        dx[i] = ds->q[i];
        dx[DOF + i] = -x[2 * DOF + i] * ds->q[i];
        dx[2 * DOF + i] = x[DOF + i] * ds->q[i];
    }
    KERNEL(passive)(par, 1, x, B, 1);
    KERNEL_CHANGE(passive)(par, NULL, x, dx, dB);
    for (int row = 0; row < PASSIVE_ROWS; row++) {
        const int joint = JOINT_OF_ROW(row);
        const real *b = B + row * DOF, *db = dB + row * DOF;
        real rate = 0, drate = 0;
        for (int i = 0; i < DOF; i++) {
            rate += b[i] * s->qd[i];
            drate += db[i] * s->qd[i] + b[i] * ds->qd[i];
        }
        const real turn = direction(rate, smoothing);
        const real dturn = change_direction(rate, drate, smoothing, dpar[PAR_SMOOTHING]);
        const real f = viscous[joint] * rate + coulomb[joint] * turn;
        const real df = viscous[joint] * drate + coulomb[joint] * dturn + dviscous[joint] * rate
            + dcoulomb[joint] * turn;
        for (int i = 0; i < DOF; i++)
            dtau[i] += COPIES(joint) * (df * b[i] + f * db[i]);
    }
#endif
}

/* The change of what `needed_torque` gives. */
static void change_needed(
    const real *par, const real *dpar, const real *v, const real *dv, const State *s,
    const State *ds, const Passive *passive, real *dy)
{
    real x[TORQUE_IN], dx[TORQUE_IN], turning[4], dturning[4];
    turned(s->p, turning);
    change_turned(s->p, ds->p, dturning);
    torque_row(s, v + VR_FORCE, turning, x);
    torque_row(ds, dv + VR_FORCE, dturning, dx);
    KERNEL_CHANGE(state_torque)(par, dpar, x, dx, dy);
    change_passive(par, dpar, v, dv, s, ds, passive, dy);
    for (int i = 0; i < DOF; i++) {
        const real rate = s->qd[i], drate = ds->qd[i];
        const real velocity = par[PAR_STRIBECK_VELOCITY + i];
        const real ratio = velocity > 0 ? rate / velocity : 0;
        const real dratio
            = velocity > 0 ? (drate - ratio * dpar[PAR_STRIBECK_VELOCITY + i]) / velocity : 0;
        dy[3 * DOF + i]
            = change_direction(rate, drate, par[PAR_SMOOTHING], dpar[PAR_SMOOTHING]);
        dy[4 * DOF + i] = velocity > 0 ? -2 * ratio * dratio * exp(-ratio * ratio) : 0;
    }
}

/* The change of what `add_friction` makes of y; both begin with what is before it. */
static void change_friction(
    const real *par, const real *dpar, const State *s, const State *ds, const real *y, real *dy)
{
    real sum[DOF];
    DRIVES_CHANGE(friction)(par, dpar, y, dy, sum);
    for (int i = 0; i < DOF; i++) {
        dy[i] = sum[i];
        if (par[PAR_THINNING + i] > 0) {
            const real velocity = par[PAR_THINNING_VELOCITY + i];
            dy[i] += par[PAR_THINNING + i] * change_direction(s->qd[i], ds->qd[i], velocity, 0);
        }
    }
}

static real change_ripple(const real *par, real angle, real dangle, int i)
{
    real sum = 0;
    for (int wave = 0; wave < WAVES && par[PAR_RIPPLE_ORDER + wave] > 0; wave++) {
        const real order = par[PAR_RIPPLE_ORDER + wave];
        sum += order
            * (par[PAR_RIPPLE_SIN + wave * AXES + i] * cos(order * angle)
               - par[PAR_RIPPLE_COS + wave * AXES + i] * sin(order * angle));
    }
    return sum * dangle;
}

/* Of what `left_over` gives. */
static real change_left(const real *par, real torque, real dturn, int i)
{
    return -par[PAR_MOTOR_LOAD + i] * dturn * (torque < 0 ? -1 : 1);
}

/* Into the changes of the outputs. */
static void store_change(real *change, const State *ds)
{
    store_state(change, ds);
    for (int i = 0; i < DOF; i++)
        change[VR_CONTROLLER_Q + i] = CONTROLLER_SIGN[i] * ds->q[i];
}

#endif
