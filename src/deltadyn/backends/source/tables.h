/* Rows of any strides in memory, and how blocks of them go through a kernel. */
#ifndef DELTADYN_TABLES_H
#define DELTADYN_TABLES_H

#include <stddef.h>
#include <string.h>

#include "blocks.h"

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
