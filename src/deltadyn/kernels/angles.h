/* Cosine and sine of a block of angles, in vector instructions.
 *
 * The angle is brought into [-pi/4, pi/4] by multiples of pi/2, whose value is held in three parts
 * so that the first two products are exact; there Taylor's series are cut where the rest is below
 * half a unit in the last place. Errors stay below 2e-16. Beyond LARGEST_ANGLE, where the products
 * would round, the C library answers.
 */
#ifndef DELTADYN_ANGLES_H
#define DELTADYN_ANGLES_H

#define LARGEST_ANGLE 1e5
#define ROUND_BY 6755399441055744.0 /* 1.5 * 2^52: adding and subtracting it rounds to integers */
#define HALF_PI_1 1.5707963267341256
#define HALF_PI_2 6.077100506303966e-11
#define HALF_PI_3 2.0222662487959506e-21
#define TWO_OVER_PI 0.6366197723675814

INLINE real sine_series(real r, real r2)
{
    real sum = 1.0 / 355687428096000.0; /* 17! */
    sum = sum * r2 - 1.0 / 1307674368000.0;
    sum = sum * r2 + 1.0 / 6227020800.0;
    sum = sum * r2 - 1.0 / 39916800.0;
    sum = sum * r2 + 1.0 / 362880.0;
    sum = sum * r2 - 1.0 / 5040.0;
    sum = sum * r2 + 1.0 / 120.0;
    sum = sum * r2 - 1.0 / 6.0;
    return r + r * (r2 * sum);
}

INLINE real cosine_series(real r2)
{
    real sum = 1.0 / 20922789888000.0; /* 16! */
    sum = sum * r2 - 1.0 / 87178291200.0;
    sum = sum * r2 + 1.0 / 479001600.0;
    sum = sum * r2 - 1.0 / 3628800.0;
    sum = sum * r2 + 1.0 / 40320.0;
    sum = sum * r2 - 1.0 / 720.0;
    sum = sum * r2 + 1.0 / 24.0;
    return 1.0 - (0.5 * r2 - r2 * r2 * sum);
}

CLONES static void small_angles(
    const real *restrict angle, real *restrict cosine, real *restrict sine, int count)
{
    INDEPENDENT for (int i = 0; i < count; i++) {
        const real turns = angle[i] * TWO_OVER_PI + ROUND_BY - ROUND_BY;
        const real first = angle[i] - turns * HALF_PI_1;
        const real second = turns * HALF_PI_2;
        const real rough = first - second;
        const real r = rough + ((first - rough) - second - turns * HALF_PI_3);
        const real quarter = turns - 4.0 * (turns * 0.25 + ROUND_BY - ROUND_BY); /* -2 .. 2 */
        const real s = sine_series(r, r * r), c = cosine_series(r * r);
        /* s and c change places after an odd quarter; signs change with the half turn */
        const real odd = quarter * quarter == 1.0 ? 1.0 : 0.0;
        const real sign_s = quarter == 0.0 || quarter == 1.0 ? 1.0 : -1.0;
        const real sign_c = quarter == 0.0 || quarter == -1.0 ? 1.0 : -1.0;
        sine[i] = sign_s * (odd == 1.0 ? c : s);
        cosine[i] = sign_c * (odd == 1.0 ? s : c);
    }
}

static void cosines_and_sines(const real *angle, real *cosine, real *sine, int count)
{
    int small = 1;
    for (int i = 0; i < count; i++)
        small &= !(fabs(angle[i]) > LARGEST_ANGLE);
    if (small) {
        small_angles(angle, cosine, sine, count);
        return;
    }
    for (int i = 0; i < count; i++) {
        cosine[i] = cos(angle[i]);
        sine[i] = sin(angle[i]);
    }
}

#endif
