/* The loops over samples around the generated functions.
 *
 * A block holds some samples in columns, one coordinate after the other, so that the compiler turns
 * the straight-line code into vector instructions. Functions of the C library (tanh, exp) run in
 * loops of their own. Nothing here may assume finite numbers: NaN marks what does not exist.
 */
#ifndef DELTADYN_BLOCKS_H
#define DELTADYN_BLOCKS_H

#include <math.h>
#include <stddef.h>

#include "real.h"

#include "../generated/friction.h"
#include "../generated/table.h"

/* What a source compiles: the Delta, other actuations under the same platforms, other platforms. */
#ifndef DELTADYN_CHOSEN
#define DELTADYN_DELTA
#define DELTADYN_CHOSEN DELTADYN_KERNELS
#endif
#ifdef DELTADYN_DELTA
#include "../generated/columns_3.h"
#include "../generated/columns_4.h"
#include "../generated/kinematics.h"
#include "../generated/passive.h"
#include "../generated/terms_3.h"
#include "../generated/terms_4.h"
#include "../generated/torque_3.h"
#include "../generated/torque_4.h"
#endif
#ifdef DELTADYN_ACTUATIONS
#include "../generated/inclined.h"
#include "../generated/inclined_4.h"
#include "../generated/rail.h"
#include "../generated/rail_4.h"
#include "../generated/vertical.h"
#endif
#ifdef DELTADYN_PLATFORMS
#include "../generated/articulated.h"
#include "../generated/helical.h"
#include "../generated/planar.h"
#include "../generated/rail_articulated.h"
#include "../generated/rail_helical.h"
#include "../generated/rail_planar.h"
#endif

enum { BLOCK = 64 };

#include "vector.h"

#include "angles.h"

typedef void block_function(const real *par, const real *x, real *y, int count);

#define BLOCK_FUNCTION(name) \
    CLONES static void block_##name( \
        const real *restrict par, const real *restrict x, real *restrict y, int count) \
    { \
        INDEPENDENT for (int k = 0; k < count; k++) \
            deltadyn_##name(par, x + k, y + k, BLOCK); \
    }
#define KERNEL_BLOCK(name, ...) BLOCK_FUNCTION(name)
DELTADYN_CHOSEN(KERNEL_BLOCK)

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

typedef struct {
    const char *name;
    block_function *function;
    int parameters, first_angle, angles, first_rate, rates, dof, whole, bars;
    int inputs, outputs; /* arrays */
    int width[MAX_ARRAYS]; /* of the inputs, then of the outputs */
} kernel;

#define COUNT_OF(count, ...) count
#define WIDTHS_OF(count, ...) __VA_ARGS__
#define KERNEL_ROW(name, parameters, angle, angles, rate, rates, dof, whole, bars, in, out) \
    { #name, block_##name, parameters, angle, angles, rate, rates, dof, whole, bars, COUNT_OF in, \
      COUNT_OF out, { WIDTHS_OF in, WIDTHS_OF out } },
static const kernel KERNELS[] = { DELTADYN_CHOSEN(KERNEL_ROW) };
enum { KERNEL_COUNT = sizeof(KERNELS) / sizeof(KERNELS[0]) };

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

#endif
