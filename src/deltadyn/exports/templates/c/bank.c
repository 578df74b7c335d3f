/* ---------------------------------------------------------------- payload estimator
 * Angles and torques pass a window; at every MODEL_STEP-th sample the model gives residual r and
 * column c of one kg, which pass a second window. At every ROW_STEP-th model a row goes into a bank
 * of hypotheses "empty" or "loaded since ...": r = z theta + w m c + v with theta = (dFv, dFc, o) of
 * each arm, which walks slowly. All share the covariance P of theta given m; each has theta as it
 * were without a load, the part U of the load's torque that theta has taken, and m with its variance:
 *     e = r - z theta,   s = w c - z U,   e = s m + noise of variance S = z P z + var e
 *     theta += K e,   U += K s,   K = P z / S
 */

typedef @id@_payload payload_state;
typedef @id@_hypothesis hypothesis;

enum {
    ARMS = 3,
    AT_R = 0, /* in a row: residuals, columns, rates, directions, rev of the arms, speed */
    AT_C = 3,
    AT_RATE = 6,
    AT_TURN = 9,
    AT_REV = 12,
    AT_SPEED = 15,
    ROW = 16,
    READY = 0x5eed,
    UNKNOWN = -1,
    LONG_AGO = 1000000,
    OLDEST = 2000000000,
    CLOSING = 0, /* edges of the gripper's signal */
    OPENING = 1,
    NO_EDGE = -1
};

static const real NEVER = (real)-1e30; /* logarithm of no chance at all */

/* ---- hypotheses */

/* The load is gone: theta is what it is given the mass. */
static void forget_load(hypothesis *h)
{
    for (int k = 0; k < 9; k++) {
        h->theta[k] -= h->U[k] * h->mass;
        h->U[k] = (real)0.0;
    }
    h->mass = (real)0.0;
    h->variance = (real)0.0;
    h->share = (real)0.0;
}

static void take_up(hypothesis *h)
{
    forget_load(h);
    h->carries = 1;
    h->age = 0;
    h->begin_edge = NO_EDGE;
    h->variance = SPREAD * SPREAD;
}

/* A loaded hypothesis releases; its load leaves the windows within the next rows. */
static void let_go(hypothesis *h, int in_motion)
{
    h->done = 1;
    h->begun = h->age;
    h->ended = 0;
    h->in_motion = (signed char)in_motion;
    h->done_mass = h->mass;
    h->done_variance = h->variance;
    h->done_edge = h->begin_edge;
    h->end_edge = NO_EDGE;
    h->carries = 0;
    h->age = 0;
}

/* The k-th hypothesis; the order of equals is that of their begin. */
static hypothesis *at(payload_state *e, int k)
{
    return &e->table[e->order[k]];
}

static const hypothesis *seen_at(const payload_state *e, int k)
{
    return &e->table[e->order[k]];
}

/* The heaviest. */
static int heaviest(const payload_state *e)
{
    int best = 0;
    for (int k = 1; k < e->alive; k++) {
        if (seen_at(e, k)->weight > seen_at(e, best)->weight) {
            best = k;
        }
    }
    return best;
}

/* Keep those that are marked; the places of the others lie behind them in `order`. */
static void keep_marked(payload_state *e, const signed char *stay)
{
    int gone[BANK_SIZE], kept = 0, left = 0;
    for (int k = 0; k < e->alive; k++) {
        const int place = e->order[k];
        if (stay[k] != 0) {
            e->order[kept] = place;
            kept++;
        } else {
            gone[left] = place;
            left++;
        }
    }
    for (int k = 0; k < left; k++) {
        e->order[kept + k] = gone[k];
    }
    e->alive = kept;
}

static void begin_bank(payload_state *e)
{
    hypothesis *h = &e->table[0];
    for (int k = 0; k < BANK_SIZE; k++) {
        e->order[k] = k;
    }
    for (int k = 0; k < 9; k++) {
        h->theta[k] = THETA[k];
        h->U[k] = (real)0.0;
    }
    for (int i = 0; i < ARMS; i++) {
        e->P[i][1] = (real)0.0;
        e->P[i][2] = (real)0.0;
        e->P[i][4] = (real)0.0;
        e->P[i][0] = THETA_VARIANCE[3 * i];
        e->P[i][3] = THETA_VARIANCE[(3 * i) + 1];
        e->P[i][5] = THETA_VARIANCE[(3 * i) + 2];
    }
    h->mass = (real)0.0;
    h->variance = (real)0.0;
    h->weight = (real)0.0;
    h->share = (real)0.0;
    h->done_mass = (real)0.0;
    h->done_variance = (real)0.0;
    h->age = LONG_AGO;
    h->begun = 0;
    h->ended = 0;
    h->carries = 0;
    h->count = 0;
    h->done = 0;
    h->in_motion = 0;
    h->begin_edge = NO_EDGE;
    h->done_edge = NO_EDGE;
    h->end_edge = NO_EDGE;
    if (!EVENTS) {
        h->carries = 1;
        h->variance = SPREAD * SPREAD;
        h->share = (real)1.0;
    }
    e->alive = 1;
    e->skip = WARM_UP;
    e->peak = (real)0.0;
    e->dead = 0;
    e->moving = 0;
    e->picks_open = 0;
    e->begun = 0;
    e->ended = 0;
    e->holds = !EVENTS;
    e->mass = (real)0.0;
    e->variance = EVENTS ? (real)0.0 : (SPREAD * SPREAD);
}

/* Ages; what changed since all arms stand still is taken to have changed last. */
static void grow_older(payload_state *e)
{
    const int waits = e->dead > STILL;
    for (int k = 0; k < e->alive; k++) {
        hypothesis *h = at(e, k);
        h->age += ((h->age < OLDEST) && !(waits && (h->age < e->dead))) ? 1 : 0;
        h->ended += ((h->ended < OLDEST) && !(waits && (h->ended < e->dead))) ? 1 : 0;
        h->begun += h->begun < OLDEST;
        if ((e->moving == 0) && (h->ended <= NEAR_REST)) {
            h->in_motion = 0; /* a load that went just before a rest was put down */
        }
    }
    for (int kind = CLOSING; kind <= OPENING; kind++) {
        const int age = e->edge_age[kind];
        e->edge_age[kind] += ((age < OLDEST) && !(waits && (age < e->dead))) ? 1 : 0;
    }
    e->begun += e->begun < OLDEST;
    e->ended += e->ended < OLDEST;
}

/* ---- the gripper's signal: an edge k rows after the begin (or the end) of a load multiplies the
 * chance of that hypothesis by 1 + min(p_k / s, EDGE_MOST); p_k is the share of the last picks that
 * had their edge there, s the chance per row of an edge that belongs to no pick */

/* Samples are missing: the level is not known, what was learned stays. */
static void lose_level(payload_state *e)
{
    e->level = UNKNOWN;
    e->holding = UNKNOWN;
    for (int kind = CLOSING; kind <= OPENING; kind++) {
        e->edge_age[kind] = LONG_AGO;
    }
}

/* The level of a row; gives the edge. */
static int detect_edge(payload_state *e)
{
    const int before = e->level;
    e->edge_rows = (EDGE_ROW_KEEP * e->edge_rows) + (real)1.0;
    e->stray[CLOSING] *= EDGE_ROW_KEEP;
    e->stray[OPENING] *= EDGE_ROW_KEEP;
    if ((e->holding == UNKNOWN) || (e->holding == before)) {
        return NO_EDGE;
    }
    e->level = e->holding;
    if (before == UNKNOWN) {
        return NO_EDGE;
    }
    const int kind = e->level ? CLOSING : OPENING;
    e->stray[kind] += (real)1.0;
    return kind;
}

/* Bin of the last edge's delay behind a change of this age in rows. */
static int edge_bin(const payload_state *e, int kind, int age)
{
    const int delay = age - e->edge_age[kind] - EDGE_FIRST;
    return ((delay >= 0) && (delay < EDGE_DELAYS)) ? delay : NO_EDGE;
}

/* Logarithm of the factor on the chance of a change with its edge in this bin. */
static real edge_gain(const payload_state *e, int kind, int delay)
{
    if (delay == NO_EDGE) {
        return (real)0.0;
    }
    const real share = (e->edge_count[kind][delay] + ((real)1.0 / (real)EDGE_DELAYS))
        / (e->edge_picks[kind] + (real)1.0);
    const real most = (e->stray[kind] > (real)1.0) ? e->stray[kind] : (real)1.0;
    const real factor = share * (e->edge_rows + EDGE_PRIOR_ROWS) / most;
    return @log@((real)1.0 + ((factor < EDGE_MOST) ? factor : EDGE_MOST));
}

/* A settled pick had its edge in this bin, or none. */
static void count_edge(payload_state *e, int kind, int delay)
{
    static const real near[3] = { (real)0.25, (real)0.5, (real)0.25 }; /* a begin is known to a row */
    if (e->level == UNKNOWN) {
        return;
    }
    for (int k = 0; k < EDGE_DELAYS; k++) {
        e->edge_count[kind][k] *= EDGE_PICK_KEEP;
    }
    e->edge_picks[kind] = (EDGE_PICK_KEEP * e->edge_picks[kind]) + (real)1.0;
    if (delay == NO_EDGE) {
        return;
    }
    e->stray[kind] = (e->stray[kind] > (real)1.0) ? (e->stray[kind] - (real)1.0) : (real)0.0;
    for (int k = 0; k < 3; k++) {
        const int to = delay + k - 1;
        if ((to >= 0) && (to < EDGE_DELAYS)) {
            e->edge_count[kind][to] += near[k];
        }
    }
}

/* An edge makes the hypotheses likelier whose change is near it; a change has the edge that speaks
 * for it most. An opening edge speaks for the end of an announced pick only. */
static void weigh_edge(payload_state *e, int kind)
{
    e->edge_age[kind] = 0;
    for (int k = 0; k < e->alive; k++) {
        hypothesis *h = at(e, k);
        if (!((kind == CLOSING) ? h->carries : (h->done && (h->count <= e->picks_open)))) {
            continue;
        }
        signed char *own = (kind == CLOSING) ? &h->begin_edge : &h->end_edge;
        const int delay = edge_bin(e, kind, (kind == CLOSING) ? h->age : h->ended);
        const real more = edge_gain(e, kind, delay) - edge_gain(e, kind, *own);
        if (more > (real)0.0) {
            h->weight += more;
            *own = (signed char)delay;
        }
    }
}

static hypothesis *child_of(payload_state *e, const hypothesis *parent, real weight)
{
    hypothesis *child = &e->table[e->order[e->alive]];
    e->alive++;
    *child = *parent;
    child->weight = weight;
    return child;
}

/* The best empty hypothesis picks, the best loaded ones release. */
static void spawn(payload_state *e, int rest)
{
    const real pick = rest ? LOG_PICK_REST : LOG_PICK_MOVING;
    const real release = rest ? LOG_RELEASE_REST : LOG_RELEASE_MOVING;
    const real none = rest ? LOG_NO_PICK_REST : LOG_NO_PICK_MOVING;
    const real stays = rest ? LOG_NO_RELEASE_REST : LOG_NO_RELEASE_MOVING;
    const int count = e->alive;
    int empty = -1, held[SPAWNING], found = 0;
    for (int k = 0; k < count; k++) {
        const hypothesis *h = at(e, k);
        if (!h->carries && (h->age >= GAP) && (h->count < 2)
            && ((empty < 0) || (h->weight > at(e, empty)->weight))) {
            empty = k;
        }
        if (h->carries && (h->age >= SHORTEST) && !h->done) { /* the best, in order */
            int rank = found;
            found += (found < SPAWNING) ? 1 : 0;
            while ((rank > 0) && (h->weight > at(e, held[rank - 1])->weight)) {
                if (rank < SPAWNING) {
                    held[rank] = held[rank - 1];
                }
                rank--;
            }
            if (rank < SPAWNING) {
                held[rank] = k;
            }
        }
    }
    if (empty >= 0) {
        const int delay = edge_bin(e, CLOSING, 0);
        const real chance = pick + edge_gain(e, CLOSING, delay);
        hypothesis *child = child_of(e, at(e, empty), at(e, empty)->weight + chance);
        take_up(child);
        child->count++;
        child->begin_edge = (signed char)delay;
    }
    for (int k = 0; k < found; k++) {
        const hypothesis *parent = at(e, held[k]);
        const int delay = (parent->count <= e->picks_open) ? edge_bin(e, OPENING, 0) : NO_EDGE;
        const real chance = release + edge_gain(e, OPENING, delay);
        hypothesis *child = child_of(e, parent, parent->weight + chance);
        let_go(child, e->moving > NEAR_REST);
        child->end_edge = (signed char)delay;
    }
    for (int k = 0; k < count; k++) {
        at(e, k)->weight += at(e, k)->carries ? stays : none;
    }
}

/* What is the same for all hypotheses in a row: differences that phi makes white, gains. */
typedef struct {
    int used[ARMS];
    real z[ARMS][3], r[ARMS], c[ARMS], c_last[ARMS], S[ARMS], over_S[ARMS], K[ARMS][3];
} measure;

static void begin_measure(payload_state *e, const real *row, measure *own)
{
    const real *last = e->row;
    for (int i = 0; i < ARMS; i++) {
        const real rev = row[AT_REV + i];
        own->used[i] = rev <= REV_LIMIT;
        if (!own->used[i]) {
            continue;
        }
        const int linked = last[AT_REV + i] <= REV_LIMIT;
        const real phi = linked ? PHI[i] : (real)0.0;
        real *z = own->z[i], *P = e->P[i];
        z[0] = row[AT_RATE + i] - (phi * last[AT_RATE + i]);
        z[1] = row[AT_TURN + i] - (phi * last[AT_TURN + i]);
        z[2] = (real)1.0 - phi;
        own->r[i] = row[AT_R + i] - (phi * last[AT_R + i]);
        own->c[i] = row[AT_C + i];
        own->c_last[i] = phi * last[AT_C + i];
        const real noise = (VARIANCE[i] + (REVERSAL[i] * rev * rev))
            * (linked ? (real)1.0 : UNLINKED[i]);
        const real Pz[3] = { (P[0] * z[0]) + (P[1] * z[1]) + (P[2] * z[2]),
            (P[1] * z[0]) + (P[3] * z[1]) + (P[4] * z[2]), (P[2] * z[0]) + (P[4] * z[1]) + (P[5] * z[2]) };
        const real S = (Pz[0] * z[0]) + (Pz[1] * z[1]) + (Pz[2] * z[2]) + noise;
        own->S[i] = S;
        own->over_S[i] = (real)1.0 / S;
        for (int k = 0; k < 3; k++) {
            own->K[i][k] = Pz[k] * own->over_S[i];
        }
        P[0] -= own->K[i][0] * Pz[0];
        P[1] -= own->K[i][0] * Pz[1];
        P[2] -= own->K[i][0] * Pz[2];
        P[3] -= own->K[i][1] * Pz[1];
        P[4] -= own->K[i][1] * Pz[2];
        P[5] -= own->K[i][2] * Pz[2];
    }
}

/* The Kalman filter of a hypothesis, on the arms of this row that tell something. */
static void measure_one(hypothesis *h, const measure *own)
{
    const real ramp = (h->age < SHARES) ? SHARE[h->age] : (real)1.0;
    const real w = h->carries ? ramp : (h->variance > (real)0.0) ? ((real)1.0 - ramp) : (real)0.0;
    const real rough = ((h->age < EARLY) ? EXTRA_EARLY : EXTRA) * h->mass;
    real J = (real)0.0, b = (real)0.0, fit = (real)0.0, volume = (real)1.0, far = (real)0.0;
    for (int i = 0; i < ARMS; i++) {
        if (!own->used[i]) {
            continue;
        }
        const real *z = own->z[i], c = own->c[i];
        real *theta = &h->theta[3 * i], *U = &h->U[3 * i];
        const real e = own->r[i] - ((theta[0] * z[0]) + (theta[1] * z[1]) + (theta[2] * z[2]));
        const real s = (w * c) - (h->share * own->c_last[i]) - ((U[0] * z[0]) + (U[1] * z[1]) + (U[2] * z[2]));
        const real v = e - (s * h->mass), more = rough * c;
        const int plain = more == (real)0.0;
        const real Sm = own->S[i] + (more * more), over = plain ? own->over_S[i] : ((real)1.0 / Sm);
        const real most = Sm + (s * s * h->variance);
        real kept = v;
        if ((v * v) > (HUBER * HUBER * most)) { /* it counts as HUBER deviations */
            const real size = REAL_ABS(v) / REAL_SQRT(most);
            kept = v * (HUBER / size);
            far += size - HUBER;
        }
        J += s * s * over;
        b += s * kept * over;
        fit += kept * kept * over;
        volume *= plain ? (real)1.0 : (Sm * own->over_S[i]);
        const real gain = plain ? (real)1.0 : (own->S[i] * over), step = gain * (e - v + kept), slope = gain * s;
        for (int k = 0; k < 3; k++) {
            theta[k] += own->K[i][k] * step;
            U[k] += own->K[i][k] * slope;
        }
    }
    if (!(h->variance > (real)0.0) && (h->mass == (real)0.0)) { /* empty: no load to weigh */
        h->weight -= ((real)0.5 * fit) + (HUBER * far);
        h->share = w;
        return;
    }
    const real grown = (real)1.0 + (h->variance * J), over = (real)1.0 / grown;
    h->weight -= ((real)0.5 * (fit - (h->variance * b * b * over) + @log@(grown * volume))) + (HUBER * far);
    h->variance *= over;
    h->mass += h->variance * b;
    h->share = w;
}

/* Masses of finished picks; loads that have left the windows are forgotten. */
static void empty_windows(payload_state *e)
{
    for (int k = 0; k < e->alive; k++) {
        hypothesis *h = at(e, k);
        if (h->carries || !(h->variance > (real)0.0)) {
            continue;
        }
        h->done_mass = h->mass;
        h->done_variance = h->variance;
        if (h->age >= SHARES) {
            forget_load(h);
        }
    }
}

/* Leave so many of the marked ones, the heaviest; of equals the first stay. */
static void leave_best(const real *weight, int count, int left, signed char *stay)
{
    for (int more = left; more > KEEP; more--) {
        int worst = -1;
        real least = (real)0.0;
        for (int k = 0; k < count; k++) {
            if (stay[k] && ((worst < 0) || (weight[k] <= least))) {
                worst = k;
                least = weight[k];
            }
        }
        stay[worst] = 0;
    }
}

/* Some time after a pick its begin is settled: loads of other begins go. Gives how many stay. */
static int settle_begin(const payload_state *e, const real *weight, int count, signed char *stay)
{
    int first = -1, left = count;
    for (int k = 0; k < e->alive; k++) {
        const hypothesis *h = seen_at(e, k);
        if (stay[k] && h->carries && (h->count == e->picks_open)
            && ((first < 0) || (weight[k] > weight[first]))) {
            first = k;
        }
    }
    if ((first < 0) || (seen_at(e, first)->age < LAG)) {
        return left;
    }
    for (int k = 0; k < e->alive; k++) {
        if (stay[k] && (k != first) && seen_at(e, k)->carries
            && (seen_at(e, k)->count == e->picks_open)) {
            stay[k] = 0;
            left--;
        }
    }
    return left;
}

/* Loads that are surely none go; the best stay, and the best without a new pick. */
static void prune(payload_state *e)
{
    signed char stay[BANK_SIZE];
    real weight[BANK_SIZE], top = NEVER;
    int left = 0, guard = -1, best = 0;
    for (int k = 0; k < e->alive; k++) {
        const hypothesis *h = at(e, k);
        const real room = LIGHTEST - h->mass;
        const int none = h->carries && (room > (real)0.0)
            && (((real)9.0 * h->variance) < (room * room));
        weight[k] = h->weight;
        stay[k] = (signed char)!none;
        left += !none;
        if (weight[k] > weight[best]) {
            best = k;
        }
    }
    if (left == 0) { /* the load is none, so the robot is empty */
        let_go(at(e, best), 0);
        stay[best] = 1;
        left = 1;
    }
    if (e->holds != 0) {
        left = settle_begin(e, weight, left, stay);
    }
    for (int k = 0; k < e->alive; k++) {
        if (stay[k] && (at(e, k)->count <= e->picks_open)
            && ((guard < 0) || (weight[k] > weight[guard]))) {
            guard = k;
        }
    }
    if (left > KEEP) {
        leave_best(weight, e->alive, left, stay);
        if (guard >= 0) {
            stay[guard] = 1;
        }
    }
    for (int k = 0; k < e->alive; k++) {
        if (stay[k] && (weight[k] > top)) {
            top = weight[k];
        }
    }
    keep_marked(e, stay);
    for (int k = 0; k < e->alive; k++) {
        hypothesis *h = at(e, k);
        h->weight -= top;
        e->chance[e->order[k]] = (h->weight > FAINT) ? @exp@(h->weight) : (real)0.0;
    }
}

/* Logarithm of the sum of the weights of those that are marked. */
static real total(const payload_state *e, const signed char *which)
{
    real top = NEVER, sum = (real)0.0;
    for (int k = 0; k < e->alive; k++) {
        if (which[k] != 0) {
            sum += e->chance[e->order[k]];
            if (seen_at(e, k)->weight > top) {
                top = seen_at(e, k)->weight;
            }
        }
    }
    if (!(top > NEVER)) {
        return NEVER;
    }
    if (top > ((real)0.5 * FAINT)) {
        return @log@(sum);
    }
    sum = (real)0.0; /* all of them are faint: beside the best of them */
    for (int k = 0; k < e->alive; k++) {
        if (which[k] && ((seen_at(e, k)->weight - top) > FAINT)) {
            sum += @exp@(seen_at(e, k)->weight - top);
        }
    }
    return top + @log@(sum);
}

static int best_of(const payload_state *e, const signed char *which)
{
    int best = -1;
    for (int k = 0; k < e->alive; k++) {
        if (which[k] && ((best < 0) || (seen_at(e, k)->weight > seen_at(e, best)->weight))) {
            best = k;
        }
    }
    return best;
}

/* Announce a pick or an end that is clear enough; gives the event. */
static int decide(payload_state *e)
{
    signed char first[BANK_SIZE] = { 0 }, second[BANK_SIZE] = { 0 }, third[BANK_SIZE] = { 0 };
    if (!e->holds) {
        for (int k = 0; k < e->alive; k++) {
            const hypothesis *h = at(e, k);
            first[k] = (signed char)(h->count > e->picks_open);
            second[k] = (signed char)!first[k];
            third[k] = (signed char)(first[k] && h->carries);
        }
        const int best = best_of(e, third);
        if ((best < 0) || !(at(e, best)->mass > LIGHTEST)
            || !((total(e, first) - total(e, second)) > PICK_ODDS)) {
            return @ID@_NO_EVENT;
        }
        if ((at(e, best)->age <= SHARES) && ((e->moving - at(e, best)->age) > NEAR_REST)) {
            return @ID@_NO_EVENT; /* in motion: not before all of the load is in the filter */
        }
        e->holds = 1;
        e->picks_open++;
        e->begun = at(e, best)->age;
        keep_marked(e, first);
        return @ID@_PICK;
    }
    for (int k = 0; k < e->alive; k++) {
        const hypothesis *h = at(e, k);
        const int mine = h->count == e->picks_open;
        first[k] = (signed char)(mine && !h->carries);
        second[k] = (signed char)(mine && h->carries);
    }
    if (!((total(e, first) - total(e, second)) > RELEASE_ODDS)) {
        return @ID@_NO_EVENT;
    }
    const int best = best_of(e, first);
    for (int k = 0; k < e->alive; k++) {
        second[k] = (signed char)(first[k] && at(e, k)->in_motion);
        third[k] = (signed char)(first[k] && !at(e, k)->in_motion);
    }
    const real lost = total(e, second) - total(e, third);
    const hypothesis *h = at(e, best);
    if ((REAL_ABS(lost) < LOST_ODDS) && (h->ended < LAG)) {
        return @ID@_NO_EVENT;
    }
    if ((lost > (real)0.0) && (h->ended <= NEAR_REST)) {
        return @ID@_NO_EVENT; /* a rest may follow */
    }
    e->holds = 0;
    e->begun = h->begun;
    e->ended = h->ended;
    e->mass = h->done_mass;
    e->variance = h->done_variance;
    return (lost >= LOST_ODDS) ? @ID@_LOST_GRIP : @ID@_RELEASE;
}

/* A pick that later rows have settled. */
typedef struct {
    int told, seen, begun, ended;
    real mass, variance;
} filed;

/* Settle the finished pick of the best hypothesis; drop those that disagree. Gives the event. */
static int settle_pick(payload_state *e, int event, filed *out)
{
    signed char same[BANK_SIZE];
    const hypothesis *best = at(e, heaviest(e));
    out->told = 0;
    if (!best->done || (best->ended < LAG)) {
        return event;
    }
    out->seen = e->picks_open > 0;
    if (out->seen && e->holds && (best->count == e->picks_open)) {
        return event; /* its end is not announced yet */
    }
    out->told = 1;
    out->begun = best->begun;
    out->ended = best->ended;
    out->mass = best->done_mass;
    out->variance = best->done_variance;
    if (out->seen != 0) {
        count_edge(e, CLOSING, best->done_edge);
        count_edge(e, OPENING, best->end_edge);
    }
    for (int k = 0; k < e->alive; k++) {
        const hypothesis *h = at(e, k);
        same[k] = (signed char)(h->done && (h->begun == out->begun) && (h->ended == out->ended));
    }
    keep_marked(e, same);
    for (int k = 0; k < e->alive; k++) {
        at(e, k)->count--;
        at(e, k)->done = 0;
    }
    e->picks_open -= e->picks_open > 0;
    if (!(e->holds && out->seen && (e->picks_open == 0))) {
        return event;
    }
    e->holds = 0; /* the next pick shows before this end */
    e->begun = out->begun;
    e->ended = out->ended;
    e->mass = out->mass;
    e->variance = out->variance;
    return @ID@_RELEASE;
}

/* Mass and variance over all hypotheses that carry something. */
static void believe(payload_state *e, int event)
{
    real sum = (real)0.0, mass = (real)0.0, spread = (real)0.0, top = NEVER;
    if (!e->holds) {
        if (event == @ID@_NO_EVENT) {
            e->mass = (real)0.0;
            e->variance = (real)0.0;
        }
        return;
    }
    for (int k = 0; k < e->alive; k++) {
        if (at(e, k)->carries && (at(e, k)->weight > top)) {
            top = at(e, k)->weight;
        }
    }
    if (!(top > NEVER)) {
        return;
    }
    for (int turn = 0; turn < 2; turn++) {
        for (int k = 0; k < e->alive; k++) {
            const hypothesis *h = at(e, k);
            if (!h->carries || !((h->weight - top) > FAINT)) {
                continue;
            }
            const real chance = (EVENTS && (top > ((real)0.5 * FAINT)))
                ? e->chance[e->order[k]] : @exp@(h->weight - top);
            if (turn == 0) {
                sum += chance;
                mass += chance * h->mass;
            } else {
                const real off = h->mass - mass;
                spread += chance * (h->variance + (off * off));
            }
        }
        if (turn == 0) {
            mass /= sum;
        }
    }
    e->mass = mass;
    e->variance = spread / sum;
}

/* A row into the bank; gives the event. */
static int bank_row(payload_state *e, const real *row, filed *out)
{
    int event = @ID@_NO_EVENT, live = 0;
    out->told = 0;
    for (int i = 0; i < ARMS; i++) {
        e->P[i][0] += WALK[3 * i];
        e->P[i][3] += WALK[(3 * i) + 1];
        e->P[i][5] += WALK[(3 * i) + 2];
        live = live || (row[AT_REV + i] <= REV_LIMIT);
    }
    const int edge = detect_edge(e);
    if (e->skip > 0) {
        e->skip--;
    } else {
        const real speed = row[AT_SPEED];
        e->peak *= PEAK_KEEP;
        if (speed > e->peak) {
            e->peak = speed;
        }
        const int rest = (speed < REST_SPEED) || (speed < (REST_SHARE * e->peak));
        e->dead = live ? 0 : (e->dead + (e->dead < OLDEST));
        e->moving = rest ? 0 : (e->moving + (e->moving < OLDEST));
        grow_older(e);
        if (EVENTS && (edge != NO_EDGE)) {
            weigh_edge(e, edge);
        }
        if (EVENTS && (e->dead <= STILL)) {
            spawn(e, rest);
        }
        if (live != 0) {
            measure own;
            begin_measure(e, row, &own);
            for (int k = 0; k < e->alive; k++) {
                measure_one(at(e, k), &own);
            }
        }
        if (EVENTS != 0) {
            empty_windows(e);
            prune(e);
            event = decide(e);
            event = settle_pick(e, event, out);
        }
        believe(e, event);
    }
    for (int k = 0; k < ROW; k++) {
        e->row[k] = row[k];
    }
    return event;
}

/* ---- picks: times are counted in halves of a sample, and wrap around */

static unsigned long now_of(const payload_state *e)
{
    return 2UL * e->clock;
}

static unsigned long ago(const payload_state *e, int rows)
{
    return now_of(e) - (unsigned long)CHANGE_HALVES - ((unsigned long)ROW_HALVES * (unsigned long)rows);
}

static real seconds(unsigned long from, unsigned long to)
{
    const unsigned long length = to - from;
    if (length > LONGEST_PICK) { /* to is before from */
        return -(real)(from - to) / ((real)2.0 * RATE);
    }
    return (real)length / ((real)2.0 * RATE);
}

static real std_of(real mass, real variance)
{
    return REAL_SQRT(variance + (ZERO * ZERO) + (GAIN * mass * (GAIN * mass)));
}

static real std_of_load(const payload_state *e)
{
    if (!e->loaded) {
        return ZERO;
    }
    if (e->variance > (NOT_KNOWN * NOT_KNOWN * SPREAD * SPREAD)) {
        return (real)INFINITY;
    }
    return std_of(e->mass, e->variance);
}

static void tell(payload_state *e, int event, unsigned long when)
{
    e->out->event = event;
    e->out->event_age = seconds(when, now_of(e));
}

static void tell_pick(payload_state *e, int finished)
{
    e->out->finished = finished;
    e->out->pick_mass = e->pick_mass;
    e->out->pick_std = e->pick_std;
    e->out->pick_time = seconds(e->pick_start, e->pick_end);
    e->out->pick_ended = e->pick_ended;
    e->out->pick_long = e->out->pick_time > LONGEST;
}

static void file_pick(payload_state *e, int ended, unsigned long end, real std)
{
    e->pick_start = e->start;
    e->pick_end = end;
    e->pick_mass = e->mass;
    e->pick_std = std;
    e->pick_ended = ended;
    e->has_pick = 1;
    tell_pick(e, 1);
}

static void picked(payload_state *e)
{
    const unsigned long start = ago(e, e->begun);
    if (e->has_pick && e->has_end && (seconds(e->end, start) <= AT_ONCE)) {
        const real more = AVERAGED * e->pick_mass;
        if (e->pick_ended != @ID@_PICK) { /* its mass may be averaged with an empty way */
            e->pick_std = REAL_SQRT((e->pick_std * e->pick_std) + (more * more));
        }
        e->pick_ended = @ID@_PICK;
        tell_pick(e, 2);
    }
    e->loaded = 1;
    e->known = 1;
    e->start = start;
    tell(e, @ID@_PICK, start);
}

static void ended(payload_state *e, int event, unsigned long end)
{
    file_pick(e, event, end, std_of(e->mass, e->variance));
    e->loaded = 0;
    e->end = end;
    e->has_end = 1;
    e->unsettled = 1;
    tell(e, event, end);
}

/* The last pick as all rows up to now see it. */
static void settle_last(payload_state *e, const filed *f)
{
    e->unsettled = 0;
    if (e->pick_ended == @ID@_PICK) {
        return; /* keeps its wide deviation */
    }
    const unsigned long start = ago(e, f->begun), end = ago(e, f->ended);
    if (!(seconds(start, end) > (real)0.0)) {
        return;
    }
    e->pick_start = start;
    e->pick_end = end;
    e->pick_mass = f->mass;
    e->pick_std = std_of(f->mass, f->variance);
    tell_pick(e, 2);
}

static void step_bank(payload_state *e, const real *row)
{
    filed f;
    const int event = bank_row(e, row, &f);
    if (f.told && f.seen && e->unsettled) {
        settle_last(e, &f);
    }
    if (event == @ID@_PICK) {
        picked(e);
    } else if (event != @ID@_NO_EVENT) {
        ended(e, event, ago(e, e->ended));
        e->unsettled = !f.told;
    } else {
        /* nothing became known */
    }
}

static void restart(payload_state *e)
{
    e->place = 0;
    e->samples = 0;
    e->phase = 0;
    e->model_place = 0;
    e->models = 0;
    e->model_phase = 0;
    begin_bank(e);
    lose_level(e);
    e->loaded = !EVENTS;
    e->known = 0;
    e->has_end = 0;
    e->unsettled = 0;
}

static void close_pick(payload_state *e)
{
    if (e->loaded && e->known && is_finite(std_of_load(e))) {
        file_pick(e, @ID@_BEGUN_ANEW, now_of(e), std_of_load(e));
    }
}

/* ---- from samples to rows */

/* tanh without its cost where it is 1. */
static real turn_of(real x)
{
    if (REAL_ABS(x) > (real)20.0) {
        return (x > (real)0.0) ? (real)1.0 : (real)-1.0;
    }
    return @tanh@(x);
}

/* What one kg at the payload's offset adds to the torques of the arms: J^T (its acceleration). */
static void column_at(const real *x, real *column)
{
    real s[3][3], n[3], pull[3];
    for (int i = 0; i < 3; i++) {
        real E[3];
        elbow(i, x[AT_COS + i], x[AT_SIN + i], E);
        for (int k = 0; k < 3; k++) {
            s[i][k] = x[AT_P + k] - E[k];
        }
        pull[i] = x[AT_PDD + i];
    }
    pull[2] += EMPTY[PAR_GRAVITY];
#if @spindle@
    const real hx = EMPTY[PAR_PAYLOAD_OFFSET], hy = EMPTY[PAR_PAYLOAD_OFFSET + 1];
    const real rx = (x[AT_PSI] * hx) - (x[AT_PSI + 1] * hy), ry = (x[AT_PSI + 1] * hx) + (x[AT_PSI] * hy);
    const real turn = x[AT_QD + 3], bend = x[AT_QDD + 3];
    pull[0] -= (bend * ry) + (turn * turn * rx);
    pull[1] += (bend * rx) - (turn * turn * ry);
#endif
    cross(s[1], s[2], n);
    const real over = (real)1.0 / dot(s[0], n);
    for (int i = 0; i < 3; i++) {
        const real d = along_way(i, x[AT_COS + i], x[AT_SIN + i], s[i]);
        cross(s[(i + 1) % 3], s[(i + 2) % 3], n);
        column[i] = d * over * dot(n, pull);
    }
}

/* Residual, column, rate, direction, rev of the arms, and the speed, at the window's middle. */
static int model_row(const real *filtered, real *out)
{
    real x[MOTION], own[DOF], turn[DOF], column[3];
    const real *q = filtered, *qd = filtered + DOF, *qdd = filtered + (2 * DOF);
    const real *tau = &filtered[3 * DOF];
    int status = motion_of_own_joints(q, qd, qdd, x);
    if (status != @ID@_OK) {
        return status;
    }
    torque(EMPTY, x, own);
    column_at(x, column);
    status = add_passive(x, 1, own);
    if (status != @ID@_OK) {
        return status;
    }
    real through[DOF];
    for (int i = 0; i < DOF; i++) {
        turn[i] = (i < ARMS) ? turn_of(qd[i] * OVER_DIRECTION) : (real)0.0;
        through[i] = own[i] - (EMPTY[PAR_ROTOR + i] * qdd[i]);
    }
    add_friction(LOSSLESS, x, turn, own);
    for (int i = 0; i < ARMS; i++) {
        const real ratio = EMPTY[PAR_TORQUE_RATIO + i], share = EMPTY[PAR_LOAD + i];
        real left = tau[i] - (ratio * (own[i] + ((WAVES > 0) ? ripple_of(x, i) : (real)0.0)));
        if (share > (real)0.0) { /* what the gears lose of the measured torque */
            real load = through[i] + (left / ratio);
            load /= (real)1.0 + (share * ((load > (real)0.0) ? turn[i] : -turn[i]));
            left -= turn[i] * ratio * share * REAL_ABS(load);
        }
        out[AT_R + i] = left - (turn[i] * EMPTY[PAR_MOTOR_LOAD + i] * REAL_ABS(tau[i]));
        out[AT_C + i] = ratio * column[i];
        out[AT_RATE + i] = qd[i];
        out[AT_TURN + i] = turn[i];
        out[AT_REV + i] = (real)1.0 - REAL_ABS(turn_of(qd[i] * OVER_REVERSAL));
    }
    out[AT_SPEED] = REAL_SQRT(dot(&x[AT_PD], &x[AT_PD]));
    for (int k = 0; k < ROW; k++) {
        if (!(REAL_ABS(out[k]) <= LARGE_RESIDUAL)) {
            return @ID@_RANGE;
        }
    }
    return @ID@_OK;
}

/* Angles, rates, accelerations, torques of the window; the oldest sample is at e->place. */
static void filter(const payload_state *e, real *out)
{
    for (int i = 0; i < DOF; i++) {
        real angle = (real)0.0, rate = (real)0.0, bend = (real)0.0, effort = (real)0.0;
        const real(*own)[4] = KERNEL;
        for (int half = 0; half < 2; half++) {
            const int end = half ? e->place : LENGTH;
            for (int place = half ? 0 : e->place; place < end; place++, own++) {
                const real x = e->window[place][i];
                angle += (*own)[0] * x;
                rate += (*own)[1] * x;
                bend += (*own)[2] * x;
                effort += (*own)[3] * e->window[place][DOF + i];
            }
        }
        out[i] = angle;
        out[DOF + i] = rate;
        out[(2 * DOF) + i] = bend;
        out[(3 * DOF) + i] = effort;
    }
}

/* One sample in the robot's own signs: q, tau. */
static int take(payload_state *e, const real *x)
{
    real filtered[4 * DOF], row[ROW];
    for (int i = 0; i < (2 * DOF); i++) {
        e->window[e->place][i] = x[i];
    }
    e->place = ((e->place + 1) < LENGTH) ? (e->place + 1) : 0;
    e->samples += e->samples < LENGTH;
    e->phase = ((e->phase + 1) < MODEL_STEP) ? (e->phase + 1) : 0;
    if ((e->samples < LENGTH) || (e->phase != 0)) {
        return @ID@_OK;
    }
    filter(e, filtered);
    const int status = model_row(filtered, e->model[e->model_place]);
    if (status != @ID@_OK) {
        return status;
    }
    e->model_place = ((e->model_place + 1) < MODELS) ? (e->model_place + 1) : 0;
    e->models += e->models < MODELS;
    e->model_phase = ((e->model_phase + 1) < ROW_STEP) ? (e->model_phase + 1) : 0;
    if ((e->models < MODELS) || (e->model_phase != 0)) {
        return @ID@_OK;
    }
    for (int i = 0; i < ROW; i++) {
        row[i] = (real)0.0;
    }
    int place = e->model_place;
    for (int k = 0; k < MODELS; k++) {
        for (int i = 0; i < ROW; i++) {
            row[i] += NARROW[k] * e->model[place][i];
        }
        place = ((place + 1) < MODELS) ? (place + 1) : 0;
    }
    step_bank(e, row);
    return @ID@_OK;
}

/* ---- the door */

void @id@_payload_init(@id@_payload *state)
{
    for (int k = 0; k < 3; k++) {
        state->last[k] = (real)0.0;
    }
    for (int k = 0; k < ROW; k++) {
        state->row[k] = (real)0.0;
    }
    for (int k = 0; k < BANK_SIZE; k++) {
        state->chance[k] = (real)0.0;
    }
    state->has_qd = 0;
    state->has_qdd = 0;
    state->has_last = 0;
    state->jumped = 0;
    state->has_pick = 0;
    state->pick_ended = @ID@_NO_EVENT;
    state->pick_mass = (real)0.0;
    state->pick_std = (real)0.0;
    state->clock = 0;
    state->start = 0;
    state->end = 0;
    state->pick_start = 0;
    state->pick_end = 0;
    state->out = NULL;
    state->edge_rows = (real)0.0;
    for (int kind = CLOSING; kind <= OPENING; kind++) {
        state->edge_picks[kind] = (real)0.0;
        state->stray[kind] = (real)0.0;
        for (int k = 0; k < EDGE_DELAYS; k++) {
            state->edge_count[kind][k] = (real)0.0;
        }
    }
    restart(state);
    state->ready = READY;
}

static int admit(payload_state *e, const real *q, const real *qd, const real *qdd,
    const real *tau, real *x)
{
    int status = check_three(q, tau, qd ? qd : q), far = 0;
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
        x[DOF + i] = SIGN[i] * tau[i];
        far = far || (e->has_last && (i < 3) && (REAL_ABS(x[i] - e->last[i % 3]) > REACH));
    }
    if (far != 0) {
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
    real x[2 * DOF];
    const int status = admit(e, q, qd, qdd, tau, x);
    if ((status != @ID@_OK) && (status != @ID@_RESTARTED)) {
        return status;
    }
    e->clock++;
    if (status == @ID@_RESTARTED) {
        close_pick(e);
        restart(e);
    }
    e->holding = ((holding == 0) || (holding == 1)) ? holding : UNKNOWN;
    const int worked = take(e, x);
    if (worked != @ID@_OK) {
        close_pick(e);
        restart(e);
        return worked;
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
    result->pick_ended = 0;
    result->pick_long = 0;
    if (e->ready != READY) {
        return status;
    }
    e->out = result;
    status = update(e, q, qd, qdd, tau, holding);
    e->out = NULL;
    result->mass = e->loaded ? e->mass : (real)0.0;
    result->std = std_of_load(e);
    result->running = e->skip == 0;
    result->loaded = e->loaded;
    return status;
}
