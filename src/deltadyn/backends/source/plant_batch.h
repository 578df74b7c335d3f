/* Many robots in motion: Runge-Kutta of order 4 on blocks of robots in columns.
 *
 * Gears are rigid. A block runs through all its steps before the next one begins, so its columns
 * stay in the nearest cache. A robot whose loop opens turns into NaN; its neighbours do not notice.
 */
#ifndef DELTADYN_PLANT_BATCH_H
#define DELTADYN_PLANT_BATCH_H

#include <string.h>

#include "plant_basics.h"
#include "plant_solve.h"

enum { LANES = 32, PASSIVE_ROWS = 3 * LIMB_JOINTS + SPINDLE_JOINTS };

/* One call: (rows, 2 n) states, and what drives them. Strides are in numbers; 0: one for all. */
typedef struct {
    ptrdiff_t rows, steps, every; /* every: ticks from one stored state to the next, 0: none */
    int substeps, ramp, tanh, stribeck, thinning, lossy, waves, motor_loss, scaled, passive, joint[JOINTS], law;
    real dt;
    const real *par, *wrench, *torque, *forward, *reference, *rates, *gains;
    ptrdiff_t par_row, wrench_row, torque_row, course_row;
    real *y, *course;
} batch;

/* The columns of a block. */
typedef struct {
    real par[NUM_ROBOT_COUNT * LANES];
    real y[2 * AXES * LANES], there[2 * AXES * LANES], k[2 * AXES * LANES], sum[2 * AXES * LANES];
    real x[5 * AXES * LANES], terms[22 * LANES], right[AXES * LANES], direction[AXES * LANES];
    real start[AXES * LANES], end[AXES * LANES], before[AXES * LANES];
    real passive[PASSIVE_ROWS * AXES * LANES];
} block;

#define LANE INDEPENDENT for (int k = 0; k < LANES; k++)
#define NUMBER(place) par[(size_t)(place) * step + k * (step != 1)]

INLINE void block_terms(
    int n, size_t step, const real *restrict par, const real *restrict x, real *restrict y)
{
    if (n == 3) {
        LANE deltadyn_plant_3(par + k * (step != 1), step, x + k, y + k, LANES);
    } else {
        LANE deltadyn_plant_4(par + k * (step != 1), step, x + k, y + k, LANES);
    }
}

INLINE void block_passive_map(
    int n, size_t step, const real *restrict par, const real *restrict x, real *restrict y)
{
    if (n == 3) {
        LANE deltadyn_passive_3(par + k * (step != 1), step, x + k, y + k, LANES);
    } else {
        LANE deltadyn_passive_4(par + k * (step != 1), step, x + k, y + k, LANES);
    }
}

/* Take the robots' own ripple at the angles of one axis from the torque. */
INLINE void block_waves(
    int waves, int axis, size_t step, const real *restrict par, const real *restrict angle,
    real *restrict right)
{
    real phase[LANES], cosine[LANES], sine[LANES];
    for (int wave = 0; wave < waves; wave++) {
        LANE phase[k] = NUMBER(PAR_RIPPLE_ORDER + wave) * angle[k];
        cosines_and_sines(phase, cosine, sine, LANES);
        LANE right[k] -= NUMBER(PAR_RIPPLE_COS + wave * AXES + axis) * cosine[k]
            + NUMBER(PAR_RIPPLE_SIN + wave * AXES + axis) * sine[k];
    }
}

/* Take the drives' friction from the torque; tanh(qd / smoothing) stays in `direction`. */
INLINE void block_friction(const batch *c, int n, size_t step, const real *restrict par, block *b)
{
    for (int i = 0; i < n; i++) {
        const real *restrict rate = b->there + (size_t)(n + i) * LANES;
        real *restrict right = b->right + (size_t)i * LANES;
        real *restrict s = b->direction + (size_t)i * LANES;
        if (c->tanh)
            LANE s[k] = vector_tanh(rate[k] / NUMBER(PAR_SMOOTHING));
        if (c->scaled)
            LANE right[k] /= NUMBER(PAR_TORQUE_RATIO + i);
        if (c->motor_loss)
            LANE right[k] -= NUMBER(PAR_MOTOR_LOAD + i) * s[k] * fabs(right[k]);
        if (c->waves)
            block_waves(c->waves, i, step, par, b->there + (size_t)i * LANES, right);
        LANE right[k] -= NUMBER(PAR_VISCOUS + i) * rate[k] + NUMBER(PAR_OFFSET + i);
        if (c->thinning)
            LANE {
                const real size = NUMBER(PAR_THINNING + i);
                const real slow = rate[k] / (size != 0 ? NUMBER(PAR_THINNING_VELOCITY + i) : 1.0);
                right[k] -= size * vector_tanh(slow);
            }
        if (!c->tanh)
            continue;
        LANE right[k] -= (s[k] > 0 ? NUMBER(PAR_COULOMB + i) : NUMBER(PAR_COULOMB_NEGATIVE + i))
            * s[k];
        if (!c->stribeck)
            continue;
        LANE {
            const real size = NUMBER(PAR_STRIBECK + i);
            const real ratio = rate[k] / (size != 0 ? NUMBER(PAR_STRIBECK_VELOCITY + i) : 1.0);
            right[k] -= size * negative_exp(-ratio * ratio) * s[k];
        }
    }
}

/* Add what the passive joints ask to h: B^T f(B qd). */
INLINE void block_passive(
    const batch *c, int n, size_t step, const real *restrict par, block *b, real *restrict h)
{
    real x[3 * AXES * LANES], f[LANES];
    for (int i = 0; i < n; i++) {
        memcpy(x + (size_t)i * LANES, b->x + (size_t)i * LANES, sizeof f);
        memcpy(x + (size_t)(n + i) * LANES, b->x + (size_t)(3 * n + i) * LANES, sizeof f);
        memcpy(x + (size_t)(2 * n + i) * LANES, b->x + (size_t)(4 * n + i) * LANES, sizeof f);
    }
    block_passive_map(n, step, par, x, b->passive);
    for (int row = 0; row < 3 * LIMB_JOINTS + (n == 4 ? SPINDLE_JOINTS : 0); row++) {
        const int joint = row < 3 * LIMB_JOINTS ? row / 3 : row - 2 * LIMB_JOINTS;
        const real copies = joint > LIMB_JOINTS ? 2.0 : 1.0; /* two universal joints */
        const real *restrict B = b->passive + (size_t)row * n * LANES;
        const real *restrict qd = b->there + (size_t)n * LANES;
        if (!c->joint[joint])
            continue;
        LANE {
            real rate = 0;
            for (int i = 0; i < n; i++)
                rate += B[i * LANES + k] * qd[i * LANES + k];
            f[k] = copies
                * (NUMBER(NUM_PASSIVE_VISCOUS + joint) * rate
                   + NUMBER(NUM_PASSIVE_COULOMB + joint)
                       * vector_tanh(rate / NUMBER(PAR_SMOOTHING)));
        }
        for (int i = 0; i < n; i++)
            LANE h[i * LANES + k] += f[k] * B[i * LANES + k];
    }
}

/* M x = b in columns, by M = L D L^T; NaN where M is not positive definite. */
INLINE void block_solve(int n, const real *restrict M, const real *restrict right, real *restrict x)
{
    LANE {
        real lower[AXES * (AXES + 1) / 2], z[AXES];
        for (int i = 0; i < n; i++)
            z[i] = right[i * LANES + k];
        for (int j = 0; j < n; j++) {
            real pivot = M[AT(j, j) * LANES + k];
            for (int l = 0; l < j; l++)
                pivot -= lower[AT(j, l)] * lower[AT(j, l)] * lower[AT(l, l)];
            pivot = pivot > 0 ? pivot : NAN;
            lower[AT(j, j)] = pivot;
            for (int i = j + 1; i < n; i++) {
                real value = M[AT(i, j) * LANES + k];
                for (int l = 0; l < j; l++)
                    value -= lower[AT(i, l)] * lower[AT(j, l)] * lower[AT(l, l)];
                lower[AT(i, j)] = value / pivot;
                z[i] -= lower[AT(i, j)] * z[j];
            }
        }
        for (int j = n - 1; j >= 0; j--) {
            z[j] /= lower[AT(j, j)];
            for (int i = j + 1; i < n; i++)
                z[j] -= lower[AT(i, j)] * z[i];
            x[j * LANES + k] = z[j];
        }
    }
}

/* The same with losses in gears, robot by robot. */
INLINE void block_solve_lossy(int n, size_t step, const real *par, const real *h, block *b)
{
    for (int k = 0; k < LANES; k++) {
        real M[AXES * (AXES + 1) / 2], needed[AXES], given[AXES], losses[AXES], rotor[AXES];
        real qdd[AXES];
        for (int i = 0; i < n; i++) {
            for (int j = 0; j <= i; j++)
                M[AT(i, j)] = b->terms[AT(i, j) * LANES + k];
            needed[i] = h[i * LANES + k];
            given[i] = b->right[i * LANES + k];
            losses[i] = NUMBER(PAR_LOAD + i) * b->direction[i * LANES + k];
            rotor[i] = NUMBER(PAR_ROTOR + i);
        }
        const int found = solve_with_losses(n, M, needed, given, losses, rotor, qdd);
        for (int i = 0; i < n; i++)
            b->k[(n + i) * LANES + k] = found ? qdd[i] : NAN;
    }
}

/* The slope of `there` under the torque in `right`, into k. */
INLINE void block_slope(const batch *c, int n, size_t step, const real *par, block *b)
{
    real *h = b->terms + (size_t)(n * (n + 1) / 2) * LANES;
    memcpy(b->x, b->there, sizeof(real) * 2 * n * LANES);
    memcpy(b->k, b->there + (size_t)n * LANES, sizeof(real) * n * LANES);
    for (int i = 0; i < n; i++)
        cosines_and_sines(
            b->x + (size_t)i * LANES, b->x + (size_t)(3 * n + i) * LANES,
            b->x + (size_t)(4 * n + i) * LANES, LANES);
    block_terms(n, step, par, b->x, b->terms);
    block_friction(c, n, step, par, b);
    if (c->passive)
        block_passive(c, n, step, par, b, h);
    if (c->lossy) {
        block_solve_lossy(n, step, par, h, b);
        return;
    }
    for (int i = 0; i < n * LANES; i++)
        b->right[i] -= h[i];
    block_solve(n, b->terms, b->right, b->k + (size_t)n * LANES);
}

/* One tick: `substeps` steps under a torque that goes from `start` to `end`. */
INLINE void block_tick(const batch *c, int n, size_t step, const real *par, block *b)
{
    static const real places[4] = { 0.0, 0.5, 0.5, 1.0 };
    const real h = c->dt / c->substeps;
    for (int sub = 0; sub < c->substeps; sub++)
        for (int stage = 0; stage < 4; stage++) {
            const real share = (sub + places[stage]) / c->substeps;
            const real ahead = stage == 3 ? h : h / 2, weight = stage % 3 ? 2.0 : 1.0;
            INDEPENDENT for (int i = 0; i < 2 * n * LANES; i++)
                b->there[i] = stage ? b->y[i] + ahead * b->k[i] : b->y[i];
            INDEPENDENT for (int i = 0; i < n * LANES; i++)
                b->right[i] = b->start[i] + share * (b->end[i] - b->start[i]);
            block_slope(c, n, step, par, b);
            INDEPENDENT for (int i = 0; i < 2 * n * LANES; i++)
                b->sum[i] = stage ? b->sum[i] + weight * b->k[i] : b->k[i];
            if (stage == 3)
                INDEPENDENT for (int i = 0; i < 2 * n * LANES; i++)
                    b->y[i] += h / 6 * b->sum[i];
        }
}

/* The torque of tick t: of the table, or of the law at the angles and rates of now. */
INLINE void block_torque(const batch *c, int n, ptrdiff_t t, ptrdiff_t first, int count, block *b)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < LANES; k++) {
            const ptrdiff_t row = first + (k < count ? k : 0), at = t * n + i;
            real *start = b->start + i * LANES + k, *end = b->end + i * LANES + k;
            if (c->law) {
                real *before = b->before + i * LANES + k;
                const real q = b->y[i * LANES + k], seen = (q - *before) / c->dt;
                *start = c->forward[at] + c->gains[i] * (c->reference[at] - q)
                    + c->gains[n + i] * (c->rates[at] - seen);
                *before = q;
                *end = *start;
            } else {
                const real *own = c->torque + row * c->torque_row + at;
                *start = own[0];
                *end = c->ramp ? own[n] : own[0];
            }
        }
}

INLINE void block_load(const batch *c, int n, ptrdiff_t first, int count, block *b)
{
    for (int k = 0; k < LANES; k++) {
        const ptrdiff_t row = first + (k < count ? k : 0);
        for (int i = 0; i < 2 * n; i++)
            b->y[i * LANES + k] = c->y[row * 2 * n + i];
        for (int i = 0; i < n; i++) {
            b->x[(2 * n + i) * LANES + k] = c->wrench[row * c->wrench_row + i];
            b->before[i * LANES + k]
                = b->y[i * LANES + k] - c->dt * b->y[(n + i) * LANES + k];
        }
        if (c->par_row)
            for (int i = 0; i < NUM_ROBOT_COUNT; i++)
                b->par[i * LANES + k] = c->par[row * c->par_row + i];
    }
}

INLINE void block_store(const block *b, int n, int count, real *to, ptrdiff_t row)
{
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 2 * n; i++)
            to[k * row + i] = b->y[i * LANES + k];
}

INLINE void roll_out(const batch *c, int n, size_t step, block *b)
{
    for (ptrdiff_t first = 0; first < c->rows; first += LANES) {
        const int count = c->rows - first < LANES ? (int)(c->rows - first) : LANES;
        const real *par = c->par_row ? b->par : c->par;
        real *course = c->every ? c->course + first * c->course_row : NULL;
        block_load(c, n, first, count, b);
        for (ptrdiff_t t = 0; t < c->steps; t++) {
            if (c->every && t % c->every == 0) {
                block_store(b, n, count, course, c->course_row);
                course += 2 * n;
            }
            block_torque(c, n, t, first, count, b);
            block_tick(c, n, step, par, b);
        }
        if (c->every && c->steps % c->every == 0)
            block_store(b, n, count, course, c->course_row);
        block_store(b, n, count, c->y + first * 2 * n, 2 * n);
    }
}

#define ROLLOUT(n, name, step) \
    CLONES static void roll_out_##n##name(const batch *c, block *b) { roll_out(c, n, step, b); }
ROLLOUT(3, _one, 1)
ROLLOUT(3, _own, LANES)
ROLLOUT(4, _one, 1)
ROLLOUT(4, _own, LANES)

#endif
