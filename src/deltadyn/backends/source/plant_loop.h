/* The loop of drive and plant: measure, command, delay, limit, move; as simulation/drive.py. */
#ifndef DELTADYN_PLANT_LOOP_H
#define DELTADYN_PLANT_LOOP_H

#include "plant.h"

#define HALF_TURN 3.141592653589793

enum { LOST = 3, NO_STATE = 6 }; /* LOST + axis: an arm is half a turn off */

/* The arrays of a whole run; every row is a tick. */
typedef struct {
    const real *reference, *rates, *forward, *wrench; /* (N, n) */
    const real *leads, *model; /* (N, n), and numbers: gravity at measured angles, or NULL */
    real *commands, *samples; /* (N, n), (N, 11 n + 5) */
    ptrdiff_t first, end, last; /* ticks of this call, and the last tick of the run */
} plant_run;

/* Add the gravity torque of the law's model at q ahead by `leads`; 0 where it has no state. */
INLINE int add_gravity(int n, const real *model, const real *leads, const real *q, real *command)
{
    real x[5 * AXES] = { 0 }, terms[MAX_TERMS];
    int finite = 1;
    for (int i = 0; i < n; i++)
        x[i] = leads[i] + q[i];
    few_angles(n, x, x + 3 * n, x + 4 * n);
    if (n == 3)
        deltadyn_plant_3(model, 1, x, terms, 1);
    else
        deltadyn_plant_4(model, 1, x, terms, 1);
    for (int i = 0; i < n; i++) {
        command[i] += terms[n * (n + 1) / 2 + i];
        finite &= fabs(command[i]) < INFINITY;
    }
    return finite;
}

/* Measure, command, delay, limit: the torque at the tick's beginning and at its end. */
INLINE int drive_tick(
    int n, int m, const real *num, real *state, const plant_run *run, ptrdiff_t k, real *start,
    real *end)
{
    const real *y = state + STATE_Y, step = num[NUM_ENCODER_STEP];
    const ptrdiff_t sent = k - (ptrdiff_t)num[NUM_DELAY];
    int cut = 0;
    for (int i = 0; i < 3; i++) {
        const real off = (i < m ? y[2 * n + i] : y[i]) - run->reference[k * n + i];
        if (!(fabs(off) < HALF_TURN))
            return LOST + i;
    }
    for (int i = 0; i < n; i++) {
        const real exact = i < m ? y[2 * n + i] : y[i];
        const real q = step != 0 ? rint(exact / step) * step : exact;
        real *seen = state + STATE_SEEN + i, *before = state + STATE_BEFORE + i;
        *seen += num[NUM_FILTER_GAIN] * ((q - *before) * num[NUM_RATE] - *seen);
        *before = q;
        run->commands[k * n + i] = run->forward[k * n + i]
            + (num[NUM_STIFFNESS_GAIN + i] * (run->reference[k * n + i] - q)
               + num[NUM_DAMPING_GAIN + i] * (run->rates[k * n + i] - *seen));
    }
    if (run->model
        && !add_gravity(
            n, run->model, run->leads + k * n, state + STATE_BEFORE, run->commands + k * n))
        return NO_STATE;
    for (int i = 0; i < n; i++) {
        const real held = state[STATE_TORQUE + i], limit = num[NUM_LIMIT + i];
        const real wanted = sent >= 0 ? run->commands[sent * n + i] : state[STATE_HOLDING + i];
        const real most = wanted > limit ? limit : wanted, ratio = num[PAR_TORQUE_RATIO + i];
        const real next = most < -limit ? -limit : most;
        end[i] = next / ratio; /* the drive counts torques in a scale of its own */
        start[i] = num[NUM_RAMP] != 0 ? held / ratio : end[i];
        cut |= next != wanted;
        state[STATE_TORQUE + i] = next;
    }
    state[STATE_SATURATED] += cut;
    return GOES_ON;
}

/* All ticks of a run, or those up to the trouble; `done` counts them. */
INLINE int follow(int n, int m, const real *num, real *state, const plant_run *run, ptrdiff_t *done)
{
    plant_machine w;
    real start[AXES], end[AXES];
    look_at(&w, num, state, n);
    *done = 0;
    for (ptrdiff_t k = run->first; k < run->end; k++, ++*done) {
        int trouble = drive_tick(n, m, num, state, run, k, start, end);
        if (!trouble)
            trouble = go_on(
                n, m, &w, state, start, end, run->wrench + k * n,
                run->samples + k * (11 * n + WORK), k < run->last);
        if (trouble)
            return trouble;
    }
    return GOES_ON;
}

#define KINDS(X) X(3, 0) X(3, 3) X(4, 0) X(4, 3)
#define KIND_FUNCTIONS(n, m) \
    CLONES static int follow_##n##m( \
        const real *num, real *state, const plant_run *run, ptrdiff_t *done) \
    { \
        return follow(n, m, num, state, run, done); \
    } \
    CLONES static int tick_##n##m( \
        const real *num, real *state, const real *torques, real *row, int moves) \
    { \
        plant_machine w; \
        look_at(&w, num, state, n); \
        return go_on( \
            n, m, &w, state, torques, torques + n, torques + 2 * n, row, moves); \
    }
KINDS(KIND_FUNCTIONS)

#endif
