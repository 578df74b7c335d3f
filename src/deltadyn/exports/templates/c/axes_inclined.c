/* The limb's axes: the arm's direction at 0, the joints' pins, and up. */
static void axes_of(int limb, real *a, real *pin, real *up)
{
    const real *own = &EMPTY[LIMB * limb];
    for (int k = 0; k < 3; k++) {
        a[k] = own[3 + k];
        up[k] = -own[6 + k];
    }
    cross(&own[3], &own[6], pin);
}

