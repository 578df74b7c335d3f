/* ---------------------------------------------------------------- force observer
 * Four samples give angle, rate and acceleration between the middle two, and the torque there:
 * r = ID(q, qd, qdd) - tau = J^T F + Z x. All parts of it pass one filter of equal stages,
 * y += FORCE_GAIN (x - y): the generalised-momentum observer. A Kalman filter per axis follows its slow states x, Z x =
 * x1 qd + x2 tanh(qd / e) + x3 + x4 ID. An alarm begins where |r - Z x| of an axis, less what
 * friction holds, in deviations, passes the limit of the empty run.
 */

typedef @id@_force force_state;

@force_numbers@

/* A row of a ring, so many samples before the newest. */
static const real *kept(const real *ring, int size, int newest, int before)
{
    const int place = (newest >= before) ? (newest - before) : (newest - before + size);
    return ring + ((size_t)place * DOF);
}

static void begin_force(force_state *e)
{
    e->angles = 0;
    e->torques = 0;
    e->rows = 0;
    e->newest_angle = 0;
    e->newest_torque = 0;
    e->statistic = (real)0.0;
}

/* Places of the symmetric covariance of four states. */
static const int PLACE_OF[4][4] = { { 0, 1, 2, 3 }, { 1, 4, 5, 6 }, { 2, 5, 7, 8 }, { 3, 6, 8, 9 } };

/* Back to the states of the empty run, with all that may have changed since. */
static void begin_states(force_state *e)
{
    e->steps = 0;
    for (int i = 0; i < DOF; i++) {
        for (int j = 0; j < 10; j++) {
            e->P[i][j] = (real)0.0;
        }
        for (int j = 0; j < 4; j++) {
            e->states[i][j] = FORCE_STATES[i][j];
            e->P[i][PLACE_OF[j][j]] = FORCE_VARIANCE[i][j];
        }
    }
}

static void keep_sample(force_state *e, const real *q, const real *tau)
{
    e->newest_angle = ((e->newest_angle + 1) < FORCE_ANGLES) ? (e->newest_angle + 1) : 0;
    e->newest_torque = ((e->newest_torque + 1) < FORCE_TORQUES) ? (e->newest_torque + 1) : 0;
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
    } else if (low > (e->torques - 2)) {
        low = e->torques - 2;
        share = (real)1.0;
    }
    const int before = e->torques - 1 - low;
    const real *a = kept(&e->tau[0][0], FORCE_TORQUES, e->newest_torque, before);
    const real *b = kept(&e->tau[0][0], FORCE_TORQUES, e->newest_torque, before - 1);
    for (int i = 0; i < DOF; i++) {
        tau[i] = (((real)1.0 - share) * a[i]) + (share * b[i]);
    }
}

/* Columns of the arms' Jacobian, d_i S^-1 e_i. */
static void jacobian_at(const real *x, real J[3][3])
{
    real s[3][3], n[3], d[3];
    for (int i = 0; i < 3; i++) {
        real E[3];
        elbow(i, x[AT_COS + i], x[AT_SIN + i], E);
        for (int k = 0; k < 3; k++) {
            s[i][k] = x[AT_P + k] - E[k];
        }
        d[i] = along_way(i, x[AT_COS + i], x[AT_SIN + i], s[i]);
    }
    cross(s[1], s[2], n);
    const real over = (real)1.0 / dot(s[0], n);
    for (int i = 0; i < 3; i++) {
        cross(s[(i + 1) % 3], s[(i + 2) % 3], n);
        for (int k = 0; k < 3; k++) {
            J[i][k] = d[i] * over * n[k];
        }
    }
}

/* Parts of a row, which all pass the filter. */
typedef struct {
    real missing[DOF], qd[DOF], turn[DOF], tau[DOF], rest[DOF], J[3][3], pull[3];
} force_row;

enum { FORCE_PARTS = (5 * DOF) + 12 };

static void pack(const force_row *row, real *x)
{
    for (int i = 0; i < DOF; i++) {
        x[i] = row->missing[i];
        x[DOF + i] = row->qd[i];
        x[(2 * DOF) + i] = row->turn[i];
        x[(3 * DOF) + i] = row->tau[i];
        x[(4 * DOF) + i] = row->rest[i];
    }
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) {
            x[(5 * DOF) + (3 * i) + k] = row->J[i][k];
        }
        x[(5 * DOF) + 9 + k] = row->pull[k];
    }
}

static void unpack(const real *x, force_row *row)
{
    for (int i = 0; i < DOF; i++) {
        row->missing[i] = x[i];
        row->qd[i] = x[DOF + i];
        row->turn[i] = x[(2 * DOF) + i];
        row->tau[i] = x[(3 * DOF) + i];
        row->rest[i] = x[(4 * DOF) + i];
    }
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) {
            row->J[i][k] = x[(5 * DOF) + (3 * i) + k];
        }
        row->pull[k] = x[(5 * DOF) + 9 + k];
    }
}

/* A row through the stages of the filter. */
static void smooth(force_state *e, force_row *row)
{
    real x[FORCE_PARTS];
    pack(row, x);
    for (int stage = 0; stage < FORCE_STAGES; stage++) {
        for (int k = 0; k < FORCE_PARTS; k++) {
            real *y = &e->stage[stage][k];
            *y = (e->rows == 0) ? x[k] : (*y + (FORCE_GAIN * (x[k] - *y)));
            x[k] = *y;
        }
    }
    unpack(x, row);
}

/* What the reported torque grows by for each N m that the gear carries more; `turn` is the axis'
 * direction, -1 to 1. */
static real per_load(int i, real turn, real qdd, real tau)
{
    const real through = tau - (EMPTY[PAR_ROTOR + i] * qdd);
    const real sign = (real)(through > (real)0.0) - (real)(through < (real)0.0);
    return EMPTY[PAR_TORQUE_RATIO + i] * ((real)1.0 + (EMPTY[PAR_LOAD + i] * turn * sign))
        / ((real)1.0 - (EMPTY[PAR_MOTOR_LOAD + i] * turn * sign));
}

/* The row of the window. */
static int row_at(const force_state *e, real payload, force_row *row)
{
    real x[MOTION], par[PAR_COUNT], q[DOF], qdd[DOF], own[DOF], *qd = row->qd, *tau = row->tau;
    const real *w[4];
    for (int k = 0; k < 4; k++) {
        w[k] = kept(&e->q[0][0], FORCE_ANGLES, e->newest_angle, FORCE_ANGLES - 1 - k);
    }
    for (int i = 0; i < DOF; i++) {
        q[i] = (real)0.5 * (w[1][i] + w[2][i]);
        qd[i] = (w[2][i] - w[1][i]) * FORCE_RATE;
        qdd[i] = ((w[3][i] - w[2][i]) - (w[1][i] - w[0][i])) * ((real)0.5 * FORCE_RATE * FORCE_RATE);
        if (REAL_ABS(qdd[i]) > FORCE_LARGE) {
            return @ID@_RANGE;
        }
    }
    int status = motion_of_own_joints(q, qd, qdd, x);
    if (status == @ID@_OK) {
        status = numbers_with(payload, par);
    }
    if (status == @ID@_OK) {
        status = own_torque_of_motion(par, x, own);
    }
    if (status != @ID@_OK) {
        return status;
    }
    torque_between(e, tau);
    for (int i = 0; i < DOF; i++) {
        if (!((REAL_ABS(own[i] - tau[i]) <= FORCE_LARGE) && (REAL_ABS(x[AT_PDD + i]) <= FORCE_LARGE))) {
            return @ID@_RANGE;
        }
    }
    jacobian_at(x, row->J);
    for (int i = 0; i < DOF; i++) {
        row->turn[i] = @tanh@(qd[i] * FORCE_OVER_SMOOTH);
        row->missing[i] = (own[i] - tau[i]) / per_load(i, row->turn[i], qdd[i], tau[i]);
        row->tau[i] = own[i]; /* the model's: a measured one would bring its noise into Z */
        row->rest[i] = (real)1.0 - REAL_ABS(@tanh@(qd[i] * FORCE_OVER_REVERSAL));
    }
    for (int k = 0; k < 3; k++) {
        row->pull[k] = x[AT_PDD + k] + ((k == 2) ? EMPTY[PAR_GRAVITY] : (real)0.0);
    }
    return @ID@_OK;
}

/* Residuals behind the slow states, in N m: what friction may hold, the noise of the rest (its
 * square), with what the states may be off by its deviation, and what is beyond, in deviations. */
typedef struct {
    real h[DOF][4], residual[DOF], held[DOF], noise2[DOF], variance[DOF], std[DOF], z[DOF];
} judgement;

/* P h of an axis. */
static void spread_along(const real *P, const real *h, real *Ph)
{
    for (int j = 0; j < 4; j++) {
        Ph[j] = (real)0.0;
        for (int k = 0; k < 4; k++) {
            Ph[j] += P[PLACE_OF[j][k]] * h[k];
        }
    }
}

static real dot4(const real *a, const real *b)
{
    return (a[0] * b[0]) + (a[1] * b[1]) + (a[2] * b[2]) + (a[3] * b[3]);
}

static void judge_row(force_state *e, const force_row *row, real unsure, judgement *own)
{
    for (int i = 0; i < DOF; i++) {
        real Ph[4], *h = own->h[i];
        h[0] = row->qd[i];
        h[1] = row->turn[i];
        h[2] = (real)1.0;
        h[3] = row->tau[i];
        spread_along(e->P[i], h, Ph);
        /* what is wrong with a load's force may act along any direction */
        const real *J = row->J[i % 3];
        const real pull2 = unsure * unsure * dot(row->pull, row->pull);
        const real spread = dot4(h, Ph) + ((i < 3) ? (pull2 * dot(J, J)) : (real)0.0);
        const real shaken = FORCE_REST_NOISE[i] * row->rest[i];
        own->residual[i] = row->missing[i] - dot4(h, e->states[i]);
        own->held[i] = FORCE_HELD[i] * row->rest[i];
        own->noise2[i] = (FORCE_NOISE[i] * FORCE_NOISE[i]) + (shaken * shaken);
        own->variance[i] = own->noise2[i] + ((spread > (real)0.0) ? spread : (real)0.0);
        own->std[i] = REAL_SQRT(own->variance[i]);
        own->z[i] = (REAL_ABS(own->residual[i]) - own->held[i]) / own->std[i];
        if ((i == 0) || (own->z[i] > e->statistic)) {
            e->statistic = own->z[i];
        }
    }
}

/* A step of the slow states: what is not known grows to what it was at the begin, P += W (1 - P /
 * P_0), and what is seen counts, unless something touches. */
static void learn(force_state *e, const force_row *row, const judgement *own)
{
    for (int i = 0; i < DOF; i++) {
        for (int j = 0; j < 4; j++) {
            real *P = &e->P[i][PLACE_OF[j][j]];
            *P += FORCE_GROWTH[i][j] * ((real)1.0 - (*P / FORCE_VARIANCE[i][j]));
        }
    }
    if (e->statistic > FORCE_GATE) {
        return;
    }
    for (int i = 0; i < DOF; i++) {
        real Ph[4];
        if (row->rest[i] > FORCE_STILL) {
            continue;
        }
        spread_along(e->P[i], own->h[i], Ph);
        const real over
            = (real)1.0 / (dot4(own->h[i], Ph) + (FORCE_CALMER * own->noise2[i]));
        for (int j = 0; j < 4; j++) {
            const real gain = Ph[j] * over;
            e->states[i][j] += gain * own->residual[i];
            for (int k = j; k < 4; k++) {
                e->P[i][PLACE_OF[j][k]] -= gain * Ph[k];
            }
        }
    }
}

/* F = J^-T e, cov F = J^-T S J^-1; what friction holds at rest often acts alike on all axes. */
static int force_of(force_state *e, const force_row *row, const judgement *own)
{
    real n[3][3], variance[DOF], size = TINY * TINY;
    for (int i = 0; i < 3; i++) {
        cross(row->J[(i + 1) % 3], row->J[(i + 2) % 3], n[i]);
        size *= dot(row->J[i], row->J[i]);
    }
    const real det = dot(row->J[0], n[0]);
    if (!((det * det) > size)) {
        return @ID@_SINGULAR;
    }
    for (int i = 0; i < DOF; i++) {
        const real scale = FORCE_SCALE * own->residual[i];
        variance[i] = own->variance[i] + (scale * scale);
    }
    for (int k = 0; k < DOF; k++) {
        real force = (real)0.0, spread = (real)0.0, held = (real)0.0;
        for (int i = 0; i < DOF; i++) {
            const real across = ((i < 3) && (k < 3)) ? (n[i % 3][k % 3] / det) : (real)(i == k);
            force += across * own->residual[i];
            spread += across * across * variance[i];
            held += REAL_ABS(across) * own->held[i];
        }
        if (!(REAL_ABS(force) <= FORCE_LARGE)) {
            return @ID@_RANGE;
        }
        e->force[k] = force;
        e->std[k] = REAL_SQRT(spread + (held * held / (real)3.0));
    }
    return @ID@_OK;
}

/* The arm whose axis alone has a residual, from 1; 0: the platform. */
static int arm_of(const judgement *own)
{
    int first = 0;
    for (int i = 1; i < DOF; i++) {
        if (own->z[i] > own->z[first]) {
            first = i;
        }
    }
    const real share = FORCE_ALONE * REAL_ABS(own->residual[first]);
    for (int i = 0; i < DOF; i++) {
        const real free = ((real)0.5 * own->held[i]) + (FORCE_ALONE_DEVIATIONS * own->std[i]);
        if ((i != first) && !(REAL_ABS(own->residual[i]) <= ((free > share) ? free : share))) {
            return 0;
        }
    }
    return (first < 3) ? (first + 1) : 0;
}

/* A pick is F = -m (pdd + g z) with m > 0, over the second half of what was seen. */
static void name_contact(force_state *e, const judgement *own)
{
    const real count = (real)(FORCE_LOOK - (FORCE_LOOK / 2));
    real mass = (real)0.0, left = e->squares, unsure = (real)0.0;
    if (e->pulls > (real)0.0) {
        mass = -e->along / e->pulls;
        left += mass * (((real)2.0 * e->along) + (mass * e->pulls));
    }
    for (int k = 0; k < 3; k++) {
        unsure += e->std[k] * e->std[k];
    }
    unsure = FORCE_PICK_DEVIATIONS * REAL_SQRT(unsure);
    const real share = FORCE_PICK_SHARE * REAL_SQRT(e->squares / count);
    const real most = (unsure > share) ? unsure : share;
    const int pick = (mass > (real)0.0) && (left < (most * most * count));
    e->contact = pick ? @ID@_LOAD : @ID@_CONTACT;
    e->arm = pick ? 0 : arm_of(own);
    for (int i = 0; i < DOF; i++) {
        e->contact_force[i] = e->sum[i] / count;
        e->contact_std[i] = e->std[i];
    }
}

static void watch(force_state *e, const force_row *row, const judgement *own)
{
    if (e->contact == @ID@_NO_CONTACT) {
        if (!(e->statistic > FORCE_LIMIT)) {
            return;
        }
        e->contact = @ID@_UNSURE;
        e->arm = arm_of(own);
        e->contact_statistic = e->statistic;
        e->since = 0;
        e->looked = 0;
        e->squares = (real)0.0;
        e->along = (real)0.0;
        e->pulls = (real)0.0;
        for (int i = 0; i < DOF; i++) {
            e->contact_force[i] = e->force[i];
            e->contact_std[i] = e->std[i];
            e->sum[i] = (real)0.0;
        }
        return;
    }
    if (e->contact != @ID@_UNSURE) {
        return;
    }
    if (e->looked >= (FORCE_LOOK / 2)) {
        e->squares += dot(e->force, e->force);
        e->along += dot(e->force, row->pull);
        e->pulls += dot(row->pull, row->pull);
        for (int i = 0; i < DOF; i++) {
            e->sum[i] += e->force[i];
        }
    }
    if (++e->looked >= FORCE_LOOK) {
        name_contact(e, own);
    }
}

/* One sample in the robot's own signs. */
static int observe(force_state *e, const real *q, const real *tau, real payload, real unsure)
{
    force_row row;
    judgement own;
    keep_sample(e, q, tau);
    if (e->angles < FORCE_ANGLES) {
        return @ID@_OK;
    }
    int status = row_at(e, payload, &row);
    if (status != @ID@_OK) {
        return status;
    }
    smooth(e, &row);
    e->rows += e->rows < FORCE_SETTLE;
    if (e->rows < FORCE_SETTLE) {
        return status;
    }
    judge_row(e, &row, unsure, &own);
    status = force_of(e, &row, &own);
    if (status != @ID@_OK) {
        return status;
    }
    if (++e->steps >= FORCE_EVERY) {
        e->steps = 0;
        learn(e, &row, &own);
    }
    watch(e, &row, &own);
    return status;
}

/* ---- the door */

void @id@_force_init(@id@_force *state)
{
    for (int k = 0; k < 3; k++) {
        state->last[k] = (real)0.0;
    }
    state->has_last = 0;
    state->jumped = 0;
    begin_force(state);
    begin_states(state);
    @id@_force_acknowledge(state);
    state->ready = READY;
}

void @id@_force_acknowledge(@id@_force *state)
{
    state->contact = @ID@_NO_CONTACT;
    state->arm = 0;
    state->looked = 0;
    state->since = 0;
    state->contact_statistic = (real)0.0;
    state->squares = (real)0.0;
    state->along = (real)0.0;
    state->pulls = (real)0.0;
    for (int i = 0; i < DOF; i++) {
        state->contact_force[i] = (real)0.0;
        state->contact_std[i] = (real)0.0;
        state->sum[i] = (real)0.0;
    }
}

static int admit_force(force_state *e, const real *q, const real *tau, const real *payload, real *x)
{
    int status = check_three(q, tau, tau);
    const int load = check(payload, 2);
    if (status != @ID@_NOT_FINITE) {
        status = (load == @ID@_NOT_FINITE) ? load : worse(status, load);
    }
    if (status != @ID@_OK) {
        return status;
    }
    int far = 0;
    for (int i = 0; i < DOF; i++) {
        x[i] = own_angle(q, i);
        x[DOF + i] = SIGN[i] * tau[i];
        far = far || (e->has_last && (i < 3) && (REAL_ABS(x[i] - e->last[i % 3]) > FORCE_REACH));
    }
    if (far != 0) {
        if (++e->jumped < FORCE_PATIENCE) {
            return @ID@_JUMPED;
        }
        status = @ID@_RESTARTED;
        begin_force(e);
    }
    e->jumped = 0;
    e->has_last = 1;
    for (int i = 0; i < 3; i++) {
        e->last[i] = x[i];
    }
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
    real payload_std, @id@_force_result *result)
{
    const real load[2] = { payload, payload_std };
    real x[2 * DOF];
    if (state->ready != READY) {
        static const force_state none = { 0 };
        tell_force(&none, result);
        return @ID@_NOT_READY;
    }
    int status = admit_force(state, q, tau, load, x);
    if ((status == @ID@_OK) || (status == @ID@_RESTARTED)) {
        state->since += (state->contact != @ID@_NO_CONTACT) && (state->since < LONGEST_PICK);
        const int worked = observe(state, x, &x[DOF], payload, payload_std);
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
    for (int k = TEST_DEGREE - 1; k >= 0; k--) {
        y = (y * u) + c[k];
    }
    return y;
}

static real test_difference(const real *a, const real *b, real most)
{
    for (int i = 0; i < DOF; i++) {
        if (!(REAL_ABS(a[i] - b[i]) <= most)) {
            most = REAL_ABS(a[i] - b[i]);
        }
    }
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
        const real u = ((real)2.0 * (real)k / (real)(TEST_SAMPLES - 1)) - (real)1.0;
        while (((part + 1) < TEST_PARTS) && (k >= TEST_BEGINS[part + 1])) {
            part++;
            if (part == (TEST_PARTS - 1)) {
                @id@_force_acknowledge(state);
            }
        }
        for (int i = 0; i < DOF; i++) {
            q[i] = at_place(TEST_ANGLE[i], u);
            tau[i] = at_place(TEST_TORQUE[part][i], u);
        }
        const int status = @id@_force_update(state, q, tau, (real)0.0, (real)0.0, &seen);
        if ((next < TEST_CHECKS) && (k == TEST_AT[next])) {
            const real off = test_difference(seen.force, TEST_FORCE[next],
                test_difference(seen.std, TEST_STD[next], (real)0.0));
            const int same = (status == @ID@_OK) && (seen.contact == TEST_CONTACT[next])
                && (seen.arm == TEST_ARM[next]);
            if (off > *error) {
                *error = off;
            }
            next++;
            if (!failed && !(same && (off <= TEST_TOLERANCE))) {
                failed = next;
            }
        }
    }
    @id@_force_init(state);
    return failed;
}
