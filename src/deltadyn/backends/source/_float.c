/* The torque kernels once more, in floats: twice as many samples in a vector instruction. */
#define DELTADYN_FLOAT 1
#define DELTADYN_DELTA
#define DELTADYN_ACTUATIONS
#define DELTADYN_PLATFORMS
#define DELTADYN_CHOSEN DELTADYN_TORQUE_KERNELS
#include "tables.h"

ptrdiff_t deltadyn_run_float(
    const char *name, int friction, const double *numbers, const table *tables, ptrdiff_t rows)
{
    for (int k = 0; k < KERNEL_COUNT; k++)
        if (!strcmp(KERNELS[k].name, name))
            return run_all(&KERNELS[k], friction, numbers, tables, rows, NULL);
    return -1;
}
