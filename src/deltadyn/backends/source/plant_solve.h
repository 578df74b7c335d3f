/* Small symmetric systems; M is its lower triangle, row by row.
 * As deltadyn/simulation/plant/numerics.py. */
#ifndef DELTADYN_PLANT_SOLVE_H
#define DELTADYN_PLANT_SOLVE_H

#include "plant_basics.h"

enum { TRIES = 3 }; /* of the signs that the loads themselves suggest, before all are tried */

#define AT(i, j) ((i) * ((i) + 1) / 2 + (j)) /* j <= i */

/* x of M x = b for three axes by cofactors, which are ready sooner; 0 as below. */
INLINE int solve_three(const real *M, const real *b, real *x)
{
    const real a = M[0], d = M[1], g = M[3], e = M[2], f = M[4], i = M[5];
    const real c00 = e * i - f * f, c10 = f * g - d * i, c20 = d * f - e * g;
    const real c11 = a * i - g * g, c21 = d * g - a * f, c22 = a * e - d * d;
    const real over = 1 / (a * c00 + d * c10 + g * c20);
    x[0] = (c00 * b[0] + c10 * b[1] + c20 * b[2]) * over;
    x[1] = (c10 * b[0] + c11 * b[1] + c21 * b[2]) * over;
    x[2] = (c20 * b[0] + c21 * b[1] + c22 * b[2]) * over;
    return a > 0 && c22 > 0 && over > 0;
}

/* x of M x = b by M = L D L^T; 0 where M is not positive definite. */
INLINE int solve_symmetric(int n, const real *M, const real *right, real *x)
{
    real lower[AXES * (AXES + 1) / 2];
    if (n == 3)
        return solve_three(M, right, x);
    for (int i = 0; i < n; i++)
        x[i] = right[i];
    for (int j = 0; j < n; j++) {
        real pivot = M[AT(j, j)];
        for (int k = 0; k < j; k++)
            pivot -= lower[AT(j, k)] * lower[AT(j, k)] * lower[AT(k, k)];
        if (!(pivot > 0))
            return 0;
        lower[AT(j, j)] = pivot;
        for (int i = j + 1; i < n; i++) {
            real value = M[AT(i, j)];
            for (int k = 0; k < j; k++)
                value -= lower[AT(i, k)] * lower[AT(j, k)] * lower[AT(k, k)];
            lower[AT(i, j)] = value / pivot;
            x[i] -= lower[AT(i, j)] * x[j];
        }
    }
    for (int j = n - 1; j >= 0; j--) {
        x[j] /= lower[AT(j, j)];
        for (int i = j + 1; i < n; i++)
            x[j] -= lower[AT(i, j)] * x[i];
    }
    return 1;
}

INLINE void times_symmetric(int n, const real *M, const real *x, real *product)
{
    for (int i = 0; i < n; i++) {
        product[i] = 0;
        for (int j = 0; j < n; j++)
            product[i] += (j <= i ? M[AT(i, j)] : M[AT(j, i)]) * x[j];
    }
}

/* qdd of given = J qdd + load + mu s |load| with load = (M - J) qdd + needed; 0: no answer.
 *
 * As accelerations_with_losses in deltadyn/simulation/drive/drivetrain.py: exactly one pattern of
 * the
 * loads' signs fits; those that the loads suggest come first, then all. */
INLINE int solve_with_losses(
    int n, const real *M, const real *needed, const real *given, const real *losses,
    const real *rotor, real *qdd)
{
    real signs[AXES], passed[AXES], matrix[AXES * (AXES + 1) / 2], right[AXES], turned[AXES];
    real largest = 0;
    for (int i = 0; i < n; i++) {
        largest = fabs(given[i]) > largest ? fabs(given[i]) : largest;
        signs[i] = copysign(1.0, given[i]);
    }
    for (int attempt = 0; attempt < TRIES + (1 << n); attempt++) {
        int fits = 1;
        for (int i = 0; i < n; i++) {
            if (attempt >= TRIES)
                signs[i] = (attempt - TRIES) >> (n - 1 - i) & 1 ? -1.0 : 1.0;
            passed[i] = 1 / (1 + losses[i] * signs[i]);
            for (int j = 0; j <= i; j++)
                matrix[AT(i, j)] = M[AT(i, j)];
            matrix[AT(i, i)] += rotor[i] * (passed[i] - 1);
            right[i] = given[i] * passed[i] - needed[i];
        }
        if (!solve_symmetric(n, matrix, right, qdd))
            return 0;
        times_symmetric(n, M, qdd, turned);
        for (int i = 0; i < n; i++) {
            const real load = turned[i] - rotor[i] * qdd[i] + needed[i];
            const real settled = copysign(1.0, load);
            fits &= settled == signs[i] || fabs(load) <= 1e-9 * largest || losses[i] == 0;
            signs[i] = settled;
        }
        if (fits)
            return 1;
    }
    return 0;
}

#endif
