/* Where strut i ends at a pose, less its own offset on its half. */
static void attachment(int i, const real *p, const real *bars, real *a)
{
    const real sigma = EMPTY[PAR_CARRIER + ((i < 2) ? 2 : 3)];
    a[0] = p[0] + (sigma * bars[0]);
    a[1] = p[1] + (sigma * bars[1]);
    a[2] = p[2];
}

/* The direction in which the halves move apart. */
static void apart_along(const real *bars, real *along)
{
    along[0] = -bars[1];
    along[1] = bars[0];
    along[2] = (real)0.0;
}

/* How far the halves move apart as psi turns. */
static real halves_move(real psi)
{
    const real *carrier = &EMPTY[PAR_CARRIER];
    return REAL_ABS((carrier[2] - carrier[3]) * carrier[1] * psi);
}
