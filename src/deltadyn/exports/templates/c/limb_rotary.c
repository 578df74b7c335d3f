enum { LIMB = 5, LIMB_STRUT = 2 }; /* r, l1, l2, cosine and sine of the azimuth */

/* Elbow of a limb on the shrunk base. */
static void elbow(int limb, real cosine, real sine, real *E)
{
    const real *own = &EMPTY[LIMB * limb];
    const real reach = own[0] + (own[1] * cosine);
    E[0] = reach * own[3];
    E[1] = reach * own[4];
    E[2] = -own[1] * sine;
}

/* |E'|, how far the elbow moves with its drive, in m per rad. */
static real lever_of(int limb)
{
    return EMPTY[(LIMB * limb) + 1];
}

/* s . E' of a strut s. */
static real along_way(int limb, real cosine, real sine, const real *s)
{
    const real *own = &EMPTY[LIMB * limb];
    const real radial = (s[0] * own[3]) + (s[1] * own[4]);
    return -own[1] * ((radial * sine) + (s[2] * cosine));
}

/* 1 away from the shoulder's axis, where any angle would do. */
static int has_place(int limb, const real *p)
{
    const real *own = &EMPTY[LIMB * limb];
    const real h = (p[0] * own[3]) + (p[1] * own[4]) - own[0];
    return ((h * h) + (p[2] * p[2])) > (TINY * TINY * own[1] * own[1]);
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
