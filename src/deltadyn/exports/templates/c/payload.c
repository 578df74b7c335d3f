/* ---------------------------------------------------------------- payload estimator
 * Angles, torques and directions of motion pass a light low-pass filter at every sample. At every
 * RESIDUAL_STEP-th the model gives residual r and column c with r = m c + noise, which pass a narrow
 * filter, are whitened and weighed into S and I, so that m = S / I; a likelihood ratio over windows
 * of them finds picks and drops. No sample carries all the work.
 */

typedef @id@_payload payload_state;

enum {
    AT_TAU = DOF,          /* channels of the first filter: q, tau, qd, qdd */
    AT_RATE = 2 * DOF,
    AT_RATE_2 = 3 * DOF,
    CHANNELS = 4 * DOF,
    WIDTH = (3 * DOF) + 1,   /* of the second: r, c, qd, speed */
    READY = 0x5eed,
    UNKNOWN = -1
};

typedef struct {
    int age, at_rest; /* residuals since the change */
    real mass;
} change;

static real mass_of_load(const payload_state *e)
{
    return (e->loaded && (e->I > LEAST_INFORMATION)) ? (e->S / e->I) : (real)0.0;
}

/* Of the mass, what more samples do not lower: square, in kg^2. */
static real systematic2(real mass)
{
    return (RELATIVE * mass * (RELATIVE * mass)) + (ZERO * ZERO);
}

static real std_of_load(const payload_state *e)
{
    if (!e->loaded) {
        return ZERO;
    }
    if (!(e->I > LEAST_INFORMATION)) {
        return (real)INFINITY;
    }
    return REAL_SQRT(((real)1.0 / e->I) + systematic2(mass_of_load(e)));
}

/* ---- sums of the last residuals */

static void forget(payload_state *e)
{
    for (int k = 0; k < MEMORY; k++) {
        e->ring[k][0] = (real)0.0;
        e->ring[k][1] = (real)0.0;
        e->ring[k][2] = FAST;
    }
    e->head = 0;
    e->count = 0;
}

static int behind(const payload_state *e, int length)
{
    return (e->head >= length) ? (e->head - length) : (e->head - length + MEMORY);
}

static void reach_back(payload_state *e, int residuals)
{
    if (e->count > residuals) {
        e->count = residuals;
    }
}

static void remember(payload_state *e, real s, real i, real speed)
{
    real total_s = e->ring[e->head][0], total_i = e->ring[e->head][1];
    if ((total_i > LARGE_SUM) || (SINGLE && (e->head == 0))) { /* small beside their increments */
        for (int k = 0; k < MEMORY; k++) {
            e->ring[k][0] -= total_s;
            e->ring[k][1] -= total_i;
        }
        total_s = (real)0.0;
        total_i = (real)0.0;
    }
    e->head = ((e->head + 1) < MEMORY) ? (e->head + 1) : 0;
    e->ring[e->head][0] = total_s + s;
    e->ring[e->head][1] = total_i + i;
    e->ring[e->head][2] = speed;
    e->count += e->count < MEMORY;
}

static void window(const payload_state *e, int length, real *s, real *i)
{
    const real *now = e->ring[e->head], *then = e->ring[behind(e, length)];
    *s = now[0] - then[0];
    *i = now[1] - then[1];
}

/* Logarithm of the likelihood ratio of a change so many residuals ago, of a load with sums S, I. */
static real score(const payload_state *e, int length, real S, real I)
{
    real s, i;
    window(e, length, &s, &i);
    if (!(i > LEAST_INFORMATION)) {
        return (real)0.0;
    }
    if (!(I > LEAST_INFORMATION)) {
        return (s > (real)0.0) ? ((real)0.5 * s * (s / i)) : (real)0.0;
    }
    const real before = I - i;
    if (!(before > LEAST_INFORMATION)) {
        return (real)0.0;
    }
    const real step = (s / i) - ((S - s) / before);
    return (real)0.5 * step * step / (((real)1.0 / i) + ((real)1.0 / before));
}

/* The begin of a change, to the residual, and whether the robot may have rested then. */
static change begin_of(const payload_state *e, int length, real S, real I)
{
    real scores[MEMORY], best = (real)-1.0, s, i;
    change found = { 1, 0, (real)0.0 };
    int longest = 2 * length;
    if (longest > e->count) {
        longest = e->count;
    }
    if (longest > (MEMORY - 1)) {
        longest = MEMORY - 1;
    }
    for (int k = 1; k <= longest; k++) {
        scores[k] = score(e, k, S, I);
        if (scores[k] > best) {
            best = scores[k];
            found.age = k;
        }
    }
    for (int k = 1; k <= longest; k++) {
        const int near = ((k - found.age) <= SLACK) && ((found.age - k) <= SLACK);
        if ((near || (scores[k] >= (best - PARDON))) && (e->ring[behind(e, k)][2] < REST_SPEED)) {
            found.at_rest = 1;
        }
    }
    window(e, found.age, &s, &i);
    found.mass = (i > LEAST_INFORMATION) ? (s / i) : (real)0.0;
    return found;
}

/* Length of the window that speaks most clearly for a load on an empty robot; 0: none. */
static int search_rise(const payload_state *e)
{
    real best = LIMIT * LIMIT;
    int found = 0;
    for (int k = 0; (k < WINDOW_COUNT) && (WINDOWS[k] <= e->count); k++) {
        real s, i;
        window(e, WINDOWS[k], &s, &i);
        if ((s > (real)0.0) && (i > LEAST_INFORMATION) && ((s * s) > (best * i))) {
            best = s * (s / i);
            found = WINDOWS[k];
        }
    }
    return found;
}

/* The same for a change of the load. */
static int search_change(const payload_state *e)
{
    const real square = (real)2.0 * systematic2(mass_of_load(e));
    real best = LIMIT * LIMIT;
    int found = 0;
    for (int k = 0; (k < WINDOW_COUNT) && (WINDOWS[k] <= e->count); k++) {
        real s, i;
        window(e, WINDOWS[k], &s, &i);
        const real before = e->I - i;
        if (!(i > LEAST_INFORMATION) || !(before > LEAST_INFORMATION)) {
            continue;
        }
        const real step = (s / i) - ((e->S - s) / before);
        const real z2 = step * step / (((real)1.0 / i) + ((real)1.0 / before) + square);
        if (z2 > best) {
            best = z2;
            found = WINDOWS[k];
        }
    }
    return found;
}

/* ---- loads that come and go */

static void restart(payload_state *e)
{
    e->begun = 0;
    e->place = 0;
    e->waiting = 0;
    e->pending = 0;
    e->running = 0;
    e->narrow_begun = 0;
    e->history = 0;
    e->skip = WARM_UP;
    e->age = CALM;
    e->loaded = !EVENTS;
    e->lost = 0;
    e->known = 0;
    e->announced = UNKNOWN;
    e->S = (real)0.0;
    e->I = (real)0.0;
    e->before = (real)0.0;
    e->lead = (real)0.0;
    e->held = 0;
    forget(e);
}

static real age_of(const change *c)
{
    return ((real)c->age * INTERVAL) + DELAY;
}

/* File the pick that is under way; it ended so many seconds ago. */
static void close_pick(payload_state *e, real ago)
{
    if (!e->loaded || !e->known || !(e->I > LEAST_INFORMATION)) {
        return;
    }
    e->out->finished = 1;
    e->out->pick_mass = mass_of_load(e);
    e->out->pick_std = std_of_load(e);
    e->out->pick_time = ((real)e->held / RATE) + e->lead - ago;
}

/* A load since a change; the residuals right after it mix both loads. */
static void begin_load(payload_state *e, const change *c)
{
    const int reach = ((c->age - MIXED) > 1) ? (c->age - MIXED) : 1;
    window(e, reach, &e->S, &e->I);
    e->loaded = 1;
    e->known = 1;
    e->age = 0;
    e->lead = age_of(c);
    e->held = 0;
    reach_back(e, reach);
}

static void tell(payload_state *e, int event, real ago)
{
    e->out->event = event;
    e->out->event_age = ago;
}

/* A load on an empty robot: a pick, or what was left after a lost grip. */
static void picked(payload_state *e, const change *c)
{
    const int left = e->lost && (e->age <= LEFT);
    if (left && (c->mass < (SMALL * e->before))) {
        reach_back(e, 0); /* the gears still swing */
        return;
    }
    if ((e->announced == 1) && !left) {
        return;
    }
    e->lost = 0;
    if (!left) {
        tell(e, @ID@_PICK, age_of(c));
    }
    begin_load(e, c);
}

/* More than before: the filter's last share of this pick, or another one. */
static void risen(payload_state *e, const change *c)
{
    if (e->announced != UNKNOWN) {
        return; /* the gripper says when it picks */
    }
    if (e->age > SAME) {
        if (c->age < CONFIRM) {
            return;
        }
        close_pick(e, age_of(c));
        tell(e, @ID@_PICK, age_of(c));
        begin_load(e, c);
        return;
    }
    const real lead = e->lead;
    const unsigned long held = e->held;
    const int known = e->known;
    begin_load(e, c);
    e->lead = lead;
    e->held = held;
    e->known = known;
}

/* A load that changed: it went, or there is more of it. */
static void changed(payload_state *e, const change *c)
{
    real s, i;
    window(e, c->age, &s, &i);
    const real rest_S = e->S - s, rest_I = e->I - i;
    if ((c->mass * rest_I) > rest_S) {
        risen(e, c);
        return;
    }
    if (c->age < CONFIRM) {
        return;
    }
    e->S = rest_S;
    e->I = rest_I;
    e->before = mass_of_load(e);
    e->lost = (e->announced == 1) || !c->at_rest;
    tell(e, e->lost ? @ID@_LOST_GRIP : @ID@_RELEASE, age_of(c));
    close_pick(e, age_of(c));
    e->loaded = 0;
    e->age = 0;
    e->S = (real)0.0;
    e->I = (real)0.0;
    reach_back(e, 0);
}

static void search(payload_state *e)
{
    if (e->loaded) {
        const int length = search_change(e);
        if (length) {
            const change c = begin_of(e, length, e->S, e->I);
            changed(e, &c);
        }
    } else if ((e->announced != 0) && (e->age >= CALM)) {
        const int length = search_rise(e);
        if (length) {
            const change c = begin_of(e, length, (real)0.0, (real)0.0);
            picked(e, &c);
        }
    }
}

/* The gripper closed or opened: what it tells is taken at once. */
static void announce(payload_state *e, int holding)
{
    e->announced = holding;
    if (holding && !e->loaded) {
        e->loaded = 1;
        e->known = 1;
        e->age = 0;
        e->lead = (real)0.0;
        e->held = 0;
        tell(e, @ID@_PICK, (real)0.0);
    } else if (!holding && e->loaded && EVENTS) {
        tell(e, @ID@_RELEASE, (real)0.0);
        close_pick(e, (real)0.0);
        e->loaded = 0;
        e->age = 0;
    } else {
        return;
    }
    e->S = (real)0.0;
    e->I = (real)0.0;
    forget(e);
    if (e->skip < SETTLE) {
        e->skip = SETTLE;
    }
}

