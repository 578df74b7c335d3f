/* ---------------------------------------------------------------- friction in passive joints */

/* A row of RUBBED is a joint with its viscous and its Coulomb friction. A joint's rate is
 * slope . pd + own * qd_i (limb) or slope . pd + own * psid (spindle); its friction is mapped back
 * by the same numbers and by the Jacobian's columns. */
static void rub(const real *slope, const real *pd, real own, real rate, const real *friction,
    int smooth, real copies, real *force, real *at_own)
{
    const real speed = dot(slope, pd) + (own * rate);
    const real direction = smooth ? @tanh@(speed * OVER_SHARP) : direction_of(speed);
    const real f = copies * ((friction[0] * speed) + (friction[1] * direction));
    for (int k = 0; k < 3; k++) {
        force[k] += f * slope[k];
    }
    *at_own += f * own;
}

static int rub_limb(const real *x, int i, const real *s, int joint, const real *friction,
    int smooth, real *force, real *tau)
{
    const real l2 = EMPTY[(LIMB * i) + LIMB_STRUT];
    real a[3], pin[3], up[3], slope[3];
    axes_of(i, a, pin, up);
    const real out = dot(s, a), high = dot(s, up), square = (out * out) + (high * high);
    if (!(square > (TINY * l2 * l2))) {
        return @ID@_SINGULAR;
    }
    for (int k = 0; k < 3; k++) {
        if ((joint == ELBOW_SWING) || (joint == PLATFORM_SWING)) {
            slope[k] = ((high * a[k]) - (out * up[k])) / square;
        } else {
            slope[k] = pin[k] / REAL_SQRT(square);
        }
    }
    const real way = along_way(i, x[AT_COS + i], x[AT_SIN + i], slope);
    const real lever = -way - (real)(joint == ELBOW_SWING);
    rub(slope, &x[AT_PD], lever, x[AT_QD + i], friction, smooth, (real)1.0, force, &tau[i]);
    return @ID@_OK;
}

#if @spindle@
static void rub_spindle(
    const real *x, int joint, const real *friction, int smooth, real *force, real *tau)
{
    const real o[3] = { x[AT_P], x[AT_P + 1], x[AT_P + 2] - EMPTY[PAR_SPINDLE] };
    const real l = REAL_SQRT(dot(o, o));
    const real v[3] = { o[0] / l, o[1] / l, o[2] / l };
    const real a[3] = { x[AT_PSI], x[AT_PSI + 1], (real)0.0 };
    const real e = dot(a, v);
    real slope[3], by_psi = (real)0.0, copies = (real)2.0; /* two universal joints alike */
    if (joint == PRISMATIC) {
        slope[0] = v[0];
        slope[1] = v[1];
        slope[2] = v[2];
        copies = (real)1.0;
    } else if (joint == UNIVERSAL_FORK) {
        const real over = (real)1.0 / ((real)1.0 - (e * e));
        cross(a, v, slope);
        for (int k = 0; k < 3; k++) {
            slope[k] *= over / l;
        }
        by_psi = e * v[2] * over;
    } else {
        real b[3];
        cross(v, a, b);
        const real size = REAL_SQRT(dot(b, b));
        for (int k = 0; k < 3; k++) {
            b[k] /= size;
        }
        cross(b, v, slope);
        for (int k = 0; k < 3; k++) {
            slope[k] /= l;
        }
        by_psi = -b[2];
    }
    rub(slope, &x[AT_PD], by_psi, x[AT_PD + 3], friction, smooth, copies, force, &tau[3]);
}
#endif

/* Adds what the passive joints ask of the drives; `smooth`: without a jump at rest. */
static int add_passive(const real *x, int smooth, real *tau)
{
    real s[3][3], n[3][3], force[3];
    for (int i = 0; i < 3; i++) {
        real E[3];
        force[i] = (real)0.0;
        elbow(i, x[AT_COS + i], x[AT_SIN + i], E);
        for (int k = 0; k < 3; k++) {
            s[i][k] = x[AT_P + k] - E[k];
        }
    }
    for (int j = 0; j < RUBBED_COUNT; j++) {
#if @spindle@
        if (JOINTS[j] <= UNIVERSAL_CROSS) {
            rub_spindle(x, JOINTS[j], RUBBED[j], smooth, force, tau);
            continue;
        }
#endif
        for (int i = 0; i < 3; i++) {
            if (rub_limb(x, i, s[i], JOINTS[j], RUBBED[j], smooth, force, tau) != @ID@_OK) {
                return @ID@_SINGULAR;
            }
        }
    }
    for (int i = 0; i < 3; i++) { /* tau += J^T force, with J = S^-1 diag(d) */
        cross(s[(i + 1) % 3], s[(i + 2) % 3], n[i]);
    }
    const real det = dot(s[0], n[0]);
    for (int i = 0; i < 3; i++) {
        const real d = along_way(i, x[AT_COS + i], x[AT_SIN + i], s[i]);
        tau[i] += d / det * dot(n[i], force);
    }
    return @ID@_OK;
}
