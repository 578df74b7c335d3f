/* ---- from samples to residuals */

/* First filter: four stages y += a (x - y). Differences come from its increments: a difference of
 * two outputs would lose half of the digits of single precision. */
static void filter(payload_state *e, const real *x, real *middle, real *bend)
{
    const int channels = e->has_qdd ? CHANNELS : e->has_qd ? AT_RATE_2 : AT_RATE;
    real first[CHANNELS];
    for (int k = 0; k < channels; k++) {
        first[k] = GAIN * (x[k] - e->y[0][k]);
        e->y[0][k] += first[k];
        e->y[1][k] += GAIN * (e->y[0][k] - e->y[1][k]);
        const real third = GAIN * (e->y[1][k] - e->y[2][k]), old = e->step[k];
        e->y[2][k] += third;
        const real now = GAIN * (e->y[2][k] - e->y[3][k]);
        middle[k] = e->y[3][k]; /* the last sample's, around which differences are central */
        middle[CHANNELS + k] = (real)0.5 * RATE * (now + old);
        bend[k] = GAIN * (third - old) * (RATE * RATE); /* = (now - old) RATE^2 */
        e->y[3][k] += now;
        e->step[k] = now;
    }
    for (int i = 0; i < DOF; i++) {
        real s = @tanh@((e->has_qd ? x[AT_RATE + i] : (first[i] * RATE)) * OVER_DIRECTION);
        e->turn[0][i] = e->has_qd ? (e->turn[0][i] + (GAIN * (s - e->turn[0][i]))) : s;
        for (int k = 1; k < STAGES; k++) {
            e->turn[k][i] += GAIN * (e->turn[k - 1][i] - e->turn[k][i]);
        }
    }
}

static void begin_filter(payload_state *e, const real *x)
{
    for (int k = 0; k < CHANNELS; k++) {
        for (int stage = 0; stage < STAGES; stage++) {
            e->y[stage][k] = x[k];
        }
        e->step[k] = (real)0.0;
    }
    for (int stage = 0; stage < STAGES; stage++) {
        for (int i = 0; i < DOF; i++) {
            e->turn[stage][i] = (real)0.0;
        }
    }
    e->begun = 1;
}

/* Residual, column, rates and speed one sample behind the newest, into e->found. */
static int residual(payload_state *e, const real *middle, const real *bend)
{
    real x[MOTION], none[DOF], tau[DOF], column[DOF];
    const real *slope = middle + CHANNELS, *s = e->turn[STAGES - 1];
    const real *qd = e->has_qd ? (middle + AT_RATE) : slope;
    const real *qdd = e->has_qdd ? (middle + AT_RATE_2) : e->has_qd ? (slope + AT_RATE) : bend;
    int status = motion_of_own_joints(middle, qd, qdd, x);
    if (status != @ID@_OK) {
        return status;
    }
    torque(EMPTY, x, tau);
    torque(COLUMN, x, column);
    status = add_passive(x, 1, tau);
    if (status != @ID@_OK) {
        return status;
    }
    for (int i = 0; i < DOF; i++) {
        const real through = tau[i] - (EMPTY[PAR_ROTOR + i] * qdd[i]);
        const real loss = EMPTY[PAR_LOAD + i] * s[i];
        column[i] += ((through < (real)0.0) ? -loss : loss) * column[i];
        none[i] = tau[i];
    }
    add_friction(EMPTY, x, s, none);
    for (int i = 0; i < DOF; i++) {
        tau[i] = none[i];
    }
    to_drives(x, s, none);
    for (int i = 0; i < DOF; i++) {
        const real needed = tau[i] + ((WAVES > 0) ? ripple_of(x, i) : (real)0.0);
        column[i] *= EMPTY[PAR_TORQUE_RATIO + i] / left_over(needed, s[i], i);
        e->found[i] = middle[AT_TAU + i] - none[i];
        e->found[DOF + i] = column[i];
        e->found[(2 * DOF) + i] = qd[i];
    }
    e->found[3 * DOF] = REAL_SQRT(dot(&x[AT_PD], &x[AT_PD]));
    for (int i = 0; i < WIDTH; i++) {
        if (!is_finite(e->found[i]) || (REAL_ABS(e->found[i]) > LARGE_RESIDUAL)) {
            return @ID@_RANGE;
        }
    }
    return @ID@_OK;
}

/* Second filter, on e->found. */
static void narrow(payload_state *e)
{
    for (int k = 0; k < WIDTH; k++) {
        real x = e->found[k];
        for (int stage = 0; stage < NARROW_STAGES; stage++) {
            if (!e->narrow_begun) {
                e->narrow[stage][k] = x;
            }
            e->narrow[stage][k] += NARROW_GAIN * (x - e->narrow[stage][k]);
            x = e->narrow[stage][k];
        }
        e->found[k] = x;
    }
    e->narrow_begun = 1;
}

/* What a residual says of the mass; 0 for the first two. */
static int weigh(payload_state *e, real *s, real *i)
{
    const real *r = e->found, *c = e->found + DOF, *qd = e->found + (2 * DOF);
    *s = (real)0.0;
    *i = (real)0.0;
    for (int k = 0; k < DOF; k++) {
        if ((e->history == 2) && (REAL_ABS(qd[k]) > REST)) {
            const real wc = c[k] - (A1[k] * e->c1[k]) - (A2[k] * e->c2[k]);
            const real wr = r[k] - (A1[k] * e->r1[k]) - (A2[k] * e->r2[k]);
            const real fade = (real)1.0 + (OVER_REVERSAL * qd[k] * qd[k]);
            const real share = wc / (VARIANCE[k] + (FRICTION[k] / (fade * fade)));
            *s += share * wr;
            *i += share * wc;
        }
        e->r2[k] = e->r1[k];
        e->c2[k] = e->c1[k];
        e->r1[k] = r[k];
        e->c1[k] = c[k];
    }
    *s -= TARE * *i;
    if (e->history == 2) {
        return 1;
    }
    e->history++;
    return 0;
}

static int absorb(payload_state *e)
{
    real s, i;
    narrow(e);
    const int counts = weigh(e, &s, &i);
    if (e->skip) {
        e->skip--;
        return @ID@_OK;
    }
    if (!counts) {
        return @ID@_OK;
    }
    e->running = 1;
    if (!((REAL_ABS(s) <= LARGE_WEIGHT) && (i <= LARGE_WEIGHT))) {
        return @ID@_RANGE;
    }
    if (e->loaded) {
        e->S += s;
        e->I += i;
        if (e->I > FULL) { /* the digits are used up: let the oldest half of them go */
            e->S *= (real)0.5;
            e->I *= (real)0.5;
        }
        if (!(REAL_ABS(e->S) <= LARGE_WEIGHT)) {
            return @ID@_RANGE;
        }
    }
    e->age += e->age < (LEFT + CALM + SAME);
    if (EVENTS != 0) {
        remember(e, s, i, e->found[3 * DOF]);
        e->pending = 1;
    }
    return @ID@_OK;
}

/* One sample in the robot's own signs: channels q, tau, qd, qdd. */
static int take(payload_state *e, const real *x)
{
    real middle[2 * CHANNELS], bend[CHANNELS];
    int status = @ID@_OK;
    if (!e->begun) {
        begin_filter(e, x);
    }
    filter(e, x, middle, bend);
    e->place = ((e->place + 1) < RESIDUAL_STEP) ? (e->place + 1) : 0;
    if (e->place == 0) {
        status = residual(e, middle, bend);
        e->waiting = status == @ID@_OK;
    }
    if (e->waiting && (e->place == (RESIDUAL_STEP > 1))) {
        e->waiting = 0;
        status = absorb(e);
    }
    if ((status == @ID@_OK) && e->pending && (e->place == SEARCH_PLACE)) {
        e->pending = 0;
        search(e);
    }
    return status;
}

/* ---- the door */

void @id@_payload_init(@id@_payload *state)
{
    for (int k = 0; k < 3; k++) {
        state->last[k] = (real)0.0;
    }
    state->has_qd = 0;
    state->has_qdd = 0;
    state->has_last = 0;
    state->jumped = 0;
    state->out = NULL;
    restart(state);
    state->ready = READY;
}

/* 1 where an arm's angle is further from the last one than a robot can move. */
static int has_jumped(const payload_state *e, const real *x)
{
    for (int i = 0; e->has_last && (i < 3); i++) {
        if (REAL_ABS(x[i] - e->last[i]) > REACH) {
            return 1;
        }
    }
    return 0;
}

static int admit(payload_state *e, const real *q, const real *qd, const real *qdd,
    const real *tau, real *x)
{
    int status = check_three(q, tau, qd ? qd : q);
    if (qdd && (status != @ID@_NOT_FINITE)) {
        const int other = check(qdd, DOF);
        status = (other == @ID@_NOT_FINITE) ? other : worse(status, other);
    }
    if (status != @ID@_OK) {
        return status;
    }
    if (!qd && qdd) {
        return @ID@_PATTERN;
    }
    if (e->has_last && ((e->has_qd != ((qd != NULL) ? 1 : 0)) || (e->has_qdd != ((qdd != NULL) ? 1 : 0)))) {
        return @ID@_PATTERN;
    }
    for (int i = 0; i < DOF; i++) {
        x[i] = own_angle(q, i);
        x[AT_TAU + i] = SIGN[i] * tau[i];
        x[AT_RATE + i] = qd ? (SIGN[i] * qd[i]) : (real)0.0;
        x[AT_RATE_2 + i] = qdd ? (SIGN[i] * qdd[i]) : (real)0.0;
    }
    if (has_jumped(e, x)) {
        if (++e->jumped < PATIENCE) {
            return @ID@_JUMPED;
        }
        status = @ID@_RESTARTED;
    }
    e->jumped = 0;
    e->has_qd = !!qd;
    e->has_qdd = !!qdd;
    e->has_last = 1;
    for (int i = 0; i < 3; i++) {
        e->last[i] = x[i];
    }
    return status;
}

static int update(payload_state *e, const real *q, const real *qd, const real *qdd,
    const real *tau, int holding)
{
    real x[CHANNELS];
    const int status = admit(e, q, qd, qdd, tau, x);
    if ((status != @ID@_OK) && (status != @ID@_RESTARTED)) {
        return status;
    }
    e->held += e->held < LONGEST_PICK;
    if (status == @ID@_RESTARTED) {
        close_pick(e, (real)0.0);
        restart(e);
    }
    const int worked = take(e, x);
    if (worked != @ID@_OK) {
        close_pick(e, (real)0.0);
        restart(e);
        return worked;
    }
    if (((holding == 0) || (holding == 1)) && (holding != e->announced)) {
        announce(e, holding);
    }
    return status;
}

int @id@_payload_update(@id@_payload *state, const real *q, const real *qd, const real *qdd,
    const real *tau, int holding, @id@_payload_result *result)
{
    payload_state *e = state;
    int status = @ID@_NOT_READY;
    result->event = @ID@_NO_EVENT;
    result->mass = (real)0.0;
    result->event_age = (real)0.0;
    result->std = (real)INFINITY;
    result->running = 0;
    result->loaded = 0;
    result->finished = 0;
    result->pick_mass = (real)0.0;
    result->pick_std = (real)0.0;
    result->pick_time = (real)0.0;
    if (e->ready != READY) {
        return status;
    }
    e->out = result;
    status = update(e, q, qd, qdd, tau, holding);
    e->out = NULL;
    result->mass = mass_of_load(e);
    result->std = std_of_load(e);
    result->running = e->running;
    result->loaded = e->loaded;
    return status;
}
