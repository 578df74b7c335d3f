enum { LIMB = 7, LIMB_STRUT = 6 }; /* the rail's point of q = 0, its direction, l2 */

/* Elbow of a limb on the shrunk base: the carriage at place q. */
static void elbow(int limb, real q, real none, real *E)
{
    const real *own = &EMPTY[LIMB * limb];
    (void)none;
    for (int k = 0; k < 3; k++) {
        E[k] = own[k] + (q * own[3 + k]);
    }
}

/* |E'|, how far the elbow moves with its drive, in m per m. */
static real lever_of(int limb)
{
    (void)limb;
    return (real)1.0;
}

/* s . E' of a strut s. */
static real along_way(int limb, real q, real none, const real *s)
{
    const real *own = &EMPTY[LIMB * limb];
    (void)q;
    (void)none;
    return (s[0] * own[3]) + (s[1] * own[4]) + (s[2] * own[5]);
}

/* A carriage has one place above any point within reach. */
static int has_place(int limb, const real *p)
{
    (void)limb;
    (void)p;
    return 1;
}

/* The pair of numbers that the generated functions have for a joint, and the way back. */
static void pair_of(real q, real *place, real *none)
{
    *place = q;
    *none = (real)0.0;
}

static real joint_of(real place, real none)
{
    (void)none;
    return place;
}
