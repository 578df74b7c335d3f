/* The kernels of planar, articulated and helical platforms. */
#define DELTADYN_PLATFORMS
#define DELTADYN_CHOSEN DELTADYN_PLATFORMS_KERNELS
#include "blocks.h"

const kernel *deltadyn_platform_kernel(long number)
{
    return number >= 0 && number < KERNEL_COUNT ? &KERNELS[number] : NULL;
}
