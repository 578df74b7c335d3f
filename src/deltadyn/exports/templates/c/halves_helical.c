/* Where strut i ends at a pose, less its own offset on its half. */
static void attachment(int i, const real *p, const real *bars, real *a)
{
    (void)bars;
    a[0] = p[0];
    a[1] = p[1];
    a[2] = p[2] + (EMPTY[PAR_CARRIER + ((i < 2) ? 2 : 3)] * p[3]);
}

/* The direction in which the halves move apart. */
static void apart_along(const real *bars, real *along)
{
    (void)bars;
    along[0] = (real)0.0;
    along[1] = (real)0.0;
    along[2] = (real)1.0;
}

/* How far the halves move apart as psi turns. */
static real halves_move(real psi)
{
    return REAL_ABS((EMPTY[PAR_CARRIER + 2] - EMPTY[PAR_CARRIER + 3]) * psi);
}
