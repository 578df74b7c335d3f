/* ---------------------------------------------------------------- motions of two halves
 * Limbs 1, 2 hold half 1 and limbs 3, 4 half 2, each at its offset from p along the direction that
 * psi moves it. The pose of joints has no closed form: Newton's method finds it from a pose nearby.
 */

enum { MOST_LEGS = 64, ROUNDS = 2, LAST = 12 }; /* of the way to the joints; steps on it, at its end */
static const real STRIDE = @stride@; /* of a joint between two legs of the way */
static const real CLOSED = @closed@; /* of l2^2: what is left where the loop is closed */
static const real SAME = @same@;     /* of a length: a step that changes nothing */
static const real ELBOW_TOLERANCE = @elbow_tolerance@; /* of l2: between elbows of the same joints */
static const real FOLD_RATIO = @fold_ratio@; /* largest moved^2 / (l2 travel), see is_good */
static const real MOST_TURN = @most_turn@; /* rad: the farthest that psi is followed from a pose */

/* cosine, sine of the bars' angle at a pose. */
static void bars_at(const real *p, real *bars)
{
    const real phi = EMPTY[PAR_CARRIER] + (p[3] * EMPTY[PAR_CARRIER + 1]);
    bars[0] = @cos@(phi);
    bars[1] = @sin@(phi);
}

@halves@
/* The struts (4 x 3) of limbs at a pose, and N12.(N34 x a), which is 0 at a singular pose, with the
 * size that it has elsewhere. */
static real struts_at(const real *arms, const real *p, const real *bars, real s[LEGS][3], real *size)
{
    real along[3], n12[3], n34[3], normal[3];
    *size = (real)1.0;
    for (int i = 0; i < LEGS; i++) {
        real E[3], a[3];
        elbow(i, arms[i], arms[LEGS + i], E);
        attachment(i, p, bars, a);
        for (int k = 0; k < 3; k++) {
            s[i][k] = a[k] - E[k];
        }
        *size *= EMPTY[(LIMB * i) + LIMB_STRUT];
    }
    apart_along(bars, along);
    cross(s[0], s[1], n12);
    cross(s[2], s[3], n34);
    cross(n34, along, normal);
    *size *= TINY;
    /* two struts of a half in line have no plane */
    if (!((dot(n12, n12) > *size) && (dot(n34, n34) > *size))) {
        return (real)0.0;
    }
    return dot(n12, normal);
}

/* cos, sin (8) of the arms at p. */
static int arms_at(const real *p, real *arms)
{
    real in[DOF + 2], a[3];
    bars_at(p, &in[DOF]);
    for (int i = 0; i < LEGS; i++) {
        attachment(i, p, &in[DOF], a);
        if (!has_place(i, a)) {
            return @ID@_SINGULAR;
        }
    }
    for (int i = 0; i < DOF; i++) {
        in[i] = p[i];
    }
    return (deltadyn_inverse_kinematics@kind@(EMPTY, in, arms) == 0) ? @ID@_OK : @ID@_UNREACHABLE;
}

/* How far the elbow of a limb moves between arms, the sum along two directions. */
static real elbow_travel(int limb, const real *first, const real *second)
{
    return lever_of(limb) * (REAL_ABS(second[limb] - first[limb])
        + REAL_ABS(second[LEGS + limb] - first[LEGS + limb]));
}

/* Whether a pose that closes the loops of joints q belongs to them: joints that close none can lead
 * Newton's method anywhere. The inverse kinematics gives the joints back, and the pose is near the
 * start: beside a fold of the loops, the worst place, moved^2 = 2 R travel with R about l2. */
static int is_good(const real *q, const real *start, const real *p)
{
    real before[2 * LEGS], back[2 * LEGS], now[2 * LEGS];
    real travel = (real)0.0, strut = (real)0.0, moved = halves_move(p[3] - start[3]);
    if ((arms_at(start, before) != @ID@_OK) || (arms_at(p, back) != @ID@_OK)) {
        return 0;
    }
    for (int i = 0; i < LEGS; i++) {
        const real l2 = EMPTY[(LIMB * i) + LIMB_STRUT];
        pair_of(q[i], &now[i], &now[LEGS + i]);
        if (!(elbow_travel(i, back, now) <= (ELBOW_TOLERANCE * l2))) {
            return 0;
        }
        travel += elbow_travel(i, before, now);
        strut += l2 / (real)LEGS;
    }
    for (int i = 0; i < 3; i++) {
        moved += REAL_ABS(p[i] - start[i]);
    }
    /* bars that turned by more than half a turn are where they would be with a turn less */
    return ((moved * moved) <= (FOLD_RATIO * strut * (travel + (CLOSED * strut))))
        && (REAL_ABS(p[3] - start[3]) <= MOST_TURN);
}

/* Halves that the struts hold, and with `levers` drives that push along them. */
static int solvable(const real *arms, const real *p, int levers)
{
    real s[LEGS][3], bars[2], size;
    bars_at(p, bars);
    const real volume = struts_at(arms, p, bars, s, &size);
    for (int i = 0; levers && (i < LEGS); i++) {
        const real d = along_way(i, arms[i], arms[LEGS + i], s[i]);
        if (!(REAL_ABS(d) > (TINY * lever_of(i) * EMPTY[(LIMB * i) + LIMB_STRUT]))) {
            return @ID@_SINGULAR;
        }
    }
    return (REAL_ABS(volume) > size) ? @ID@_OK : @ID@_SINGULAR;
}

/* What a row of Newton's method reads: pose, joints, then cosines and sines where limbs turn. */
enum { AT_JOINTS = DOF, AT_PAIRS = DOF + LEGS, STEP = AT_PAIRS + (2 * LEGS) + 2 };

/* A step towards the pose of joints q; `left` is what |s|^2 - l2^2 was before it, of l2^2. */
static int step_towards(const real *q, real *p, real *left, real *side)
{
    real in[STEP], arms[2 * LEGS], y[DOF + LEGS + 1], s[LEGS][3], size;
    real *bars = &in[@bars_place@];
    for (int i = 0; i < LEGS; i++) {
        pair_of(q[i], &arms[i], &arms[LEGS + i]);
        in[i] = p[i];
        in[AT_JOINTS + i] = q[i];
    }
    for (int i = 0; i < (2 * LEGS); i++) {
        in[AT_PAIRS + i] = arms[i];
    }
    bars_at(p, bars);
    *side = struts_at(arms, p, bars, s, &size);
    if (!(REAL_ABS(*side) > size)) {
        return @ID@_SINGULAR;
    }
    if (deltadyn_pose_step@kind@(EMPTY, in, y) != 0) {
        return @ID@_UNREACHABLE;
    }
    *left = (real)0.0;
    for (int i = 0; i < LEGS; i++) {
        const real l2 = EMPTY[(LIMB * i) + LIMB_STRUT], own = REAL_ABS(y[DOF + i]) / (l2 * l2);
        *left = (own > *left) ? own : *left;
    }
    if (check(y, DOF) != @ID@_OK) {
        return @ID@_UNREACHABLE;
    }
    for (int i = 0; i < DOF; i++) {
        p[i] = y[i];
    }
    return @ID@_OK;
}

/* The pose of joints q, led there from the joints of a pose nearby in the same assembly. */
static int point_of(const real *q, const real *arms, const real *near, real *p)
{
    real first[LEGS], begin[2 * LEGS], way[LEGS], now[LEGS], x[DOF], most = (real)0.0;
    real left = (real)0.0, side = (real)0.0, before = (real)0.0;
    const real *start = near ? near : &EMPTY[PAR_HOME];
    (void)arms;
    int status = check(start, DOF);
    if (status == @ID@_OK) {
        status = arms_at(start, begin);
    }
    if (status != @ID@_OK) {
        return status;
    }
    for (int i = 0; i < LEGS; i++) {
        x[i] = start[i];
        first[i] = joint_of(begin[i], begin[LEGS + i]);
        way[i] = shortest(q[i] - first[i]);
        most = (REAL_ABS(way[i]) > most) ? REAL_ABS(way[i]) : most;
    }
    int legs = (most < (STRIDE * (real)MOST_LEGS)) ? (1 + (int)(most / STRIDE)) : MOST_LEGS;
    for (int k = 1; k <= legs; k++) {
        for (int i = 0; i < LEGS; i++) {
            now[i] = (k < legs) ? (first[i] + (way[i] * (real)k / (real)legs)) : q[i];
        }
        for (int round = 0; round < ((k < legs) ? ROUNDS : LAST); round++) {
            const real old[DOF] = { x[0], x[1], x[2], x[3] };
            status = step_towards(now, x, &left, &side);
            if (status != @ID@_OK) {
                return status;
            }
            if (before == (real)0.0) {
                before = side;
            }
            if ((k == legs) && (left < SAME) && ((REAL_ABS(old[0] - x[0]) + REAL_ABS(old[1] - x[1])
                    + REAL_ABS(old[2] - x[2]) + REAL_ABS(old[3] - x[3])) < SAME)) {
                break;
            }
        }
    }
    /* the loop is closed, no singular pose was crossed on the way, and the pose is that of q */
    const int same = (side > (real)0.0) == (before > (real)0.0);
    if (!(left <= CLOSED) || !same || !is_good(q, start, x)) {
        return @ID@_UNREACHABLE;
    }
    for (int i = 0; i < DOF; i++) {
        p[i] = x[i];
    }
    return @ID@_OK;
}

/* What the motion needs besides p, pd, pdd, qd, qdd and the arms. */
static void complete(real *x)
{
    for (int i = 0; i < DOF; i++) {
        x[AT_FORCE + i] = (real)0.0;
    }
    x[AT_PSI] = @cos@(x[AT_P + 3]);
    x[AT_PSI + 1] = @sin@(x[AT_P + 3]);
    bars_at(&x[AT_P], &x[AT_BARS]);
}

/* The platform's motion in the robot's own signs. */
static int motion_of_platform(const real *p, const real *pd, const real *pdd, real *x)
{
    real in[(3 * DOF) + 2], y[4 * LEGS], arms[2 * LEGS];
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
    bars_at(p, &in[3 * DOF]);
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
static int motion_of_own_joints(
    const real *q, const real *qd, const real *qdd, const real *near, real *x)
{
    real in[(4 * DOF) + (2 * LEGS) + 2], y[4 * DOF];
    real point[DOF] = { (real)0.0, (real)0.0, (real)0.0, (real)0.0 };
    for (int i = 0; i < LEGS; i++) {
        real cosine = (real)0.0, sine = (real)0.0;
        pair_of(q[i], &cosine, &sine);
        x[AT_COS + i] = cosine;
        x[AT_SIN + i] = sine;
        in[DOF + i] = q[i];
        in[(2 * DOF) + i] = qd[i];
        x[AT_QD + i] = qd[i];
        in[(3 * DOF) + i] = qdd[i];
        x[AT_QDD + i] = qdd[i];
        in[(4 * DOF) + i] = cosine;
        in[(5 * DOF) + i] = sine;
    }
    int status = point_of(q, x, near, point);
    if (status == @ID@_OK) {
        status = solvable(x, point, 0);
    }
    if (status != @ID@_OK) {
        return status;
    }
    for (int i = 0; i < DOF; i++) {
        x[AT_P + i] = point[i];
        in[i] = point[i];
    }
    bars_at(in, &in[@bars_behind@]);
    if (deltadyn_joint_state@kind@(EMPTY, in, y) != 0) {
        return @ID@_UNREACHABLE;
    }
    for (int i = 0; i < (2 * DOF); i++) {
        x[AT_PD + i] = y[(2 * LEGS) + i];
    }
    complete(x);
    return @ID@_OK;
}

