enum { LIMB = 4, LIMB_STRUT = 3 }; /* the rail's point of q = 0, l2 */

/* Elbow of a limb on the shrunk base: the carriage at place q. */
static void elbow(int limb, real q, real none, real *E)
{
    const real *own = &EMPTY[LIMB * limb];
    (void)none;
    E[0] = own[0];
    E[1] = own[1];
    E[2] = own[2] + q;
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
    (void)limb;
    (void)q;
    (void)none;
    return s[2];
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
