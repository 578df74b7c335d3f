/* The loops over samples around the generated functions.
 *
 * A block holds some samples in columns, one coordinate after the other, so that the compiler turns
 * the straight-line code into vector instructions. Nothing here may assume finite numbers: NaN marks
 * what does not exist.
 */
#ifndef DELTADYN_BLOCKS_H
#define DELTADYN_BLOCKS_H

#include <math.h>
#include <stddef.h>

#include "real.h"

#include "traced/table.h"

/* What a source compiles: the Delta, other actuations under the same platforms, other platforms. */
#ifndef DELTADYN_CHOSEN
#define DELTADYN_DELTA
#define DELTADYN_CHOSEN DELTADYN_DELTA_KERNELS
#endif
#ifdef DELTADYN_DELTA
#include "traced/delta.h"
#endif
#ifdef DELTADYN_ACTUATIONS
#include "traced/actuations.h"
#endif
#ifdef DELTADYN_PLATFORMS
#include "traced/platforms.h"
#endif

enum { BLOCK = 64 };

#include "vector.h"

typedef void block_function(const real *par, const real *x, real *y, int count);

#define BLOCK_FUNCTION(name, clones) \
    clones static void block_##name( \
        const real *restrict par, const real *restrict x, real *restrict y, int count) \
    { \
        INDEPENDENT for (int k = 0; k < count; k++) \
            deltadyn_##name(par, x + k, y + k, BLOCK); \
    }
/* Torques have code for every generation of processors; a kernel of something else has a dof of 0. */
#define BLOCK_FUNCTION_0(name) BLOCK_FUNCTION(name, RARE_CLONES)
#define BLOCK_FUNCTION_2(name) BLOCK_FUNCTION(name, CLONES)
#define BLOCK_FUNCTION_3(name) BLOCK_FUNCTION(name, CLONES)
#define BLOCK_FUNCTION_4(name) BLOCK_FUNCTION(name, CLONES)
#define KERNEL_BLOCK(name, parameters, angle, angles, rate, rates, dof, ...) \
    BLOCK_FUNCTION_##dof(name)
DELTADYN_CHOSEN(KERNEL_BLOCK)

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

#endif
