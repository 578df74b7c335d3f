/* The inverse model: torques of a motion of the platform or of the joints, without memory. */
#ifndef DELTADYN_INVERSE_H
#define DELTADYN_INVERSE_H

#include "derivatives.h"
#include "model.h"

enum { PLATFORM_IN = 3 * LEGS + 2 };

/* What the generated function of a platform's motion reads. */
static void platform_row(const State *s, real *x)
{
    memcpy(x, s->p, LEGS * sizeof(real));
    memcpy(x + LEGS, s->pd, LEGS * sizeof(real));
    memcpy(x + 2 * LEGS, s->pdd, LEGS * sizeof(real));
#if HALVES
    bars_at(s->p, x + 3 * LEGS);
#endif
}

/* The state of a platform's motion; false where it is out of reach. */
static int state_of_platform(
    const real *par, const real *p, const real *pd, const real *pdd, State *s)
{
    real x[PLATFORM_IN], y[4 * LEGS];
    memcpy(s->p, p, sizeof(s->p));
    memcpy(s->pd, pd, sizeof(s->pd));
    memcpy(s->pdd, pdd, sizeof(s->pdd));
    platform_row(s, x);
    LIMBS(platform_state)(par, x, y, 1);
    memcpy(s->cosine, y, LEGS * sizeof(real));
    memcpy(s->sine, y + LEGS, LEGS * sizeof(real));
    memcpy(s->qd, y + 2 * LEGS, LEGS * sizeof(real));
    memcpy(s->qdd, y + 3 * LEGS, LEGS * sizeof(real));
    for (int i = 0; i < LEGS; i++)
        s->q[i] = JOINT_OF(y[i], y[LEGS + i]);
#if SPINDLE
    s->q[3] = p[3];
    s->qd[3] = pd[3];
    s->qdd[3] = pdd[3];
#endif
    return all_finite(y, 4 * LEGS);
}

/* The state that the inputs give; false where it is out of reach. */
static int state_of_inputs(const Model *model, const real *par, State *s)
{
    const real *v = model->values;
    if (model->from_joints)
        return state_of_joints(par, v + VR_Q_REF, v + VR_QD_REF, v + VR_QDD_REF, v + VR_P, s);
    return state_of_platform(par, v + VR_P_REF, v + VR_PD_REF, v + VR_PDD_REF, s);
}

static int model_outputs(Model *model)
{
    real par[PAR_COUNT], y[5 * DOF], *v = model->values;
    State s;
    Passive passive;
    fill_parameters(v, par);
    if (!state_of_inputs(model, par, &s))
        return UNREACHABLE;
    needed_torque(par, v, &s, &passive, y);
    add_friction(par, &s, y);
    for (int i = 0; i < DOF; i++) {
        const real needed = y[i] + ripple_of(par, s.q[i], i), turn = y[3 * DOF + i];
        y[i] = par[PAR_TORQUE_RATIO + i] * needed / left_over(par, needed, turn, i);
    }
    if (!all_finite(y, DOF))
        return SINGULAR;
    store_state(v, &s);
    memcpy(v + VR_TAU, y, DOF * sizeof(real));
    for (int i = 0; i < DOF; i++)
        v[VR_CONTROLLER_TAU + i] = CONTROLLER_SIGN[i] * y[i];
    return GOOD;
}

/* Nothing but time moves here; what is out of reach shows when outputs are read. */
static int model_advance(Model *model, real h)
{
    model->time += h;
    return GOOD;
}

static void model_start(Model *model)
{
    (void)model;
}

enum { STOPS_FOR_GOOD = 0 }; /* the next motion may be in reach */
enum { STATES = 0 };
enum { CHECK_OUT = VR_TAU };

static void get_model_states(const Model *model, real *states)
{
    (void)model, (void)states;
}

static void set_model_states(Model *model, const real *states)
{
    (void)model, (void)states;
}

static void get_model_slopes(const Model *model, real *slopes)
{
    (void)model, (void)slopes;
}

static int is_state(unsigned reference)
{
    (void)reference;
    return 0;
}

static void change_start(real *dv)
{
    (void)dv;
}

/* Set the motion of a check point; `given` is p, pd, pdd. */
static void model_check(Model *model, const real *given)
{
    memcpy(model->values + VR_P_REF, given, DOF * sizeof(real));
    memcpy(model->values + VR_PD_REF, given + DOF, DOF * sizeof(real));
    memcpy(model->values + VR_PDD_REF, given + 2 * DOF, DOF * sizeof(real));
}

/* The change of a platform's state; ds holds that of p, pd, pdd. */
static void change_platform(const real *par, const State *s, State *ds)
{
    real x[PLATFORM_IN], dx[PLATFORM_IN], dy[4 * LEGS];
    platform_row(s, x);
    memcpy(dx, ds->p, LEGS * sizeof(real));
    memcpy(dx + LEGS, ds->pd, LEGS * sizeof(real));
    memcpy(dx + 2 * LEGS, ds->pdd, LEGS * sizeof(real));
#if HALVES
    change_bars(s->p, ds->p, dx + 3 * LEGS);
#endif
    LIMBS_CHANGE(platform_state)(par, NULL, x, dx, dy);
    memcpy(ds->cosine, dy, LEGS * sizeof(real));
    memcpy(ds->sine, dy + LEGS, LEGS * sizeof(real));
    memcpy(ds->qd, dy + 2 * LEGS, LEGS * sizeof(real));
    memcpy(ds->qdd, dy + 3 * LEGS, LEGS * sizeof(real));
    for (int i = 0; i < LEGS; i++)
        ds->q[i] = JOINT_CHANGE(s->cosine[i], s->sine[i], ds->cosine[i], ds->sine[i]);
#if SPINDLE
    ds->q[3] = ds->p[3];
    ds->qd[3] = ds->pd[3];
    ds->qdd[3] = ds->pdd[3];
#endif
}

/* The change of the outputs with that of inputs and parameters. */
static int model_change(const Model *model, const real *dv, real *change)
{
    const real *v = model->values;
    real par[PAR_COUNT], dpar[PAR_COUNT], y[5 * DOF], dy[5 * DOF], full[5 * DOF];
    State s, ds = { 0 };
    Passive passive;
    fill_parameters(v, par);
    change_parameters(v, dv, dpar);
    if (!state_of_inputs(model, par, &s))
        return UNREACHABLE;
    if (model->from_joints) {
        memcpy(ds.q, dv + VR_Q_REF, sizeof(ds.q));
        memcpy(ds.qd, dv + VR_QD_REF, sizeof(ds.qd));
        memcpy(ds.qdd, dv + VR_QDD_REF, sizeof(ds.qdd));
        change_joints(par, &s, &ds);
    } else {
        memcpy(ds.p, dv + VR_P_REF, sizeof(ds.p));
        memcpy(ds.pd, dv + VR_PD_REF, sizeof(ds.pd));
        memcpy(ds.pdd, dv + VR_PDD_REF, sizeof(ds.pdd));
        change_platform(par, &s, &ds);
    }
    needed_torque(par, v, &s, &passive, y);
    change_needed(par, dpar, v, dv, &s, &ds, &passive, dy);
    change_friction(par, dpar, &s, &ds, y, dy);
    memcpy(full, y, sizeof(full));
    add_friction(par, &s, full);
    store_change(change, &ds);
    for (int i = 0; i < DOF; i++) {
        const real needed = full[i] + ripple_of(par, s.q[i], i);
        const real dneeded = dy[i] + change_ripple(par, s.q[i], ds.q[i], i);
        const real left = left_over(par, needed, y[3 * DOF + i], i);
        const real dleft = change_left(par, needed, dy[3 * DOF + i], i);
        const real ratio = par[PAR_TORQUE_RATIO + i];
        change[VR_TAU + i] = ratio * (dneeded - needed / left * dleft) / left;
        change[VR_CONTROLLER_TAU + i] = CONTROLLER_SIGN[i] * change[VR_TAU + i];
    }
    return GOOD;
}

#endif
