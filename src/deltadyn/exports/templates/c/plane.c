/* ---------------------------------------------------------------- motions in the plane y = 0 */

/* cos, sin (4) of the arms at p = (x, z). */
static int arms_at(const real *p, real *arms)
{
    const real a[3] = { p[0], (real)0.0, p[1] };
    for (int i = 0; i < LEGS; i++) {
        if (!has_place(i, a)) {
            return @ID@_SINGULAR;
        }
    }
    return (deltadyn_inverse_kinematics@kind@(EMPTY, p, arms) == 0) ? @ID@_OK : @ID@_UNREACHABLE;
}

/* Platform point of joints q and arms at cos, sin: the elbows must be apart. */
static int point_of(const real *q, const real *arms, real *p)
{
    real E[LEGS][3], x[3 * LEGS], size = (real)0.0;
    for (int i = 0; i < LEGS; i++) {
        const real own = EMPTY[(LIMB * i) + LIMB_STRUT];
        elbow(i, arms[i], arms[LEGS + i], E[i]);
        size = (own > size) ? own : size;
        x[i] = q[i];
        x[LEGS + i] = arms[i];
        x[(2 * LEGS) + i] = arms[LEGS + i];
    }
    const real across = E[1][0] - E[0][0], up = E[1][2] - E[0][2];
    size *= TINY;
    if (!(((across * across) + (up * up)) > (size * size))) {
        return @ID@_SINGULAR;
    }
    return (deltadyn_forward_kinematics@kind@(EMPTY, x, p) == 0) ? @ID@_OK : @ID@_UNREACHABLE;
}

/* Struts that are not parallel, and with `levers` drives that push along them. */
static int solvable(const real *arms, const real *p, int levers)
{
    real s[LEGS][3], size = (real)1.0;
    for (int i = 0; i < LEGS; i++) {
        const real l2 = EMPTY[(LIMB * i) + LIMB_STRUT];
        real E[3];
        elbow(i, arms[i], arms[LEGS + i], E);
        s[i][0] = p[0] - E[0];
        s[i][1] = (real)0.0;
        s[i][2] = p[1] - E[2];
        const real d = along_way(i, arms[i], arms[LEGS + i], s[i]);
        if (levers && !(REAL_ABS(d) > (TINY * lever_of(i) * l2))) {
            return @ID@_SINGULAR;
        }
        size *= l2;
    }
    const real area = (s[0][0] * s[1][2]) - (s[0][2] * s[1][0]);
    return (REAL_ABS(area) > (TINY * size)) ? @ID@_OK : @ID@_SINGULAR;
}

/* What the motion needs besides p, pd, pdd, qd, qdd and the arms. */
static void complete(real *x)
{
    for (int i = 0; i < DOF; i++) {
        x[AT_FORCE + i] = (real)0.0;
    }
    x[AT_PSI] = (real)1.0;
    x[AT_BARS] = (real)1.0;
    x[AT_PSI + 1] = (real)0.0;
    x[AT_BARS + 1] = (real)0.0;
}

/* The platform's motion in the robot's own signs. */
static int motion_of_platform(const real *p, const real *pd, const real *pdd, real *x)
{
    real in[3 * DOF], y[4 * LEGS], arms[2 * LEGS];
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
    for (int i = 0; i < DOF; i++) {
        in[i] = p[i];
        x[AT_P + i] = p[i];
        in[DOF + i] = pd[i];
        x[AT_PD + i] = pd[i];
        in[(2 * DOF) + i] = pdd[i];
        x[AT_PDD + i] = pdd[i];
    }
    if (deltadyn_platform_state@kind@(EMPTY, in, y) != 0) {
        return @ID@_UNREACHABLE;
    }
    for (int i = 0; i < (4 * LEGS); i++) { /* cos, sin, qd, qdd */
        x[i] = y[i];
    }
    complete(x);
    return @ID@_OK;
}

/* The same from joints that are in the robot's own signs already. */
static int motion_of_own_joints(const real *q, const real *qd, const real *qdd, real *x)
{
    real in[5 * LEGS], y[5 * LEGS], point[DOF] = { (real)0.0, (real)0.0 };
    for (int i = 0; i < LEGS; i++) {
        real cosine = (real)0.0, sine = (real)0.0;
        pair_of(q[i], &cosine, &sine);
        x[AT_COS + i] = cosine;
        x[AT_SIN + i] = sine;
        in[i] = q[i];
        in[LEGS + i] = qd[i];
        x[AT_QD + i] = qd[i];
        in[(2 * LEGS) + i] = qdd[i];
        x[AT_QDD + i] = qdd[i];
        in[(3 * LEGS) + i] = cosine;
        in[(4 * LEGS) + i] = sine;
    }
    int status = point_of(q, x, point);
    if (status == @ID@_OK) {
        status = solvable(x, point, 0);
    }
    if (status != @ID@_OK) {
        return status;
    }
    if (deltadyn_joint_state@kind@(EMPTY, in, y) != 0) {
        return @ID@_UNREACHABLE;
    }
    for (int i = 0; i < (3 * DOF); i++) {
        x[AT_P + i] = y[(2 * LEGS) + i];
    }
    complete(x);
    return @ID@_OK;
}

