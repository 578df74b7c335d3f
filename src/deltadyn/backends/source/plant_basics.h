/* What the plant's files share: the number type, vector functions, generated code. */
#ifndef DELTADYN_PLANT_BASICS_H
#define DELTADYN_PLANT_BASICS_H

#include <math.h>
#include <stddef.h>

#include "real.h"
#include "vector.h"

enum { AXES = 4, WAVES = 4, LIMB_JOINTS = 4, SPINDLE_JOINTS = 3, JOINTS = LIMB_JOINTS + SPINDLE_JOINTS };

#include "traced/mechanism.h"
#include "traced/table.h"

#include "angles.h"
#include "exponentials.h"

/* Cosine and sine of an angle up to LARGEST_ANGLE, as small_angle in angles.h, with the series in
 * pairs of pairs: one robot waits for results, not for units. */
INLINE void soon_angle(real angle, real *cosine, real *sine)
{
    const real turns = angle * TWO_OVER_PI + ROUND_BY - ROUND_BY;
    const real first = angle - turns * HALF_PI_1, second = turns * HALF_PI_2;
    const real rough = first - second;
    const real r = rough + ((first - rough) - second - turns * HALF_PI_3);
    const real quarter = turns - 4.0 * (turns * 0.25 + ROUND_BY - ROUND_BY); /* -2 .. 2 */
    const real x = r * r, x2 = x * x, x4 = x2 * x2;
    const real s0 = (1.0 / 120.0 * x - 1.0 / 6.0) + x2 * (1.0 / 362880.0 * x - 1.0 / 5040.0);
    const real s1 = (1.0 / 6227020800.0 * x - 1.0 / 39916800.0)
        + x2 * (1.0 / 355687428096000.0 * x - 1.0 / 1307674368000.0);
    const real c0 = (1.0 / 24.0 - 1.0 / 720.0 * x) + x2 * (1.0 / 40320.0 - 1.0 / 3628800.0 * x);
    const real c1 = (1.0 / 479001600.0 - 1.0 / 87178291200.0 * x) + x2 * (1.0 / 20922789888000.0);
    const real s = r + r * (x * (s0 + x4 * s1));
    const real c = 1.0 - (0.5 * x - x2 * (c0 + x4 * c1));
    const real odd = quarter * quarter == 1.0 ? 1.0 : 0.0;
    *sine = (quarter == 0.0 || quarter == 1.0 ? 1.0 : -1.0) * (odd == 1.0 ? c : s);
    *cosine = (quarter == 0.0 || quarter == -1.0 ? 1.0 : -1.0) * (odd == 1.0 ? s : c);
}

/* Cosines and sines of the angles of one robot, four at once. */
INLINE void few_angles(int n, const real *angle, real *cosine, real *sine)
{
    real four[AXES] = { 0 }, c[AXES], s[AXES]; /* whole vectors, also of three axes */
    int small = 1;
    for (int i = 0; i < n; i++) {
        small &= !(fabs(angle[i]) > LARGEST_ANGLE);
        four[i] = angle[i];
    }
    for (int i = 0; i < AXES; i++)
        soon_angle(four[i], c + i, s + i);
    for (int i = 0; i < n; i++) {
        cosine[i] = small ? c[i] : cos(angle[i]);
        sine[i] = small ? s[i] : sin(angle[i]);
    }
}

#endif
