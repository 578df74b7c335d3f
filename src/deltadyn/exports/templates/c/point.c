/* ---------------------------------------------------------------- motions */

/* cos, sin (6) of the arms at p. */
static int arms_at(const real *p, real *arms)
{
    for (int i = 0; i < 3; i++) {
        if (!has_place(i, p)) {
            return @ID@_SINGULAR;
        }
    }
    return (deltadyn_inverse_kinematics@kind@(EMPTY, p, arms) == 0) ? @ID@_OK : @ID@_UNREACHABLE;
}

/* Platform point of arms at x[0..5] = cos, sin: the elbows must span a plane. */
static int point_at(const real *arms, real *p)
{
    real E[3][3], a[3], b[3], n[3], x[9];
    real size = EMPTY[LIMB_STRUT];
    for (int i = 0; i < 3; i++) {
        elbow(i, arms[i], arms[3 + i], E[i]);
        const real own = EMPTY[(LIMB * i) + LIMB_STRUT];
        size = (own > size) ? own : size;
    }
    for (int k = 0; k < 3; k++) {
        a[k] = E[1][k] - E[0][k];
        b[k] = E[2][k] - E[0][k];
    }
    cross(a, b, n);
    size *= TINY * size;
    if (!(dot(n, n) > (size * size))) {
        return @ID@_SINGULAR;
    }
    for (int i = 0; i < 3; i++) {
        x[i] = @joint_in@
    }
    for (int i = 0; i < 6; i++) {
        x[3 + i] = arms[i];
    }
    return (deltadyn_forward_kinematics@kind@(EMPTY, x, p) == 0) ? @ID@_OK : @ID@_UNREACHABLE;
}

/* The same with the joints themselves, which other platforms ask for. */
static int point_of(const real *q, const real *arms, real *p)
{
    (void)q;
    return point_at(arms, p);
}

/* Struts that span the space, and with `levers` drives that push along them. */
static int solvable(const real *arms, const real *p, int levers)
{
    real s[3][3], n[3], size = (real)1.0;
    for (int i = 0; i < 3; i++) {
        const real l2 = EMPTY[(LIMB * i) + LIMB_STRUT];
        real E[3];
        elbow(i, arms[i], arms[3 + i], E);
        for (int k = 0; k < 3; k++) {
            s[i][k] = p[k] - E[k];
        }
        const real d = along_way(i, arms[i], arms[3 + i], s[i]);
        if (levers && !(REAL_ABS(d) > (TINY * lever_of(i) * l2))) {
            return @ID@_SINGULAR;
        }
        size *= l2;
    }
    cross(s[1], s[2], n);
    return (REAL_ABS(dot(s[0], n)) > (TINY * size)) ? @ID@_OK : @ID@_SINGULAR;
}

#if @spindle@
/* A spindle that has a length and is not along its fork's axis (cos psi, sin psi, 0). */
static int spindle_free(const real *p, real cosine, real sine)
{
    const real z = p[2] - EMPTY[PAR_SPINDLE], along = (p[0] * cosine) + (p[1] * sine);
    const real l2 = (p[0] * p[0]) + (p[1] * p[1]) + (z * z), size = TINY * EMPTY[LIMB_STRUT];
    return ((l2 > (size * size)) && ((l2 - (along * along)) > (TINY * l2))) ? @ID@_OK : @ID@_SINGULAR;
}
#endif

/* What the motion needs besides p, pd, pdd, qd, qdd and the arms. */
static int complete(real *x)
{
    for (int i = 0; i < DOF; i++) {
        x[AT_FORCE + i] = (real)0.0;
    }
    x[AT_PSI] = (real)1.0;
    x[AT_BARS] = (real)1.0;
    x[AT_PSI + 1] = (real)0.0;
    x[AT_BARS + 1] = (real)0.0;
#if @spindle@
    x[AT_PSI] = @cos@(x[AT_P + 3]);
    x[AT_PSI + 1] = @sin@(x[AT_P + 3]);
    return spindle_free(&x[AT_P], x[AT_PSI], x[AT_PSI + 1]);
#else
    return @ID@_OK;
#endif
}

/* The platform's motion in the robot's own signs; psi is the same number at both ends. */
static int motion_of_platform(const real *p, const real *pd, const real *pdd, real *x)
{
    real in[9], y[12], arms[6];
    int status = check_three(p, pd, pdd);
    if (status == @ID@_OK) {
        status = arms_at(p, arms);
    }
    if (status == @ID@_OK) {
        status = solvable(arms, p, 1);
    }
    if (status != @ID@_OK) {
        return status;
    }
    for (int i = 0; i < 3; i++) {
        in[i] = p[i];
        in[3 + i] = pd[i];
        in[6 + i] = pdd[i];
    }
    if (deltadyn_platform_state@kind@(EMPTY, in, y) != 0) {
        return @ID@_UNREACHABLE;
    }
    for (int i = 0; i < DOF; i++) {
        x[AT_QD + i] = (i < 3) ? y[6 + i] : pd[i];
        x[AT_QDD + i] = (i < 3) ? y[9 + i] : pdd[i];
        x[AT_P + i] = p[i];
        x[AT_PD + i] = pd[i];
        x[AT_PDD + i] = pdd[i];
    }
    for (int i = 0; i < 6; i++) {
        x[i] = y[i];
    }
    return complete(x);
}

/* The same from joints that are in the robot's own signs already. */
static int motion_of_own_joints(const real *q, const real *qd, const real *qdd, real *x)
{
    real in[15], y[15], point[3] = { (real)0.0, (real)0.0, (real)0.0 };
    for (int i = 0; i < 3; i++) {
        in[i] = q[i];
        in[3 + i] = qd[i];
        in[6 + i] = qdd[i];
        real cosine = (real)0.0, sine = (real)0.0;
        pair_of(q[i], &cosine, &sine);
        x[AT_COS + i] = cosine;
        x[AT_SIN + i] = sine;
        in[9 + i] = cosine;
        in[12 + i] = sine;
    }
    int status = point_at(x, point);
    if (status == @ID@_OK) {
        status = solvable(x, point, 0);
    }
    if (status != @ID@_OK) {
        return status;
    }
    if (deltadyn_joint_state@kind@(EMPTY, in, y) != 0) {
        return @ID@_UNREACHABLE;
    }
    for (int i = 0; i < DOF; i++) {
        x[AT_QD + i] = qd[i];
        x[AT_QDD + i] = qdd[i];
        x[AT_P + i] = (i < 3) ? y[6 + i] : q[i];
        x[AT_PD + i] = (i < 3) ? y[9 + i] : qd[i];
        x[AT_PDD + i] = (i < 3) ? y[12 + i] : qdd[i];
    }
    return complete(x);
}
