enum { LIMB = 11, LIMB_STRUT = 10 }; /* shoulder, the arm's direction at 0 and 90 degrees, l1, l2 */

/* Elbow of a limb on the shrunk base. */
static void elbow(int limb, real cosine, real sine, real *E)
{
    const real *own = &EMPTY[LIMB * limb];
    for (int k = 0; k < 3; k++) {
        E[k] = own[k] + (own[9] * ((cosine * own[3 + k]) + (sine * own[6 + k])));
    }
}

/* |E'|, how far the elbow moves with its drive, in m per rad. */
static real lever_of(int limb)
{
    return EMPTY[(LIMB * limb) + 9];
}

/* s . E' of a strut s. */
static real along_way(int limb, real cosine, real sine, const real *s)
{
    const real *own = &EMPTY[LIMB * limb];
    real sum = (real)0.0;
    for (int k = 0; k < 3; k++) {
        sum += s[k] * ((cosine * own[6 + k]) - (sine * own[3 + k]));
    }
    return own[9] * sum;
}

/* 1 away from the shoulder's axis, where any angle would do. */
static int has_place(int limb, const real *p)
{
    const real *own = &EMPTY[LIMB * limb];
    real h = (real)0.0, v = (real)0.0;
    for (int k = 0; k < 3; k++) {
        h += (p[k] - own[k]) * own[3 + k];
        v += (p[k] - own[k]) * own[6 + k];
    }
    return ((h * h) + (v * v)) > (TINY * TINY * own[9] * own[9]);
}

/* The pair of numbers that the generated functions have for a joint, and the way back. */
static void pair_of(real q, real *cosine, real *sine)
{
    *cosine = @cos@(q);
    *sine = @sin@(q);
}

static real joint_of(real cosine, real sine)
{
    return @atan2@(sine, cosine);
}
