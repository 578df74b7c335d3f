/* The inverse model: torques of a motion of the platform or of the joints, without memory. */
#ifndef DELTADYN_INVERSE_H
#define DELTADYN_INVERSE_H

#include "model.h"

/* The state of a platform's motion; false where it is out of reach. */
static int state_of_platform(
    const real *par, const real *p, const real *pd, const real *pdd, State *s)
{
    real x[3 * LEGS + 2], y[4 * LEGS];
    memcpy(x, p, LEGS * sizeof(real));
    memcpy(x + LEGS, pd, LEGS * sizeof(real));
    memcpy(x + 2 * LEGS, pdd, LEGS * sizeof(real));
#if HALVES
    bars_at(p, x + 3 * LEGS);
#endif
    LIMBS(platform_state)(par, x, y, 1);
    memcpy(s->cosine, y, LEGS * sizeof(real));
    memcpy(s->sine, y + LEGS, LEGS * sizeof(real));
    memcpy(s->qd, y + 2 * LEGS, LEGS * sizeof(real));
    memcpy(s->qdd, y + 3 * LEGS, LEGS * sizeof(real));
    memcpy(s->p, p, sizeof(s->p));
    memcpy(s->pd, pd, sizeof(s->pd));
    memcpy(s->pdd, pdd, sizeof(s->pdd));
    for (int i = 0; i < LEGS; i++)
        s->q[i] = JOINT_OF(y[i], y[LEGS + i]);
#if SPINDLE
    s->q[3] = p[3];
    s->qd[3] = pd[3];
    s->qdd[3] = pdd[3];
#endif
    return all_finite(y, 4 * LEGS);
}

static int model_outputs(Model *model)
{
    real par[PAR_COUNT], y[5 * DOF], *v = model->values;
    State s;
    Passive passive;
    int reached;
    fill_parameters(v, par);
    if (model->from_joints)
        reached = state_of_joints(par, v + VR_Q_REF, v + VR_QD_REF, v + VR_QDD_REF, v + VR_P, &s);
    else
        reached = state_of_platform(par, v + VR_P_REF, v + VR_PD_REF, v + VR_PDD_REF, &s);
    if (!reached)
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

#endif
