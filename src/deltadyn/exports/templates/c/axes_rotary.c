/* The limb's axes: the arm's direction at 0, the joints' pins, and up. */
static void axes_of(int limb, real *a, real *pin, real *up)
{
    const real *own = &EMPTY[LIMB * limb];
    a[0] = own[3];
    a[1] = own[4];
    pin[0] = -own[4];
    pin[1] = own[3];
    a[2] = (real)0.0;
    pin[2] = (real)0.0;
    up[0] = (real)0.0;
    up[1] = (real)0.0;
    up[2] = (real)1.0;
}

