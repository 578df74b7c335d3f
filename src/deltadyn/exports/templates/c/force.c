/* ---------------------------------------------------------------- force observer
 * Four samples give angle, rate and acceleration between the middle two, and the torque there:
 * F = J^-T (ID(q, qd, qdd) - tau), then F_k += FORCE_GAIN (F - F_k): the generalised-momentum
 * observer. An alarm begins where the residual of an axis, J^T F less what friction may do, passes
 * the limit of the empty run.
 */

typedef @id@_force force_state;

@force_numbers@

/* A row of a ring, so many samples before the newest. */
static const real *kept(const real *ring, int size, int newest, int before)
{
    const int place = newest >= before ? newest - before : newest - before + size;
    return ring + (size_t)place * DOF;
}

static void begin_force(force_state *e)
{
    e->angles = e->torques = e->rows = 0;
    e->newest_angle = e->newest_torque = 0;
    for (int i = 0; i < DOF; i++)
        e->force[i] = e->held[i] = e->drift[i] = e->std[i] = (real)0.0;
    for (int k = 0; k < 3; k++)
        e->pull[k] = (real)0.0;
    e->statistic = (real)0.0;
}

static void keep_sample(force_state *e, const real *q, const real *tau)
{
    e->newest_angle = e->newest_angle + 1 < FORCE_ANGLES ? e->newest_angle + 1 : 0;
    e->newest_torque = e->newest_torque + 1 < FORCE_TORQUES ? e->newest_torque + 1 : 0;
    e->angles += e->angles < FORCE_ANGLES;
    e->torques += e->torques < FORCE_TORQUES;
    for (int i = 0; i < DOF; i++) {
        e->q[e->newest_angle][i] = q[i];
        e->tau[e->newest_torque][i] = tau[i];
    }
}

/* The torque at the row's instant, on a straight line between two samples. */
static void torque_between(const force_state *e, real *tau)
{
    int low = e->torques - e->angles + FORCE_PLACE;
    real share = FORCE_SHARE;
    if (low < 0) {
        low = 0;
        share = (real)0.0;
    } else if (low > e->torques - 2) {
        low = e->torques - 2;
        share = (real)1.0;
    }
    const int before = e->torques - 1 - low;
    const real *a = kept(&e->tau[0][0], FORCE_TORQUES, e->newest_torque, before);
    const real *b = kept(&e->tau[0][0], FORCE_TORQUES, e->newest_torque, before - 1);
    for (int i = 0; i < DOF; i++)
        tau[i] = ((real)1.0 - share) * a[i] + share * b[i];
}

/* Columns of J^-T, which are s_i / d_i, and of J, d_i S^-1 e_i, of the arms. */
static void force_maps(const real *x, real across[3][3], real J[3][3])
{
    real s[3][3], n[3], d[3];
    for (int i = 0; i < 3; i++) {
        const real *own = EMPTY + 5 * i;
        real E[3];
        elbow(i, x[AT_COS + i], x[AT_SIN + i], E);
        for (int k = 0; k < 3; k++)
            s[i][k] = x[AT_P + k] - E[k];
        const real radial = s[i][0] * own[3] + s[i][1] * own[4];
        d[i] = -own[1] * (radial * x[AT_SIN + i] + s[i][2] * x[AT_COS + i]);
    }
    cross(s[1], s[2], n);
    const real over = (real)1.0 / dot(s[0], n);
    for (int i = 0; i < 3; i++) {
        cross(s[(i + 1) % 3], s[(i + 2) % 3], n);
        for (int k = 0; k < 3; k++) {
            across[i][k] = s[i][k] / d[i];
            J[i][k] = d[i] * over * n[k];
        }
    }
}

/* What a row says: force, what friction may hold and have changed by, what a mass feels. */
typedef struct {
    real force[DOF], held[DOF], drift[DOF], pull[3], across[3][3], J[3][3];
} force_row;

static int row_of(const force_state *e, real payload, force_row *row)
{
    real x[MOTION], q[DOF], qd[DOF], qdd[DOF], tau[DOF], own[DOF];
    const real *w[4];
    for (int k = 0; k < 4; k++)
        w[k] = kept(&e->q[0][0], FORCE_ANGLES, e->newest_angle, FORCE_ANGLES - 1 - k);
    for (int i = 0; i < DOF; i++) {
        q[i] = (real)0.5 * (w[1][i] + w[2][i]);
        qd[i] = (w[2][i] - w[1][i]) * FORCE_RATE;
        qdd[i] = ((w[3][i] - w[2][i]) - (w[1][i] - w[0][i])) * ((real)0.5 * FORCE_RATE * FORCE_RATE);
        if (REAL_ABS(qdd[i]) > FORCE_LARGE)
            return @ID@_RANGE;
    }
    int status = motion_of_own_joints(q, qd, qdd, x);
    if (status == @ID@_OK)
        status = solvable(x, x + AT_P, 1);
    if (status == @ID@_OK)
        status = own_torque_of_motion(x, payload, own);
    if (status != @ID@_OK)
        return status;
    torque_between(e, tau);
    force_maps(x, row->across, row->J);
    for (int k = 0; k < 3; k++) {
        row->force[k] = (real)0.0;
        for (int i = 0; i < 3; i++)
            row->force[k] += row->across[i][k] * (own[i] - tau[i]);
        row->pull[k] = x[AT_PDD + k];
    }
    row->pull[2] += EMPTY[PAR_GRAVITY];
#if @ID@_DOF == 4
    row->force[3] = own[3] - tau[3];
#endif
    for (int i = 0; i < DOF; i++) {
        const real slow = qd[i] * FORCE_OVER_REST, speed = REAL_ABS(qd[i]);
        row->held[i] = FORCE_HELD[i] * @exp@(-slow * slow);
        row->drift[i] = FORCE_VISCOUS[i] * speed + FORCE_DRY[i] + FORCE_LOAD * REAL_ABS(tau[i]);
        if (!(REAL_ABS(row->force[i]) <= FORCE_LARGE && REAL_ABS(row->pull[i % 3]) <= FORCE_LARGE))
            return @ID@_RANGE;
    }
    return @ID@_OK;
}

static void blend(real *y, const real *x, int count, int first)
{
    for (int i = 0; i < count; i++)
        y[i] = first ? x[i] : y[i] + FORCE_GAIN * (x[i] - y[i]);
}

/* cov F = J^-T S J^-1 + (|J^-T| (held + drift) / 3)^2 */
static void deviation(force_state *e, const force_row *row)
{
    for (int k = 0; k < DOF; k++) {
        real spread = (real)0.0, rubbed = (real)0.0, by[DOF];
        for (int i = 0; i < DOF; i++)
            by[i] = i < 3 && k < 3 ? row->across[i % 3][k % 3] : (real)(i == k);
        for (int i = 0; i < DOF; i++) {
            for (int j = 0; j < DOF; j++)
                spread += by[i] * by[j] * FORCE_COVARIANCE[i][j];
            rubbed += REAL_ABS(by[i]) * (e->held[i] + e->drift[i]);
        }
        rubbed *= (real)(1.0 / 3.0);
        e->std[k] = REAL_SQRT(spread + rubbed * rubbed);
    }
}

/* Residual of each axis, J^T F less the mean of the empty run; the statistic beside it. */
static void residuals(force_state *e, const force_row *row, real *r)
{
    e->statistic = (real)0.0;
    for (int i = 0; i < DOF; i++) {
        r[i] = (i < 3 ? dot(row->J[i % 3], e->force) : e->force[i]) - FORCE_OFFSET[i];
        const real z = (REAL_ABS(r[i]) - e->held[i] - e->drift[i]) / FORCE_SIGMA[i];
        if (i == 0 || z > e->statistic)
            e->statistic = z;
    }
}

/* The arm whose axis alone has a residual, from 1; 0: the platform. */
static int arm_of(const real *r)
{
    int first = 0;
    for (int i = 1; i < DOF; i++)
        if (REAL_ABS(r[i]) > REAL_ABS(r[first]))
            first = i;
    const real share = FORCE_ALONE * REAL_ABS(r[first]);
    for (int i = 0; i < DOF; i++) {
        const real small = FORCE_ALONE_DEVIATIONS * FORCE_SIGMA[i];
        if (i != first && !(REAL_ABS(r[i]) <= (small > share ? small : share)))
            return 0;
    }
    return first < 3 ? first + 1 : 0;
}

/* A pick is F = -m (pdd + g z) with m > 0, over the second half of what was seen. */
static void judge(force_state *e, const real *r)
{
    const real count = (real)(FORCE_LOOK - FORCE_LOOK / 2);
    real mass = (real)0.0, left = e->squares, unsure = (real)0.0;
    if (e->pulls > (real)0.0) {
        mass = -e->along / e->pulls;
        left += mass * ((real)2.0 * e->along + mass * e->pulls);
    }
    for (int k = 0; k < 3; k++)
        unsure += e->contact_std[k] * e->contact_std[k];
    unsure = FORCE_PICK_DEVIATIONS * REAL_SQRT(unsure);
    const real share = FORCE_PICK_SHARE * REAL_SQRT(e->squares / count);
    const real most = unsure > share ? unsure : share;
    const int pick = mass > (real)0.0 && left < most * most * count;
    e->contact = pick ? @ID@_LOAD : @ID@_CONTACT;
    e->arm = pick ? 0 : arm_of(r);
    for (int i = 0; i < DOF; i++)
        e->contact_force[i] = e->sum[i] / count;
}

static void watch(force_state *e, const real *r)
{
    if (e->contact == @ID@_NO_CONTACT) {
        if (!(e->statistic > FORCE_LIMIT))
            return;
        e->contact = @ID@_UNSURE;
        e->arm = arm_of(r);
        e->contact_statistic = e->statistic;
        e->since = 0;
        e->looked = 0;
        e->squares = e->along = e->pulls = (real)0.0;
        for (int i = 0; i < DOF; i++) {
            e->contact_force[i] = e->force[i];
            e->contact_std[i] = e->std[i];
            e->sum[i] = (real)0.0;
        }
        return;
    }
    if (e->contact != @ID@_UNSURE)
        return;
    if (e->looked >= FORCE_LOOK / 2) {
        e->squares += dot(e->force, e->force);
        e->along += dot(e->force, e->pull);
        e->pulls += dot(e->pull, e->pull);
        for (int i = 0; i < DOF; i++)
            e->sum[i] += e->force[i];
    }
    if (++e->looked >= FORCE_LOOK)
        judge(e, r);
}

/* One sample in the robot's own signs. */
static int observe(force_state *e, const real *q, const real *tau, real payload)
{
    force_row row;
    real r[DOF];
    keep_sample(e, q, tau);
    if (e->angles < FORCE_ANGLES)
        return @ID@_OK;
    const int status = row_of(e, payload, &row), first = e->rows == 0;
    if (status != @ID@_OK)
        return status;
    blend(e->force, row.force, DOF, first);
    blend(e->held, row.held, DOF, first);
    blend(e->drift, row.drift, DOF, first);
    blend(e->pull, row.pull, 3, first);
    e->rows += e->rows < FORCE_SETTLE;
    if (e->rows < FORCE_SETTLE)
        return status;
    deviation(e, &row);
    residuals(e, &row, r);
    watch(e, r);
    return status;
}

/* ---- the door */

void @id@_force_init(@id@_force *state)
{
    for (int k = 0; k < 3; k++)
        state->last[k] = (real)0.0;
    state->has_last = state->jumped = 0;
    begin_force(state);
    @id@_force_acknowledge(state);
    state->ready = READY;
}

void @id@_force_acknowledge(@id@_force *state)
{
    state->contact = @ID@_NO_CONTACT;
    state->arm = state->looked = 0;
    state->since = 0;
    state->contact_statistic = state->squares = state->along = state->pulls = (real)0.0;
    for (int i = 0; i < DOF; i++)
        state->contact_force[i] = state->contact_std[i] = state->sum[i] = (real)0.0;
}

static int admit_force(force_state *e, const real *q, const real *tau, real payload, real *x)
{
    int status = check_three(q, tau, tau);
    const int load = check(&payload, 1);
    if (status != @ID@_NOT_FINITE)
        status = load == @ID@_NOT_FINITE ? load : worse(status, load);
    if (status != @ID@_OK)
        return status;
    int far = 0;
    for (int i = 0; i < DOF; i++) {
        x[i] = own_angle(q, i);
        x[DOF + i] = SIGN[i] * tau[i];
        far = far || (e->has_last && i < 3 && REAL_ABS(x[i] - e->last[i % 3]) > FORCE_REACH);
    }
    if (far) {
        if (++e->jumped < FORCE_PATIENCE)
            return @ID@_JUMPED;
        status = @ID@_RESTARTED;
        begin_force(e);
    }
    e->jumped = 0;
    e->has_last = 1;
    for (int i = 0; i < 3; i++)
        e->last[i] = x[i];
    return status;
}

static void tell_force(const force_state *e, @id@_force_result *out)
{
    out->ready = e->rows >= FORCE_SETTLE;
    out->statistic = out->ready ? e->statistic : (real)0.0;
    out->contact = e->contact;
    out->arm = e->arm;
    out->age = (real)e->since / FORCE_RATE;
    out->contact_statistic = e->contact_statistic;
    for (int i = 0; i < DOF; i++) {
        out->force[i] = out->ready ? e->force[i] : (real)0.0;
        out->std[i] = out->ready ? e->std[i] : (real)INFINITY;
        out->contact_force[i] = e->contact_force[i];
        out->contact_std[i] = e->contact_std[i];
    }
}

int @id@_force_update(@id@_force *state, const real *q, const real *tau, real payload,
    @id@_force_result *result)
{
    real x[2 * DOF];
    if (state->ready != READY) {
        static const force_state none = { 0 };
        tell_force(&none, result);
        return @ID@_NOT_READY;
    }
    int status = admit_force(state, q, tau, payload, x);
    if (status == @ID@_OK || status == @ID@_RESTARTED) {
        state->since += state->contact != @ID@_NO_CONTACT && state->since < LONGEST_PICK;
        const int worked = observe(state, x, x + DOF, payload);
        if (worked != @ID@_OK) {
            begin_force(state);
            status = worked;
        }
    }
    tell_force(state, result);
    return status;
}

/* ---- self-test */

/* A polynomial of the motion's place u, -1 to 1. */
static real at_place(const real *c, real u)
{
    real y = c[TEST_DEGREE];
    for (int k = TEST_DEGREE - 1; k >= 0; k--)
        y = y * u + c[k];
    return y;
}

static real test_difference(const real *a, const real *b, real most)
{
    for (int i = 0; i < DOF; i++)
        if (!(REAL_ABS(a[i] - b[i]) <= most))
            most = REAL_ABS(a[i] - b[i]);
    return most;
}

int @id@_force_self_test(@id@_force *state, @id@_real *error)
{
    @id@_force_result seen;
    real q[DOF], tau[DOF];
    int part = 0, next = 0, failed = 0;
    *error = (real)0.0;
    @id@_force_init(state);
    for (int k = 0; k < TEST_SAMPLES; k++) {
        const real u = (real)2.0 * (real)k / (real)(TEST_SAMPLES - 1) - (real)1.0;
        while (part + 1 < TEST_PARTS && k >= TEST_BEGINS[part + 1]) {
            part++;
            if (part == TEST_PARTS - 1)
                @id@_force_acknowledge(state);
        }
        for (int i = 0; i < DOF; i++) {
            q[i] = at_place(TEST_ANGLE[i], u);
            tau[i] = at_place(TEST_TORQUE[part][i], u);
        }
        const int status = @id@_force_update(state, q, tau, (real)0.0, &seen);
        if (next < TEST_CHECKS && k == TEST_AT[next]) {
            const real off = test_difference(seen.force, TEST_FORCE[next],
                test_difference(seen.std, TEST_STD[next], (real)0.0));
            const int same = status == @ID@_OK && seen.contact == TEST_CONTACT[next]
                && seen.arm == TEST_ARM[next];
            if (off > *error)
                *error = off;
            next++;
            if (!failed && !(same && off <= TEST_TOLERANCE))
                failed = next;
        }
    }
    @id@_force_init(state);
    return failed;
}
