/* One machine in motion: mechanism, drives, gears, Runge-Kutta of order 4.
 *
 * The same steps as deltadyn/simulation/plant/ideal.py, in the same order. Functions take
 * the number of axes n and of motors behind elastic gears m as constants, so that the compiler
 * writes one machine code for each kind of machine. NaN marks what does not exist.
 */
#ifndef DELTADYN_PLANT_H
#define DELTADYN_PLANT_H

#include "plant_basics.h"
#include "plant_solve.h"

enum { MAX_Y = 4 * AXES + 5, MAX_TERMS = 22, WORK = 5 };
enum { GOES_ON = 0, LOOP_OPEN = 1, UNBOUNDED = 2 }; /* plant_loop.h has more */

#define REFERENCE_TEMPERATURE 25.0
#define RIPPLE_PHASE 2.4

/* What moves the plant at one instant. */
typedef struct {
    real qdd[AXES], qdd_motor[3], p[AXES], ripple[AXES], friction[AXES], passive[AXES];
    real powers[WORK];
} plant_rates;

/* What of a machine's numbers decides which work is to be done, and the drives' warmth. */
typedef struct {
    const real *num;
    int substeps, rippled, waves, dry, stribeck, thinning, lossy, motor_loss, passive;
    real warm_viscous[AXES], warm_coulomb[AXES];
} plant_machine;

INLINE real inner(int n, const real *a, const real *b)
{
    real sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void warm_up(plant_machine *w, const real *temperature, int n)
{
    const real *num = w->num;
    for (int i = 0; i < n; i++) {
        const real rise = temperature[i] - REFERENCE_TEMPERATURE;
        w->warm_viscous[i] = exp(-num[NUM_VISCOUS_DRIFT] * rise);
        w->warm_coulomb[i] = exp(-num[NUM_COULOMB_DRIFT] * rise);
    }
}

static void look_at(plant_machine *w, const real *num, const real *state, int n)
{
    w->num = num;
    w->substeps = (int)num[NUM_SUBSTEPS];
    w->rippled = w->waves = w->dry = w->stribeck = w->thinning = w->lossy = 0;
    w->motor_loss = w->passive = 0;
    while (w->waves < WAVES && num[PAR_RIPPLE_ORDER + w->waves] != 0)
        w->waves++;
    for (int i = 0; i < n; i++) {
        w->rippled |= num[NUM_RIPPLE + i] != 0;
        w->lossy |= num[PAR_LOAD + i] != 0;
        w->motor_loss |= num[PAR_MOTOR_LOAD + i] != 0;
        w->stribeck |= num[PAR_STRIBECK + i] != 0;
        w->thinning |= num[PAR_THINNING + i] != 0;
        w->dry |= num[PAR_COULOMB + i] != 0 || num[PAR_COULOMB_NEGATIVE + i] != 0
            || num[PAR_STRIBECK + i] != 0;
    }
    for (int i = 0; i < JOINTS; i++)
        w->passive |= num[NUM_PASSIVE_VISCOUS + i] != 0 || num[NUM_PASSIVE_COULOMB + i] != 0;
    warm_up(w, state + STATE_TEMPERATURE, n);
}

/* Friction of the drives without the gears' loss, and s = tanh(rate / smoothing). */
INLINE void drive_friction(
    int n, const plant_machine *w, const real *rate, real *friction, real *s)
{
    const real *num = w->num;
    real slow[AXES] = { 0 }, direction[AXES], fading[AXES];
    for (int i = 0; i < n; i++)
        s[i] = 0;
    if (w->dry || w->lossy || w->motor_loss) {
        for (int i = 0; i < n; i++)
            slow[i] = rate[i] / num[PAR_SMOOTHING];
        for (int i = 0; i < AXES; i++)
            direction[i] = vector_tanh(slow[i]);
        for (int i = 0; i < n; i++)
            s[i] = direction[i];
    }
    for (int i = 0; i < AXES; i++)
        fading[i] = 0;
    if (w->stribeck) {
        for (int i = 0; i < n; i++) /* 0 / 0 where the axis has no such term, and is not used */
            slow[i] = rate[i] / num[PAR_STRIBECK_VELOCITY + i];
        for (int i = 0; i < AXES; i++)
            fading[i] = negative_exp(-slow[i] * slow[i]);
    }
    for (int i = 0; i < n; i++) {
        real dry = s[i] > 0 ? num[PAR_COULOMB + i] : num[PAR_COULOMB_NEGATIVE + i];
        if (num[PAR_STRIBECK + i] != 0)
            dry += num[PAR_STRIBECK + i] * fading[i];
        friction[i] = w->warm_viscous[i] * num[PAR_VISCOUS + i] * rate[i]
            + w->warm_coulomb[i] * dry * s[i] + num[PAR_OFFSET + i];
    }
    if (w->thinning)
        for (int i = 0; i < n; i++)
            if (num[PAR_THINNING + i] != 0)
                friction[i] += w->warm_viscous[i] * num[PAR_THINNING + i]
                    * vector_tanh(rate[i] / num[PAR_THINNING_VELOCITY + i]);
}

/* Ripple torques of the motors at their angles. */
INLINE void motor_ripple(int n, const real *num, const real *angle, real *ripple)
{
    real phase[AXES], c[AXES], s[AXES];
    for (int i = 0; i < n; i++)
        phase[i] = num[NUM_RIPPLE_WAVES] * angle[i] + RIPPLE_PHASE * i;
    few_angles(n, phase, c, s);
    for (int i = 0; i < n; i++)
        ripple[i] = num[NUM_RIPPLE + i] * s[i];
}

/* The robot's own ripple, which the drives must add. */
INLINE void add_waves(int n, int waves, const real *num, const real *angle, real *ripple)
{
    real phase[AXES], c[AXES], s[AXES];
    for (int wave = 0; wave < waves; wave++) {
        const real *cosine = num + PAR_RIPPLE_COS + wave * AXES;
        const real *sine = num + PAR_RIPPLE_SIN + wave * AXES;
        for (int i = 0; i < n; i++)
            phase[i] = num[PAR_RIPPLE_ORDER + wave] * angle[i];
        few_angles(n, phase, c, s);
        for (int i = 0; i < n; i++)
            ripple[i] -= cosine[i] * c[i] + sine[i] * s[i];
    }
}

/* Friction of the passive joints: B^T f(B qd). */
INLINE void passive_friction(int n, const real *num, const real *x, real *tau)
{
    real q[3 * AXES], B[(3 * LIMB_JOINTS + SPINDLE_JOINTS) * AXES];
    const real *qd = x + n;
    for (int i = 0; i < n; i++) {
        q[i] = x[i];
        q[n + i] = x[3 * n + i];
        q[2 * n + i] = x[4 * n + i];
        tau[i] = 0;
    }
    if (n == 3)
        deltadyn_passive_3(num, 1, q, B, 1);
    else
        deltadyn_passive_4(num, 1, q, B, 1);
    for (int row = 0; row < 3 * LIMB_JOINTS + (n == 4 ? SPINDLE_JOINTS : 0); row++) {
        const int limb = row < 3 * LIMB_JOINTS;
        const int joint = limb ? row / 3 : row - 2 * LIMB_JOINTS;
        const real copies = joint > LIMB_JOINTS ? 2.0 : 1.0; /* two universal joints */
        const real viscous = num[NUM_PASSIVE_VISCOUS + joint];
        const real coulomb = num[NUM_PASSIVE_COULOMB + joint];
        if (viscous == 0 && coulomb == 0)
            continue;
        const real rate = inner(n, B + row * n, qd);
        const real f = copies * (viscous * rate + coulomb * vector_tanh(rate / num[PAR_SMOOTHING]));
        for (int i = 0; i < n; i++)
            tau[i] += f * B[row * n + i];
    }
}

/* The torques at one instant, on the way to accelerations. */
typedef struct {
    real angle[AXES], rate[AXES]; /* of the motors */
    real needed[AXES], given[AXES], losses[AXES];
    real damped; /* W */
} plant_torques;

/* Elastic gears: what they pass on is given to the arms, and the motors go their own way. */
INLINE void turn_motors(
    int n, int m, const real *num, const real *y, const real *torque, plant_torques *t,
    plant_rates *r)
{
    t->damped = 0;
    for (int i = 0; i < m; i++) {
        const real slip = t->rate[i] - y[n + i];
        const real spring = num[NUM_STIFFNESS + i] * (t->angle[i] - y[i]);
        const real damper = num[NUM_DAMPING + i] * slip;
        const real gear = spring + damper;
        t->damped += damper * slip;
        r->friction[i] += t->losses[i] * fabs(gear);
        r->qdd_motor[i] = (torque[i] + r->ripple[i] - r->friction[i] - gear) / num[PAR_ROTOR + i];
        t->given[i] = gear;
        t->losses[i] = 0;
    }
}

/* qdd of M qdd + needed = given; losses of rigid gears join the friction; 0: no answer. */
INLINE int accelerate(int n, int m, const real *num, const real *M, plant_torques *t, plant_rates *r)
{
    real right[AXES], turned[AXES];
    int lossy = 0;
    for (int i = 0; i < n; i++) {
        lossy |= t->losses[i] != 0;
        right[i] = t->given[i] - t->needed[i];
    }
    if (!lossy)
        return solve_symmetric(n, M, right, r->qdd);
    if (!solve_with_losses(n, M, t->needed, t->given, t->losses, num + PAR_ROTOR, r->qdd))
        return 0;
    times_symmetric(n, M, r->qdd, turned);
    for (int i = m; i < n; i++)
        r->friction[i] += t->given[i] - turned[i] - t->needed[i];
    return 1;
}

/* M qdd + h = given, and J qdd_m = tau + ripple - friction - gear; 0 where there is no answer. */
INLINE int find_rates(
    int n, int m, const plant_machine *w, const real *y, const real *torque, const real *wrench,
    plant_rates *r)
{
    const real *num = w->num;
    real x[5 * AXES], terms[MAX_TERMS];
    plant_torques t;
    for (int i = 0; i < n; i++) {
        x[i] = y[i];
        x[n + i] = y[n + i];
        x[2 * n + i] = wrench[i];
        t.angle[i] = i < m ? y[2 * n + i] : y[i];
        t.rate[i] = i < m ? y[2 * n + m + i] : y[n + i];
    }
    few_angles(n, x, x + 3 * n, x + 4 * n);
    if (n == 3)
        deltadyn_plant_3(num, 1, x, terms, 1);
    else
        deltadyn_plant_4(num, 1, x, terms, 1);
    const real *M = terms, *h = terms + n * (n + 1) / 2, *p = h + n, *pd = p + n;
    for (int i = 0; i < n; i++) {
        r->p[i] = p[i];
        r->passive[i] = r->ripple[i] = 0;
    }
    if (w->passive)
        passive_friction(n, num, x, r->passive);
    if (w->rippled)
        motor_ripple(n, num, t.angle, r->ripple);
    if (w->waves)
        add_waves(n, w->waves, num, t.angle, r->ripple);
    drive_friction(n, w, t.rate, r->friction, t.losses);
    if (w->motor_loss)
        for (int i = 0; i < n; i++)
            r->friction[i] += num[PAR_MOTOR_LOAD + i] * t.losses[i] * fabs(torque[i]);
    for (int i = 0; i < n; i++) {
        t.given[i] = torque[i] + r->ripple[i] - r->friction[i];
        t.needed[i] = h[i] + r->passive[i];
        t.losses[i] = num[PAR_LOAD + i] * t.losses[i];
    }
    turn_motors(n, m, num, y, torque, &t, r);
    if (!accelerate(n, m, num, M, &t, r))
        return 0;
    r->powers[0] = inner(n, torque, t.rate);
    r->powers[1] = inner(n, r->ripple, t.rate);
    r->powers[2] = inner(n, wrench, pd);
    r->powers[3] = inner(n, r->friction, t.rate) + inner(n, r->passive, y + n);
    r->powers[4] = t.damped;
    return 1;
}

INLINE void find_slope(int n, int m, const real *y, const plant_rates *r, real *slope)
{
    for (int i = 0; i < n; i++) {
        slope[i] = y[n + i];
        slope[n + i] = r->qdd[i];
    }
    for (int i = 0; i < m; i++) {
        slope[2 * n + i] = y[2 * n + m + i];
        slope[2 * n + m + i] = r->qdd_motor[i];
    }
    for (int i = 0; i < WORK; i++)
        slope[2 * (n + m) + i] = r->powers[i];
}

/* A row of the table of samples, in the order of deltadyn.simulation.plant.Sample. */
INLINE void write_sample(
    int n, int m, const real *state, const plant_rates *r, const real *torque, real *row)
{
    const real *y = state + STATE_Y;
    for (int i = 0; i < n; i++) {
        row[i] = y[i];
        row[n + i] = y[n + i];
        row[2 * n + i] = r->qdd[i];
        row[3 * n + i] = i < m ? y[2 * n + i] : y[i];
        row[4 * n + i] = i < m ? y[2 * n + m + i] : y[n + i];
        row[5 * n + i] = r->p[i];
        row[6 * n + i] = torque[i];
        row[7 * n + i] = r->ripple[i];
        row[8 * n + i] = r->friction[i];
        row[9 * n + i] = r->passive[i];
        row[10 * n + i] = state[STATE_TEMPERATURE + i];
    }
    for (int i = 0; i < WORK; i++)
        row[11 * n + i] = y[2 * (n + m) + i];
}

INLINE void add_heat(int n, int m, plant_machine *w, real *state, const real *row)
{
    const real *num = w->num;
    (void)m;
    if (num[NUM_HEATING] == 0)
        return;
    for (int i = 0; i < n; i++) {
        const real watts = row[8 * n + i] * row[4 * n + i];
        const real final = num[NUM_TEMPERATURE] + num[NUM_HEATING] * watts;
        real *own = state + STATE_TEMPERATURE + i;
        *own += num[NUM_HEATING_STEP] * (final - *own);
    }
    if (num[NUM_VISCOUS_DRIFT] != 0 || num[NUM_COULOMB_DRIFT] != 0)
        warm_up(w, state + STATE_TEMPERATURE, n);
}

/* The sample of now, and one tick further where `moves`; what happened. */
INLINE int go_on(
    int n, int m, plant_machine *w, real *state, const real *start, const real *end,
    const real *wrench, real *row, int moves)
{
    static const real places[4] = { 0.0, 0.5, 0.5, 1.0 };
    const int count = 2 * (n + m) + WORK;
    const real h = w->num[NUM_DT] / w->substeps;
    real *y = state + STATE_Y, k[4][MAX_Y], there[MAX_Y], torque[AXES];
    plant_rates r;
    for (int step = 0; step < (moves ? w->substeps : 1); step++) {
        for (int stage = 0; stage < 4; stage++) {
            const real share = (step + places[stage]) / w->substeps;
            const real ahead = stage == 3 ? h : h / 2;
            for (int i = 0; i < n; i++)
                torque[i] = share == 0 ? start[i] : start[i] + share * (end[i] - start[i]);
            for (int i = 0; i < count; i++)
                there[i] = stage == 0 ? y[i] : y[i] + ahead * k[stage - 1][i];
            if (!find_rates(n, m, w, there, torque, wrench, &r))
                return LOOP_OPEN;
            if (step == 0 && stage == 0) {
                write_sample(n, m, state, &r, torque, row);
                if (!moves)
                    return GOES_ON;
            }
            find_slope(n, m, there, &r, k[stage]);
        }
        for (int i = 0; i < count; i++)
            y[i] += h / 6 * (k[0][i] + 2 * (k[1][i] + k[2][i]) + k[3][i]);
    }
    for (int i = 0; i < count; i++)
        if (!(fabs(y[i]) < INFINITY))
            return UNBOUNDED;
    add_heat(n, m, w, state, row);
    return GOES_ON;
}

#endif
