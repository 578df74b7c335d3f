/* The torque kernels once more, in floats: twice as many samples in a vector instruction. */
#define DELTADYN_FLOAT 1
#define DELTADYN_FAMILY 2 /* the others beside it */
#define DELTADYN_CHOSEN(X) DELTADYN_TORQUE_KERNELS(X) DELTADYN_FAMILY_TORQUE_KERNELS(X)
#include "tables.h"

ptrdiff_t deltadyn_run_float(
    const char *name, int friction, const double *numbers, const table *tables, ptrdiff_t rows)
{
    for (int k = 0; k < KERNEL_COUNT; k++)
        if (!strcmp(KERNELS[k].name, name))
            return run_all(&KERNELS[k], friction, numbers, tables, rows, NULL);
    return -1;
}
