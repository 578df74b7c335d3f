/* exp, expm1 and tanh in vector instructions, for arguments that friction has.
 *
 * expm1(z) = 2^n (expm1(r) + 1) - 1 with r = z - n ln 2 in [-ln 2 / 2, ln 2 / 2], where Taylor's
 * series is cut where the rest is below 1e-17; tanh |x| = -e / (2 + e) with e = expm1(-2 |x|).
 * Errors stay below 5e-16 of the value. NaN stays NaN.
 */
#ifndef DELTADYN_EXPONENTIALS_H
#define DELTADYN_EXPONENTIALS_H

#include <stdint.h>
#include <string.h>

#define LOWEST_EXPONENT (-700.0) /* exp is zero to all purposes below */
#define LOG2_E 1.4426950408889634
#define LN2_1 0.6931471803691238 /* its last bits are zero: products with n are exact */
#define LN2_2 1.9082149292705877e-10

INLINE real power_of_two(real n)
{
    const real shifted = n + ROUND_BY; /* n stands in the last bits */
    uint64_t bits;
    real power;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* exp(z) - 1 for z <= 0. */
INLINE real negative_expm1(real z)
{
    const real kept = z < LOWEST_EXPONENT ? LOWEST_EXPONENT : z;
    const real n = kept * LOG2_E + ROUND_BY - ROUND_BY;
    const real r = kept - n * LN2_1 - n * LN2_2;
    const real power = power_of_two(n);
    real sum = 1.0 / 6227020800.0; /* 13! */
    sum = sum * r + 1.0 / 479001600.0;
    sum = sum * r + 1.0 / 39916800.0;
    sum = sum * r + 1.0 / 3628800.0;
    sum = sum * r + 1.0 / 362880.0;
    sum = sum * r + 1.0 / 40320.0;
    sum = sum * r + 1.0 / 5040.0;
    sum = sum * r + 1.0 / 720.0;
    sum = sum * r + 1.0 / 120.0;
    sum = sum * r + 1.0 / 24.0;
    sum = sum * r + 1.0 / 6.0;
    sum = sum * r + 0.5;
    return power * (r + r * r * sum) + (power - 1.0);
}

INLINE real vector_tanh(real x)
{
    const real e = negative_expm1(-2.0 * fabs(x));
    return copysign(-e / (2.0 + e), x);
}

/* exp(z) for z <= 0. */
INLINE real negative_exp(real z)
{
    return negative_expm1(z) + 1.0;
}

#endif
