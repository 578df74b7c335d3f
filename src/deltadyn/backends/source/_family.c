/* The kernels of the family beside the Delta: other platforms, and spindles beside other arms. */
#define DELTADYN_FAMILY 1
#define DELTADYN_CHOSEN DELTADYN_FAMILY_KERNELS
#include "blocks.h"

const kernel *deltadyn_family_kernel(long number)
{
    return number >= 0 && number < KERNEL_COUNT ? &KERNELS[number] : NULL;
}
