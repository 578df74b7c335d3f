/* ---------------------------------------------------------------- public functions */

int @id@_inverse_kinematics(const real *p, real *q)
{
    real arms[2 * LEGS];
    int status = check(p, DOF);
    if (status == @ID@_OK) {
        status = arms_at(p, arms);
    }
    if (status != @ID@_OK) {
        return status;
    }
#if @spindle@
    q[3] = (SIGN[3] * p[3]) + OFFSET[3];
#endif
    for (int i = 0; i < LEGS; i++) {
        q[i] = (SIGN[i] * joint_of(arms[i], arms[LEGS + i])) + OFFSET[i];
    }
    return status;
}

int @id@_forward_kinematics(const real *q, @near_own@real *p)
{
    real own[DOF], arms[2 * LEGS], point[LEGS];
    int status = check(q, DOF);
    if (status != @ID@_OK) {
        return status;
    }
    for (int i = 0; i < DOF; i++) {
        own[i] = own_angle(q, i);
    }
    for (int i = 0; i < LEGS; i++) {
        pair_of(own[i], &arms[i], &arms[LEGS + i]);
    }
    status = point_of(own, arms, @near@point);
    if (status != @ID@_OK) {
        return status;
    }
    for (int i = 0; i < DOF; i++) {
        p[i] = (i < LEGS) ? point[i % LEGS] : own[i];
    }
    return status;
}

int @id@_joint_rates(const real *p, const real *pd, const real *pdd, real *q, real *qd, real *qdd)
{
    real x[MOTION];
    int status = motion_of_platform(p, pd, pdd, x);
    if (status == @ID@_OK) {
        status = check_result(&x[AT_QD], 2 * DOF);
    }
    if (status != @ID@_OK) {
        return status;
    }
    for (int i = 0; i < DOF; i++) {
        q[i] = (SIGN[i] * angle_of(x, i)) + OFFSET[i];
        qd[i] = SIGN[i] * x[AT_QD + i];
        qdd[i] = SIGN[i] * x[AT_QDD + i];
    }
    return status;
}

int @id@_platform_rates(
    const real *q, const real *qd, const real *qdd, @near_own@real *p, real *pd, real *pdd)
{
    real x[MOTION];
    int status = motion_of_joints(q, qd, qdd, @near@x);
    if (status == @ID@_OK) {
        status = check_result(&x[AT_P], 3 * DOF);
    }
    if (status != @ID@_OK) {
        return status;
    }
    for (int i = 0; i < DOF; i++) {
        p[i] = x[AT_P + i];
        pd[i] = x[AT_PD + i];
        pdd[i] = x[AT_PDD + i];
    }
    return status;
}

int @id@_feedforward(
    const real *p, const real *pd, const real *pdd, real payload, real *tau)
{
    real x[MOTION], par[PAR_COUNT];
    int status = motion_of_platform(p, pd, pdd, x);
    if (status == @ID@_OK) {
        status = numbers_with(payload, par);
    }
    return (status == @ID@_OK) ? torque_of_motion(par, x, tau) : status;
}

int @id@_feedforward_joints(
    const real *q, const real *qd, const real *qdd, @near_own@real payload, real *tau)
{
    real x[MOTION], par[PAR_COUNT];
    int status = motion_of_joints(q, qd, qdd, @near@x);
    if (status == @ID@_OK) {
        status = numbers_with(payload, par);
    }
    return (status == @ID@_OK) ? torque_of_motion(par, x, tau) : status;
}

/* The motion of a robot that rests at a pose. */
static int rest_at(const real *q, @near_own@real *x)
{
    real zero[DOF];
    for (int i = 0; i < DOF; i++) {
        zero[i] = (real)0.0;
    }
    return motion_of_joints(q, zero, zero, @near@x);
}

static int torque_at_rest(const real *par, const real *x, real *tau)
{
    real own[DOF];
    torque(par, x, own);
    const int status = check_result(own, DOF);
    for (int i = 0; (status == @ID@_OK) && (i < DOF); i++) {
        tau[i] = SIGN[i] * EMPTY[PAR_TORQUE_RATIO + i] * own[i];
    }
    return status;
}

int @id@_gravity_torque(const real *q, @near_own@real payload, real *tau)
{
    real x[MOTION], par[PAR_COUNT];
    int status = rest_at(q, @near@x);
    if (status == @ID@_OK) {
        status = numbers_with(payload, par);
    }
    return (status == @ID@_OK) ? torque_at_rest(par, x, tau) : status;
}

/* Mass matrix of a motion's pose, own signs. */
static void mass_of(const real *par, const real *x, real *M)
{
    enum { AT_POSE = 2 * LEGS, AT_TURN = AT_POSE + DOF };
    real in[AT_TURN + 4];
    for (int i = 0; i < (2 * LEGS); i++) {
        in[i] = x[i];
    }
    for (int i = 0; i < DOF; i++) {
        in[AT_POSE + i] = x[AT_P + i];
    }
    for (int i = 0; i < 4; i++) { /* cosine and sine of psi, of the bars */
        in[AT_TURN + i] = x[AT_PSI + i];
    }
    deltadyn_mass@kind@_@dof@(par, in, M);
}

static int mass_at_rest(const real *par, const real *x, real *M)
{
    real own[DOF * DOF];
    mass_of(par, x, own);
    const int status = check_result(own, DOF * DOF);
    for (int i = 0; (status == @ID@_OK) && (i < DOF); i++) {
        for (int j = 0; j < DOF; j++) {
            M[(i * DOF) + j] = SIGN[i] * SIGN[j] * own[(i * DOF) + j];
        }
    }
    return status;
}

int @id@_mass_matrix(const real *q, @near_own@real payload, real *M)
{
    real x[MOTION], par[PAR_COUNT];
    int status = rest_at(q, @near@x);
    if (status == @ID@_OK) {
        status = numbers_with(payload, par);
    }
    return (status == @ID@_OK) ? mass_at_rest(par, x, M) : status;
}

/* x of A x = b by elimination with pivots; A (DOF, DOF) and b are used up. */
static int solve(real *A, real *b)
{
    for (int k = 0; k < DOF; k++) {
        int best = k;
        for (int i = k + 1; i < DOF; i++) {
            if (REAL_ABS(A[(i * DOF) + k]) > REAL_ABS(A[(best * DOF) + k])) {
                best = i;
            }
        }
        if (!(REAL_ABS(A[(best * DOF) + k]) > SMALLEST_INERTIA)) {
            return @ID@_SINGULAR;
        }
        for (int j = 0; j < DOF; j++) {
            const real other = A[(best * DOF) + j];
            A[(best * DOF) + j] = A[(k * DOF) + j];
            A[(k * DOF) + j] = other;
        }
        const real other = b[best];
        b[best] = b[k];
        b[k] = other;
        for (int i = k + 1; i < DOF; i++) {
            const real share = A[(i * DOF) + k] / A[(k * DOF) + k];
            for (int j = k; j < DOF; j++) {
                A[(i * DOF) + j] -= share * A[(k * DOF) + j];
            }
            b[i] -= share * b[k];
        }
    }
    for (int i = DOF - 1; i >= 0; i--) {
        for (int j = i + 1; j < DOF; j++) {
            b[i] -= A[(i * DOF) + j] * b[j];
        }
        b[i] /= A[(i * DOF) + i];
    }
    return @ID@_OK;
}

static int sign_of(real value)
{
    return (value > (real)0.0) - (value < (real)0.0);
}

/* tau = load + rotor qdd + share |load|: linear once the signs of the loads are known. */
static int accelerate(
    const real *M, const real *needed, const real *given, const real *loss, real *qdd)
{
    int sign[DOF];
    for (int i = 0; i < DOF; i++) {
        sign[i] = sign_of(given[i]);
    }
    for (int round = 0; round < GEAR_ROUNDS; round++) {
        real A[DOF * DOF];
        int settled = 1;
        for (int i = 0; i < DOF; i++) {
            const real share = loss[i] * (real)sign[i];
            for (int j = 0; j < DOF; j++) {
                A[(i * DOF) + j] = ((real)1.0 + share) * M[(i * DOF) + j];
            }
            A[(i * DOF) + i] -= share * EMPTY[PAR_ROTOR + i];
            qdd[i] = given[i] - (((real)1.0 + share) * needed[i]);
        }
        if (solve(A, qdd) != @ID@_OK) {
            return @ID@_SINGULAR;
        }
        for (int i = 0; i < DOF; i++) {
            real load = needed[i] - (EMPTY[PAR_ROTOR + i] * qdd[i]);
            for (int j = 0; j < DOF; j++) {
                load += M[(i * DOF) + j] * qdd[j];
            }
            const int now = sign_of(load);
            settled = settled && ((loss[i] == (real)0.0) || (now == sign[i]) || (now == 0));
            sign[i] = now;
        }
        if (settled != 0) {
            return @ID@_OK;
        }
    }
    return @ID@_UNSETTLED;
}

/* qdd of torques in a motion that knows no qdd yet; all in the controller's sign. */
static int acceleration_of(const real *par, const real *x, const real *tau, real *qdd)
{
    real M[DOF * DOF], needed[DOF];
    real dry[DOF], given[DOF], loss[DOF], direction[DOF], out[DOF];
    mass_of(par, x, M);
    torque(par, x, needed);
    int status = add_passive(x, 0, needed);
    if (status != @ID@_OK) {
        return status;
    }
    for (int i = 0; i < DOF; i++) {
        direction[i] = direction_of(x[AT_QD + i]);
        dry[i] = (real)0.0; /* with no torque through the gears: what does not grow with it */
        given[i] = SIGN[i] * tau[i];
    }
    add_friction(EMPTY, x, direction, dry);
    from_drives(x, direction, given);
    for (int i = 0; i < DOF; i++) {
        given[i] -= dry[i];
        loss[i] = EMPTY[PAR_LOAD + i] * direction[i];
    }
    status = check_result(needed, DOF);
    status = worse(status, check_result(M, DOF * DOF));
    if (status == @ID@_OK) {
        status = accelerate(M, needed, given, loss, out);
    }
    if (status == @ID@_OK) {
        status = check_result(out, DOF);
    }
    for (int i = 0; (status == @ID@_OK) && (i < DOF); i++) {
        qdd[i] = SIGN[i] * out[i];
    }
    return status;
}

/* The motion that torques act on: rates without accelerations. */
static int motion_under(const real *q, const real *qd, const real *tau, @near_own@real *x)
{
    real zero[DOF];
    for (int i = 0; i < DOF; i++) {
        zero[i] = (real)0.0;
    }
    const int status = check_three(q, qd, tau);
    return (status == @ID@_OK) ? motion_of_joints(q, qd, zero, @near@x) : status;
}

int @id@_forward_dynamics(
    const real *q, const real *qd, const real *tau, @near_own@real payload, real *qdd)
{
    real x[MOTION], par[PAR_COUNT];
    int status = motion_under(q, qd, tau, @near@x);
    if (status == @ID@_OK) {
        status = numbers_with(payload, par);
    }
    return (status == @ID@_OK) ? acceleration_of(par, x, tau, qdd) : status;
}
