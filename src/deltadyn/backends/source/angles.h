/* Cosine and sine of a block of angles, in vector instructions.
 *
 * The angle is brought into [-pi/4, pi/4] by multiples of pi/2, whose value is held in three parts
 * so that the first two products are exact; there Taylor's series are cut where the rest is below
 * half a unit in the last place. Errors stay below 2e-16, of floats below 1.2e-7. Beyond
 * LARGEST_ANGLE, where the products would round, the C library answers.
 */
#ifndef DELTADYN_ANGLES_H
#define DELTADYN_ANGLES_H

#include "real.h"

/* ROUND_BY is 1.5 * 2^52, or 2^23: adding and subtracting it rounds to integers. */
#if defined(DELTADYN_FLOAT) && DELTADYN_FLOAT
#define LARGEST_ANGLE ((real)1e3)
#define ROUND_BY ((real)12582912.0)
#define HALF_PI_1 ((real)1.570556640625)
#define HALF_PI_2 ((real)0.0002396702766418457)
#define HALF_PI_3 ((real)1.5893254712295857e-08)
#else
#define LARGEST_ANGLE ((real)1e5)
#define ROUND_BY ((real)6755399441055744.0)
#define HALF_PI_1 ((real)1.5707963267341256)
#define HALF_PI_2 ((real)6.077100506303966e-11)
#define HALF_PI_3 ((real)2.0222662487959506e-21)
#endif
#define TWO_OVER_PI ((real)0.6366197723675814)
#define OVER(value) ((real)(1.0 / (value)))

INLINE real sine_series(real r, real r2)
{
#if defined(DELTADYN_FLOAT) && DELTADYN_FLOAT
    real sum = -OVER(39916800.0); /* 11! */
#else
    real sum = OVER(355687428096000.0); /* 17! */
    sum = sum * r2 - OVER(1307674368000.0);
    sum = sum * r2 + OVER(6227020800.0);
    sum = sum * r2 - OVER(39916800.0);
#endif
    sum = sum * r2 + OVER(362880.0);
    sum = sum * r2 - OVER(5040.0);
    sum = sum * r2 + OVER(120.0);
    sum = sum * r2 - OVER(6.0);
    return r + r * (r2 * sum);
}

INLINE real cosine_series(real r2)
{
#if defined(DELTADYN_FLOAT) && DELTADYN_FLOAT
    real sum = -OVER(3628800.0); /* 10! */
#else
    real sum = OVER(20922789888000.0); /* 16! */
    sum = sum * r2 - OVER(87178291200.0);
    sum = sum * r2 + OVER(479001600.0);
    sum = sum * r2 - OVER(3628800.0);
#endif
    sum = sum * r2 + OVER(40320.0);
    sum = sum * r2 - OVER(720.0);
    sum = sum * r2 + OVER(24.0);
    return (real)1.0 - ((real)0.5 * r2 - r2 * r2 * sum);
}

INLINE void small_angle(real angle, real *cosine, real *sine)
{
    const real turns = angle * TWO_OVER_PI + ROUND_BY - ROUND_BY;
    const real first = angle - turns * HALF_PI_1;
    const real second = turns * HALF_PI_2;
    const real rough = first - second;
    const real r = rough + ((first - rough) - second - turns * HALF_PI_3);
    const real one = (real)1.0, zero = (real)0.0;
    const real whole = turns * (real)0.25 + ROUND_BY - ROUND_BY;
    const real quarter = turns - (real)4.0 * whole; /* -2 .. 2 */
    const real s = sine_series(r, r * r), c = cosine_series(r * r);
    /* s and c change places after an odd quarter; signs change with the half turn */
    const real odd = quarter * quarter == one ? one : zero;
    const real sign_s = quarter == zero || quarter == one ? one : -one;
    const real sign_c = quarter == zero || quarter == -one ? one : -one;
    *sine = sign_s * (odd == one ? c : s);
    *cosine = sign_c * (odd == one ? s : c);
}

CLONES static void small_angles(
    const real *restrict angle, real *restrict cosine, real *restrict sine, int count)
{
    INDEPENDENT for (int i = 0; i < count; i++)
        small_angle(angle[i], cosine + i, sine + i);
}

static void cosines_and_sines(const real *angle, real *cosine, real *sine, int count)
{
    int small = 1;
    for (int i = 0; i < count; i++)
        small &= !(REAL_ABS(angle[i]) > LARGEST_ANGLE);
    if (small) {
        small_angles(angle, cosine, sine, count);
        return;
    }
    for (int i = 0; i < count; i++) {
        cosine[i] = REAL_COS(angle[i]);
        sine[i] = REAL_SIN(angle[i]);
    }
}

#endif
