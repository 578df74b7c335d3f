/* The plant: accelerations of torques, integrated by Runge-Kutta of order 4 with held inputs. */
#ifndef DELTADYN_PLANT_H
#define DELTADYN_PLANT_H

#include "derivatives.h"
#include "model.h"

#define SINGULAR_VOLUME 1e-3 /* of the parallelepiped of the three struts' directions */
#define FRICTION_STEP 1.5 /* a step's product with the fastest rate of friction; 2.78 is unstable */
#ifndef MOST_STEPS
#define MOST_STEPS 1e6 /* of integration in a communication step */
#endif

enum { TRIES = 3 }; /* of the loads' signs that the loads suggest, before all are tried */

/* M = L L^T in the lower triangle; false where M is not positive definite. */
static int factor(real *matrix)
{
    for (int j = 0; j < DOF; j++) {
        for (int i = j; i < DOF; i++) {
            real sum = matrix[i * DOF + j];
            for (int k = 0; k < j; k++)
                sum -= matrix[i * DOF + k] * matrix[j * DOF + k];
            if (i == j && !(sum > 0))
                return 0;
            matrix[i * DOF + j] = i == j ? sqrt(sum) : sum / matrix[j * DOF + j];
        }
    }
    return 1;
}

static void solve_factored(const real *matrix, const real *right, real *x)
{
    for (int i = 0; i < DOF; i++) {
        x[i] = right[i];
        for (int k = 0; k < i; k++)
            x[i] -= matrix[i * DOF + k] * x[k];
        x[i] /= matrix[i * DOF + i];
    }
    for (int i = DOF - 1; i >= 0; i--) {
        for (int k = i + 1; k < DOF; k++)
            x[i] -= matrix[k * DOF + i] * x[k];
        x[i] /= matrix[i * DOF + i];
    }
}

/* Whether the struts span space well enough for forces on the platform to be held. */
#if HALVES
static int struts_span(const real *par, const State *s)
{
    real arms[2 * LEGS], rods[LEGS][3], bars[2], size;
    (void)par;
    memcpy(arms, s->cosine, LEGS * sizeof(real));
    memcpy(arms + LEGS, s->sine, LEGS * sizeof(real));
    bars_at(s->p, bars);
    const real volume = struts_at(arms, s->p, bars, rods, &size);
    return fabs(volume) > SINGULAR_VOLUME / TINY * size;
}
#elif LEGS == 2
static int struts_span(const real *par, const State *s)
{
    real rod[2][2];
    for (int i = 0; i < 2; i++) {
        const real *limb = par + PAR_LIMB + LIMB * i;
        real E[3];
        elbow_of(limb, s->cosine[i], s->sine[i], E);
        rod[i][0] = (s->p[0] - E[0]) / limb[LIMB_STRUT];
        rod[i][1] = (s->p[1] - E[2]) / limb[LIMB_STRUT];
    }
    return fabs(rod[0][0] * rod[1][1] - rod[0][1] * rod[1][0]) > SINGULAR_VOLUME;
}
#else
static int struts_span(const real *par, const State *s)
{
    real rod[3][3];
    for (int i = 0; i < 3; i++) {
        const real *limb = par + PAR_LIMB + LIMB * i;
        real E[3];
        elbow_of(limb, s->cosine[i], s->sine[i], E);
        for (int k = 0; k < 3; k++)
            rod[i][k] = (s->p[k] - E[k]) / limb[LIMB_STRUT];
    }
    const real volume = rod[0][0] * (rod[1][1] * rod[2][2] - rod[1][2] * rod[2][1])
        - rod[0][1] * (rod[1][0] * rod[2][2] - rod[1][2] * rod[2][0])
        + rod[0][2] * (rod[1][0] * rod[2][1] - rod[1][1] * rod[2][0]);
    return fabs(volume) > SINGULAR_VOLUME;
}
#endif

/* qdd of given = J qdd + load + mu s |load| with load = (M - J) qdd + needed.
 *
 * Divided by 1 + mu s sign(load) this is symmetric; exactly one pattern of signs fits.
 */
static int solve_with_losses(
    const real *M, const real *needed, const real *given, const real *loss, const real *rotor,
    real *qdd)
{
    real signs[DOF], most = 0;
    for (int i = 0; i < DOF; i++) {
        signs[i] = given[i] < 0 ? -1 : 1;
        most = fmax(most, fabs(given[i]));
    }
    for (int attempt = 0; attempt < TRIES + (1 << DOF); attempt++) {
        real matrix[DOF * DOF], right[DOF];
        int fits = 1;
        memcpy(matrix, M, sizeof(matrix));
        for (int i = 0; i < DOF; i++) {
            if (attempt >= TRIES)
                signs[i] = ((attempt - TRIES) >> i) & 1 ? -1 : 1;
            const real passed = 1 / (1 + loss[i] * signs[i]);
            matrix[i * DOF + i] += rotor[i] * (passed - 1);
            right[i] = given[i] * passed - needed[i];
        }
        if (!factor(matrix))
            return NOT_POSITIVE;
        solve_factored(matrix, right, qdd);
        for (int i = 0; i < DOF; i++) {
            real load = needed[i] - rotor[i] * qdd[i];
            for (int k = 0; k < DOF; k++)
                load += M[i * DOF + k] * qdd[k];
            const real settled = load < 0 ? -1 : 1;
            fits &= settled == signs[i] || fabs(load) <= 1e-9 * most || loss[i] == 0;
            signs[i] = settled;
        }
        if (fits)
            return GOOD;
    }
    return GEARS;
}

/* b . M^-1 b */
static real compliance(const real *factored, const real *b)
{
    real x[DOF], sum = 0;
    solve_factored(factored, b, x);
    for (int i = 0; i < DOF; i++)
        sum += b[i] * x[i];
    return sum;
}

/* The fastest rate of friction, which is steep about rest where smoothing is small.
 *
 * The fastest rate of M^-1 D is at most its trace, as its eigenvalues are not negative.
 */
static real friction_rate(
    const real *par, const real *factored, const Passive *passive, const real *needed,
    const real *tau)
{
    real rate = 0;
    for (int i = 0; i < DOF; i++) {
        real unit[DOF] = { 0 };
        const real dry = fmax(par[PAR_COULOMB + i], par[PAR_COULOMB_NEGATIVE + i])
            + par[PAR_STRIBECK + i]
            + (par[PAR_LOAD + i] + par[PAR_MOTOR_LOAD + i]) * (fabs(needed[i]) + fabs(tau[i]));
        const real velocity = par[PAR_THINNING_VELOCITY + i];
        const real thin = velocity > 0 ? par[PAR_THINNING + i] / velocity : 0;
        unit[i] = 1;
        rate += (par[PAR_VISCOUS + i] + thin + dry / par[PAR_SMOOTHING]) * compliance(factored, unit);
    }
    for (int row = 0; passive->there && row < PASSIVE_ROWS; row++)
        if (passive->slope[row] > 0)
            rate += passive->slope[row] * compliance(factored, passive->B + row * DOF);
    return rate;
}

/* M in `mass`, and its factor; false where it is not positive definite. */
static int mass_matrix(const real *par, const State *s, real *mass, real *factored)
{
    real x[2 * LEGS + DOF + 4];
    memcpy(x, s->cosine, LEGS * sizeof(real));
    memcpy(x + LEGS, s->sine, LEGS * sizeof(real));
    memcpy(x + 2 * LEGS, s->p, sizeof(s->p));
    turned(s->p, x + 2 * LEGS + DOF);
    KERNEL(mass)(par, x, mass, 1);
    memcpy(factored, mass, DOF * DOF * sizeof(real));
    return factor(factored);
}

/* Accelerations qdd at q, qd under the inputs, and the longest stable step where it is wanted. */
static int accelerate(
    const real *par, const real *v, const real *q, const real *qd, real *qdd, real *longest)
{
    const real *tau = v + VR_TAU, still[DOF] = { 0 };
    real y[5 * DOF], M[DOF * DOF], factored[DOF * DOF];
    real needed[DOF], given[DOF], loss[DOF];
    int lossy = 0;
    State s;
    Passive passive;
    if (!all_finite(q, DOF) || !all_finite(qd, DOF))
        return UNBOUNDED;
    if (!state_of_joints(par, q, qd, still, v + VR_P, &s))
        return UNREACHABLE;
    if (!struts_span(par, &s))
        return SINGULAR;
    if (!mass_matrix(par, &s, M, factored))
        return NOT_POSITIVE;
    needed_torque(par, v, &s, &passive, y);
    memcpy(needed, y, sizeof(needed));
    if (longest) {
        const real rate = friction_rate(par, factored, &passive, needed, tau);
        *longest = rate > 0 ? FRICTION_STEP / rate : DBL_MAX;
    }
    memset(y, 0, DOF * sizeof(real)); /* no load: the gears' losses come below */
    add_friction(par, &s, y);
    for (int i = 0; i < DOF; i++) {
        const real own = tau[i] / par[PAR_TORQUE_RATIO + i];
        given[i] = own * left_over(par, own, y[3 * DOF + i], i) - ripple_of(par, q[i], i) - y[i];
        loss[i] = par[PAR_LOAD + i] * y[3 * DOF + i];
        lossy |= loss[i] != 0;
    }
    if (lossy) {
        const int status = solve_with_losses(M, needed, given, loss, par + PAR_ROTOR, qdd);
        if (status != GOOD)
            return status;
    } else {
        for (int i = 0; i < DOF; i++)
            given[i] -= needed[i];
        solve_factored(factored, given, qdd);
    }
    return all_finite(qdd, DOF) ? GOOD : UNBOUNDED;
}

/* One step of dt seconds from q, qd, where the acceleration is `first`. */
static int runge_kutta(
    const real *par, const real *v, const real *first, real dt, real *q, real *qd)
{
    static const real AHEAD[4] = { 0, 0.5, 0.5, 1 }, WEIGHT[4] = { 1, 2, 2, 1 };
    real rate[DOF], slope[DOF], moved[DOF], sped[DOF];
    memcpy(rate, qd, sizeof(rate));
    memcpy(slope, first, sizeof(slope));
    memcpy(moved, q, sizeof(moved));
    memcpy(sped, qd, sizeof(sped));
    for (int stage = 0; stage < 4; stage++) {
        if (stage > 0) {
            real angle[DOF];
            for (int i = 0; i < DOF; i++) {
                angle[i] = q[i] + AHEAD[stage] * dt * rate[i];
                rate[i] = qd[i] + AHEAD[stage] * dt * slope[i];
            }
            const int status = accelerate(par, v, angle, rate, slope, NULL);
            if (status != GOOD)
                return status;
        }
        for (int i = 0; i < DOF; i++) {
            moved[i] += WEIGHT[stage] * dt / 6 * rate[i];
            sped[i] += WEIGHT[stage] * dt / 6 * slope[i];
        }
    }
    memcpy(q, moved, sizeof(moved));
    memcpy(qd, sped, sizeof(sped));
    return GOOD;
}

/* Go h seconds further in equal steps not longer than `step`; stops at the last good state. */
static int model_advance(Model *model, real h)
{
    const real *v = model->values, end = model->time + h;
    real par[PAR_COUNT], first[DOF], longest, left = h, taken = 0;
    fill_parameters(v, par);
    int status = accelerate(par, v, model->q, model->qd, first, &longest);
    model->fresh = 0;
    while (status == GOOD && left > 0) {
        real q[DOF], qd[DOF];
        const real count = ceil(left / fmin(v[VR_STEP], longest) - 1e-9);
        if (!(count + taken <= MOST_STEPS))
            return TOO_MANY;
        const real dt = count <= 1 ? left : left / count;
        memcpy(q, model->q, sizeof(q));
        memcpy(qd, model->qd, sizeof(qd));
        status = runge_kutta(par, v, first, dt, q, qd);
        if (status == GOOD)
            status = accelerate(par, v, q, qd, first, &longest);
        if (status != GOOD)
            break;
        memcpy(model->q, q, sizeof(q));
        memcpy(model->qd, qd, sizeof(qd));
        left = count <= 1 ? 0 : left - dt;
        taken += 1;
        model->time = end - left;
    }
    return status;
}

/* Outputs of the state under the inputs. */
static int model_outputs(Model *model)
{
    real par[PAR_COUNT], qdd[DOF];
    State s;
    fill_parameters(model->values, par);
    int status = accelerate(par, model->values, model->q, model->qd, qdd, NULL);
    if (status != GOOD)
        return status;
    if (!state_of_joints(par, model->q, model->qd, qdd, model->values + VR_P, &s))
        return UNREACHABLE;
    store_state(model->values, &s);
    return GOOD;
}

/* Before the simulation starts, the state follows the start values. */
static void model_start(Model *model)
{
    memcpy(model->q, model->values + VR_Q_START, sizeof(model->q));
    memcpy(model->qd, model->values + VR_QD_START, sizeof(model->qd));
}

enum { STOPS_FOR_GOOD = 1 }; /* a step that failed fails again */
enum { STATES = 2 * DOF }; /* q, then qd; their derivatives are qd, then qdd */
enum { CHECK_OUT = VR_QDD };

static void get_model_states(const Model *model, real *states)
{
    memcpy(states, model->q, sizeof(model->q));
    memcpy(states + DOF, model->qd, sizeof(model->qd));
}

static void set_model_states(Model *model, const real *states)
{
    memcpy(model->q, states, sizeof(model->q));
    memcpy(model->qd, states + DOF, sizeof(model->qd));
}

/* The derivatives of the states, where the outputs are up to date. */
static void get_model_slopes(const Model *model, real *slopes)
{
    memcpy(slopes, model->qd, sizeof(model->qd));
    memcpy(slopes + DOF, model->values + VR_QDD, DOF * sizeof(real));
}

/* Whether a variable is a state. */
static int is_state(unsigned reference)
{
    return (reference >= VR_Q && reference < VR_Q + DOF)
        || (reference >= VR_QD && reference < VR_QD + DOF);
}

/* Before the simulation starts, the states' changes are those of the start values. */
static void change_start(real *dv)
{
    memcpy(dv + VR_Q, dv + VR_Q_START, DOF * sizeof(real));
    memcpy(dv + VR_QD, dv + VR_QD_START, DOF * sizeof(real));
}

/* Set the motion of a check point; `given` is q, qd, and the torques. */
static void model_check(Model *model, const real *given)
{
    memcpy(model->q, given, sizeof(model->q));
    memcpy(model->qd, given + DOF, sizeof(model->qd));
    memcpy(model->values + VR_TAU, given + 2 * DOF, DOF * sizeof(real));
}

/* The change of the outputs with that of states, inputs and parameters.
 *
 * At the accelerations that solve it, the inverse model r(q, qd, qdd, u) = given(tau) holds, so
 *     dr/dqdd dqdd = dgiven - dr|qdd held,    dr_i/dqdd = P_i (M - J)_i + J_i
 * with P_i = 1 + mu s sign(load) of gear i, as in solve_with_losses.
 */
static int model_change(const Model *model, const real *dv, real *change)
{
    const real *v = model->values, *tau = v + VR_TAU;
    real par[PAR_COUNT], dpar[PAR_COUNT], y[5 * DOF], dy[5 * DOF];
    real matrix[DOF * DOF], factored[DOF * DOF], right[DOF];
    State s, ds = { 0 };
    Passive passive;
    fill_parameters(v, par);
    change_parameters(v, dv, dpar);
    if (!state_of_joints(par, model->q, model->qd, v + VR_QDD, v + VR_P, &s))
        return UNREACHABLE;
    if (!mass_matrix(par, &s, matrix, factored))
        return NOT_POSITIVE;
    memcpy(ds.q, dv + VR_Q, sizeof(ds.q));
    memcpy(ds.qd, dv + VR_QD, sizeof(ds.qd));
    change_joints(par, &s, &ds);
    needed_torque(par, v, &s, &passive, y);
    change_needed(par, dpar, v, dv, &s, &ds, &passive, dy);
    change_friction(par, dpar, &s, &ds, y, dy);
    for (int i = 0; i < DOF; i++) {
        const real own = tau[i] / par[PAR_TORQUE_RATIO + i];
        const real down = dv[VR_TAU + i] / par[PAR_TORQUE_RATIO + i];
        const real turn = y[3 * DOF + i], dturn = dy[3 * DOF + i];
        const real load = y[i] - par[PAR_ROTOR + i] * s.qdd[i];
        const real passed = 1 / (1 + par[PAR_LOAD + i] * turn * (load < 0 ? -1 : 1));
        const real given = down * left_over(par, own, turn, i) + own * change_left(par, own, dturn, i);
        right[i] = (given - dy[i] - change_ripple(par, s.q[i], ds.q[i], i)) * passed;
        matrix[i * DOF + i] += par[PAR_ROTOR + i] * (passed - 1);
    }
    if (!factor(matrix))
        return NOT_POSITIVE;
    solve_factored(matrix, right, ds.qdd);
    change_joints(par, &s, &ds);
    store_change(change, &ds);
    return GOOD;
}

#endif
