/* The kernels of inclined arms and of rails, with and without a spindle. */
#define DELTADYN_ACTUATIONS
#define DELTADYN_CHOSEN DELTADYN_ACTUATIONS_KERNELS
#include "blocks.h"

const kernel *deltadyn_actuation_kernel(long number)
{
    return number >= 0 && number < KERNEL_COUNT ? &KERNELS[number] : NULL;
}
