/* Rows of any strides in memory, and how blocks of them go through a kernel.
 *
 * Functions of the C library (tanh, exp) run in loops of their own.
 */
#ifndef DELTADYN_TABLES_H
#define DELTADYN_TABLES_H

#include <stddef.h>
#include <string.h>

#include "blocks.h"

#include "traced/friction.h"
#include "angles.h"

/* Friction reads tau, qd, qdd, direction and Stribeck shape of y and writes tau there. */
#define FRICTION_FUNCTION(dof) \
    CLONES static void block_friction_##dof(const real *restrict par, real *y, int count) \
    { \
        INDEPENDENT for (int k = 0; k < count; k++) \
            deltadyn_friction_##dof(par, y + k, y + k, BLOCK); \
    }
FRICTION_FUNCTION(2)
FRICTION_FUNCTION(3)
FRICTION_FUNCTION(4)

/* How many columns a kernel gives. */
static int columns_out(const kernel *k)
{
    int columns = 0;
    for (int a = 0; a < k->outputs; a++)
        columns += k->width[k->inputs + a];
    return columns;
}

/* Cosines, then sines, of some columns, into the columns behind `end`. */
static void add_angles(const kernel *k, real *x, int end, int count)
{
    for (int j = 0; j < k->angles; j++) {
        const real *angle = x + (size_t)(k->first_angle + j) * BLOCK;
        real *cosine = x + (size_t)(end + j) * BLOCK;
        real *sine = x + (size_t)(end + k->angles + j) * BLOCK;
        cosines_and_sines(angle, cosine, sine, count);
    }
}

/* Cosine and sine of the bars' angle phi0 + psi/k, into two columns. */
static void add_bars(const kernel *k, const real *par, const real *x, real *to, int count)
{
    const real *psi = x + (size_t)(k->bars - 1) * BLOCK;
    const real phi0 = par[PAR_CARRIER], rate = par[PAR_CARRIER + 1];
    real phi[BLOCK];
    for (int i = 0; i < count; i++)
        phi[i] = phi0 + psi[i] * rate;
    cosines_and_sines(phi, to, to + BLOCK, count);
}

/* The sign of qd, which follows tau and has qdd behind it. */
CLONES static void add_signs(const real *restrict rate, real *restrict direction, int count)
{
    INDEPENDENT for (int i = 0; i < count; i++)
        direction[i] = (rate[i] > 0 ? (real)1.0 : (real)0.0) - (rate[i] < 0 ? (real)1.0 : (real)0.0);
}

/* Directions and Stribeck shapes of some columns of joint rates, into columns of their own. */
static void add_shapes(
    const real *par, const real *rates, real *directions, real *shapes, int axes, int count)
{
    const real smoothing = par[PAR_SMOOTHING];
    for (int j = 0; j < axes; j++) {
        const real *rate = rates + (size_t)j * BLOCK;
        real *direction = directions + (size_t)j * BLOCK;
        real *shape = shapes + (size_t)j * BLOCK;
        const real velocity = par[PAR_STRIBECK_VELOCITY + j];
        if (smoothing > 0)
            for (int i = 0; i < count; i++)
                direction[i] = REAL_TANH(rate[i] / smoothing);
        else
            add_signs(rate, direction, count);
        if (velocity > 0)
            for (int i = 0; i < count; i++) {
                const real ratio = rate[i] / velocity;
                shape[i] = REAL_EXP(-ratio * ratio);
            }
        else
            for (int i = 0; i < count; i++)
                shape[i] = 0;
    }
}

/* y holds tau, qd and qdd, with room for directions and shapes behind them. */
static void add_friction(const kernel *k, const real *par, real *y, int count)
{
    const size_t group = (size_t)k->dof * BLOCK;
    add_shapes(par, y + group, y + 3 * group, y + 4 * group, k->dof, count);
    if (k->dof == 3)
        block_friction_3(par, y, count);
    else if (k->dof == 4)
        block_friction_4(par, y, count);
    else
        block_friction_2(par, y, count);
}

/* 0 for a sample whose columns are finite, else NaN. */
CLONES static void sum_gates(const real *restrict y, int columns, real *restrict gate, int count)
{
    for (int i = 0; i < count; i++)
        gate[i] = 0;
    for (int j = 0; j < columns; j++) {
        const real *column = y + (size_t)j * BLOCK;
        INDEPENDENT for (int i = 0; i < count; i++)
            gate[i] += column[i] * (real)0.0;
    }
}

/* Compute one block; returns how many of its samples have a result that is not finite. */
static int run_block(const kernel *k, int friction, const real *par, real *x, real *y, int count)
{
    const int outputs = columns_out(k);
    int inputs = 0, bad = 0;
    real gate[BLOCK];
    for (int a = 0; a < k->inputs; a++)
        inputs += k->width[a];
    if (k->angles)
        add_angles(k, x, inputs, count);
    inputs += 2 * k->angles;
    if (k->bars) {
        add_bars(k, par, x, x + (size_t)inputs * BLOCK, count);
        inputs += 2;
    }
    if (k->rates) {
        real *shapes = x + (size_t)inputs * BLOCK;
        const real *rates = x + (size_t)k->first_rate * BLOCK;
        add_shapes(par, rates, shapes, shapes + (size_t)k->rates * BLOCK, k->rates, count);
    }
    k->function(par, x, y, count);
    if (friction && k->dof)
        add_friction(k, par, y, count);
    sum_gates(y, k->whole && k->dof ? 3 * k->dof : outputs, gate, count);
    for (int i = 0; i < count; i++)
        bad += gate[i] != gate[i];
    if (bad && k->whole)
        for (int j = 0; j < outputs; j++)
            for (int i = 0; i < count; i++)
                y[(size_t)j * BLOCK + i] += gate[i];
    return bad;
}

typedef struct {
    char *data;
    ptrdiff_t step, hop; /* bytes from row to row and from coordinate to coordinate */
    int width;
} table;

/* A kernel of _actuations.c or of _platforms.c, counted from 0; NULL where there is none. */
const kernel *deltadyn_actuation_kernel(long number);
const kernel *deltadyn_platform_kernel(long number);

/* The float kernel of that name over all rows, as run_all; -1 where there is none. */
ptrdiff_t deltadyn_run_float(
    const char *name, int friction, const double *numbers, const table *tables, ptrdiff_t rows);

/* Fill a block of columns from rows. */
static void gather(const table *t, ptrdiff_t start, int count, real *x)
{
    for (int j = 0; j < t->width; j++) {
        const char *from = t->data + start * t->step + j * t->hop;
        real *column = x + (size_t)j * BLOCK;
        for (int i = 0; i < count; i++)
            memcpy(column + i, from + i * t->step, sizeof(real));
    }
}

static void scatter(const table *t, ptrdiff_t start, int count, const real *y)
{
    for (int j = 0; j < t->width; j++) {
        char *to = t->data + start * t->step + j * t->hop;
        const real *column = y + (size_t)j * BLOCK;
        for (int i = 0; i < count; i++)
            memcpy(to + i * t->step, column + i, sizeof(real));
    }
}

/* The columns of y into columns of one table: places[j] is -1 for a column that is left out, else
 * twice the column of the table, and one more where it is added to what an earlier one put there. */
static void place(
    const table *t, const int *places, int columns, ptrdiff_t start, int count, const real *y)
{
    for (int j = 0; j < columns; j++) {
        const real *column = y + (size_t)j * BLOCK;
        char *to = t->data + start * t->step + (places[j] >> 1) * t->hop;
        if (places[j] < 0)
            continue;
        for (int i = 0; i < count; i++) {
            real value = column[i], before = 0;
            if (places[j] & 1)
                memcpy(&before, to + i * t->step, sizeof(real));
            value += before;
            memcpy(to + i * t->step, &value, sizeof(real));
        }
    }
}

/* The robot's numbers as the kernels read them; without friction its amplitudes are zero. */
static void take_numbers(const double *numbers, int friction, real *par)
{
    for (int i = 0; i < PAR_COUNT; i++) {
        const int amplitude = (i >= PAR_VISCOUS && i < PAR_STRIBECK_VELOCITY)
            || (i >= PAR_OFFSET && i < PAR_ROTOR);
        par[i] = amplitude && !friction ? (real)0.0 : (real)numbers[i];
    }
}

/* All rows through a kernel; returns how many of the results are not finite. With `places` there
 * is one output table, whose columns they name. */
static ptrdiff_t run_all(
    const kernel *k, int friction, const double *numbers, const table *tables, ptrdiff_t rows,
    const int *places)
{
    real x[MAX_INPUTS * BLOCK], y[MAX_OUTPUTS * BLOCK], par[PAR_COUNT];
    ptrdiff_t bad = 0;
    take_numbers(numbers, friction, par);
    for (ptrdiff_t start = 0; start < rows; start += BLOCK) {
        const int count = rows - start < BLOCK ? (int)(rows - start) : BLOCK;
        const table *t = tables;
        int column = 0;
        for (int a = 0; a < k->inputs; a++, t++) {
            gather(t, start, count, x + (size_t)column * BLOCK);
            column += t->width;
        }
        bad += run_block(k, friction, par, x, y, count);
        if (places) {
            place(t, places, columns_out(k), start, count, y);
            continue;
        }
        column = 0;
        for (int a = 0; a < k->outputs; a++, t++) {
            scatter(t, start, count, y + (size_t)column * BLOCK);
            column += t->width;
        }
    }
    return bad;
}

#endif
