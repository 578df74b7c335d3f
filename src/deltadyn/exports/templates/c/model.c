#include "@file@.h"

#include <math.h>
#include <stddef.h>

typedef @id@_real real;

#define INLINE static
#define REAL_ABS(value) @fabs@(value)
#define REAL_SQRT(value) root(value)

enum { DOF = @ID@_DOF };

/* Relative to the robot's lengths: what is smaller counts as zero in a denominator. */
static const real TINY = @tiny@;
static const real LARGEST = @ID@_LARGEST;

/* The robot's numbers, constant. SIGN and OFFSET: q_controller = SIGN * q + OFFSET. */
@numbers@

/* Square root that marks a point out of reach by NaN and raises no floating-point exception. */
static real root(real value)
{
    return value >= (real)0.0 ? @sqrt@(value) : (real)NAN;
}

/* ---------------------------------------------------------------- generated functions
 * Straight-line code of the exact model, as the package itself compiles and tests it: `par` holds
 * the robot's numbers, x and y are columns with a stride. Written by tools/generate_kernels.py.
 */

@kernels@

/* ---------------------------------------------------------------- checks */

/* A motion as the generated functions read it: cosines and sines of the arms first. */
enum {
    AT_COS = 0,
    AT_SIN = 3,
    AT_QD = 6,
    AT_QDD = AT_QD + DOF,
    AT_P = AT_QDD + DOF,
    AT_PD = AT_P + DOF,
    AT_PDD = AT_PD + DOF,
    AT_FORCE = AT_PDD + DOF,
    AT_PSI = AT_FORCE + DOF, /* cosine and sine of psi */
    MOTION = AT_PSI + 2
};

static int worse(int a, int b)
{
    return a == @ID@_OK ? b : a;
}

static int check(const real *x, int count)
{
    int status = @ID@_OK;
    for (int i = 0; i < count; i++) {
        if (!isfinite(x[i]))
            return @ID@_NOT_FINITE;
        if (REAL_ABS(x[i]) > LARGEST)
            status = @ID@_RANGE;
    }
    return status;
}

static int check_three(const real *a, const real *b, const real *c)
{
    const int first = check(a, DOF), second = check(b, DOF), third = check(c, DOF);
    if (first == @ID@_NOT_FINITE || second == @ID@_NOT_FINITE || third == @ID@_NOT_FINITE)
        return @ID@_NOT_FINITE;
    return worse(first, worse(second, third));
}

static int check_result(const real *x, int count)
{
    for (int i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return @ID@_RANGE;
    return @ID@_OK;
}

@limb@
static void cross(const real *a, const real *b, real *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static real dot(const real *a, const real *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* cos, sin (6) of the arms at p. */
static int arms_at(const real *p, real *arms)
{
    for (int i = 0; i < 3; i++)
        if (!has_place(i, p))
            return @ID@_SINGULAR;
    deltadyn_inverse_kinematics@kind@(EMPTY, p, arms, 1);
    for (int i = 0; i < 6; i++)
        if (arms[i] != arms[i])
            return @ID@_UNREACHABLE;
    return @ID@_OK;
}

/* Platform point of arms at x[0..5] = cos, sin: the elbows must span a plane. */
static int point_at(const real *arms, real *p)
{
    real E[3][3], a[3], b[3], n[3], x[9];
    real size = EMPTY[LIMB_STRUT];
    for (int i = 0; i < 3; i++) {
        elbow(i, arms[i], arms[3 + i], E[i]);
        const real own = EMPTY[LIMB * i + LIMB_STRUT];
        size = own > size ? own : size;
    }
    for (int k = 0; k < 3; k++) {
        a[k] = E[1][k] - E[0][k];
        b[k] = E[2][k] - E[0][k];
    }
    cross(a, b, n);
    size *= TINY * size;
    if (!(dot(n, n) > size * size))
        return @ID@_SINGULAR;
    for (int i = 0; i < 3; i++)
        x[i] = @joint_in@
    for (int i = 0; i < 6; i++)
        x[3 + i] = arms[i];
    deltadyn_forward_kinematics@kind@(EMPTY, x, p, 1);
    return p[0] != p[0] || p[1] != p[1] || p[2] != p[2] ? @ID@_UNREACHABLE : @ID@_OK;
}

/* Struts that span the space, and with `levers` drives that push along them. */
static int solvable(const real *arms, const real *p, int levers)
{
    real s[3][3], n[3], size = (real)1.0;
    for (int i = 0; i < 3; i++) {
        const real l2 = EMPTY[LIMB * i + LIMB_STRUT];
        real E[3];
        elbow(i, arms[i], arms[3 + i], E);
        for (int k = 0; k < 3; k++)
            s[i][k] = p[k] - E[k];
        const real d = along_way(i, arms[i], arms[3 + i], s[i]);
        if (levers && !(REAL_ABS(d) > TINY * lever_of(i) * l2))
            return @ID@_SINGULAR;
        size *= l2;
    }
    cross(s[1], s[2], n);
    return REAL_ABS(dot(s[0], n)) > TINY * size ? @ID@_OK : @ID@_SINGULAR;
}

#if @ID@_DOF == 4
/* A spindle that has a length and is not along its fork's axis (cos psi, sin psi, 0). */
static int spindle_free(const real *p, real cosine, real sine)
{
    const real z = p[2] - EMPTY[PAR_SPINDLE], along = p[0] * cosine + p[1] * sine;
    const real l2 = p[0] * p[0] + p[1] * p[1] + z * z, size = TINY * EMPTY[LIMB_STRUT];
    return l2 > size * size && l2 - along * along > TINY * l2 ? @ID@_OK : @ID@_SINGULAR;
}
#endif

/* What the motion needs besides p, pd, pdd, qd, qdd and the arms. */
static int complete(real *x)
{
    for (int i = 0; i < DOF; i++)
        x[AT_FORCE + i] = (real)0.0;
    x[AT_PSI] = (real)1.0;
    x[AT_PSI + 1] = (real)0.0;
#if @ID@_DOF == 4
    x[AT_PSI] = @cos@(x[AT_P + 3]);
    x[AT_PSI + 1] = @sin@(x[AT_P + 3]);
    return spindle_free(x + AT_P, x[AT_PSI], x[AT_PSI + 1]);
#else
    return @ID@_OK;
#endif
}

/* ---------------------------------------------------------------- motions */

static real own_angle(const real *q, int i)
{
    return SIGN[i] * (q[i] - OFFSET[i]);
}

/* The platform's motion in the robot's own signs; psi is the same number at both ends. */
static int motion_of_platform(const real *p, const real *pd, const real *pdd, real *x)
{
    real in[9], y[12], arms[6];
    int status = check_three(p, pd, pdd);
    if (status == @ID@_OK)
        status = arms_at(p, arms);
    if (status == @ID@_OK)
        status = solvable(arms, p, 1);
    if (status != @ID@_OK)
        return status;
    for (int i = 0; i < 3; i++) {
        in[i] = p[i];
        in[3 + i] = pd[i];
        in[6 + i] = pdd[i];
    }
    deltadyn_platform_state@kind@(EMPTY, in, y, 1);
    for (int i = 0; i < DOF; i++) {
        x[AT_QD + i] = i < 3 ? y[6 + i] : pd[i];
        x[AT_QDD + i] = i < 3 ? y[9 + i] : pdd[i];
        x[AT_P + i] = p[i];
        x[AT_PD + i] = pd[i];
        x[AT_PDD + i] = pdd[i];
    }
    for (int i = 0; i < 6; i++)
        x[i] = y[i];
    return complete(x);
}

/* The same from joints that are in the robot's own signs already. */
static int motion_of_own_joints(const real *q, const real *qd, const real *qdd, real *x)
{
    real in[15], y[15];
    for (int i = 0; i < 3; i++) {
        in[i] = q[i];
        in[3 + i] = qd[i];
        in[6 + i] = qdd[i];
        pair_of(q[i], x + AT_COS + i, x + AT_SIN + i);
        in[9 + i] = x[AT_COS + i];
        in[12 + i] = x[AT_SIN + i];
    }
    int status = point_at(x, x + AT_P);
    if (status == @ID@_OK)
        status = solvable(x, x + AT_P, 0);
    if (status != @ID@_OK)
        return status;
    deltadyn_joint_state@kind@(EMPTY, in, y, 1);
    for (int i = 0; i < DOF; i++) {
        x[AT_QD + i] = qd[i];
        x[AT_QDD + i] = qdd[i];
        x[AT_P + i] = i < 3 ? y[6 + i] : q[i];
        x[AT_PD + i] = i < 3 ? y[9 + i] : qd[i];
        x[AT_PDD + i] = i < 3 ? y[12 + i] : qdd[i];
    }
    return complete(x);
}

static int motion_of_joints(const real *q, const real *qd, const real *qdd, real *x)
{
    real own[3][DOF];
    const int status = check_three(q, qd, qdd);
    if (status != @ID@_OK)
        return status;
    for (int i = 0; i < DOF; i++) {
        own[0][i] = own_angle(q, i);
        own[1][i] = SIGN[i] * qd[i];
        own[2][i] = SIGN[i] * qdd[i];
    }
    return motion_of_own_joints(own[0], own[1], own[2], x);
}

/* ---------------------------------------------------------------- torques, own signs */

/* The robot's numbers with a payload. */
static int numbers_with(real payload, real *par)
{
    const int status = check(&payload, 1);
    for (int i = 0; status == @ID@_OK && i < PAR_COUNT; i++)
        par[i] = EMPTY[i] + payload * PER_KG[i];
    return status;
}

/* Torque of a motion without friction. */
static void torque(const real *par, const real *x, real *tau)
{
    real y[3 * DOF];
    deltadyn_state_torque@kind@_@dof@(par, x, y, 1);
    for (int i = 0; i < DOF; i++)
        tau[i] = y[i];
}

static real direction_of(real rate)
{
    if (EMPTY[PAR_SMOOTHING] > (real)0.0)
        return @tanh@(rate * OVER_SMOOTHING);
    return (real)(rate > (real)0.0) - (real)(rate < (real)0.0);
}

/* Adds the drives' friction to tau, for directions between -1 and 1. */
static void add_friction(const real *par, const real *x, const real *direction, real *tau)
{
    real in[5 * DOF];
    for (int i = 0; i < DOF; i++) {
        const real velocity = EMPTY[PAR_STRIBECK_VELOCITY + i];
        real shape = (real)0.0;
        if (velocity > (real)0.0) {
            const real ratio = x[AT_QD + i] / velocity;
            shape = @exp@(-ratio * ratio);
        }
        in[i] = tau[i];
        in[DOF + i] = x[AT_QD + i];
        in[2 * DOF + i] = x[AT_QDD + i];
        in[3 * DOF + i] = direction[i];
        in[4 * DOF + i] = shape;
    }
    deltadyn_friction_@dof@(par, in, tau, 1);
    for (int i = 0; i < DOF; i++)
        if (EMPTY[PAR_THINNING + i] > (real)0.0)
            tau[i] += EMPTY[PAR_THINNING + i]
                * @tanh@(x[AT_QD + i] / EMPTY[PAR_THINNING_VELOCITY + i]);
}

/* The angle of an axis in a motion. */
static real angle_of(const real *x, int i)
{
    return i < 3 ? joint_of(x[AT_COS + i % 3], x[AT_SIN + i % 3]) : x[AT_P + i];
}

/* The ripple that the drives must add. */
static real ripple_of(const real *x, int i)
{
    real sum = (real)0.0;
    for (int wave = 0; wave < WAVES; wave++) {
        const real phase = EMPTY[PAR_RIPPLE_ORDER + wave] * angle_of(x, i);
        sum += EMPTY[PAR_RIPPLE_COS + wave * AXES + i] * @cos@(phase)
            + EMPTY[PAR_RIPPLE_SIN + wave * AXES + i] * @sin@(phase);
    }
    return sum;
}

/* 1 - share: what a motor's torque leaves behind its own loss; `torque` has its sign. */
static real left_over(real torque, real direction, int i)
{
    const real loss = EMPTY[PAR_MOTOR_LOAD + i] * direction;
    return (real)1.0 - (torque < (real)0.0 ? -loss : loss);
}

/* Torques with friction as the drives count them: ripple, the motors' loss, the drives' scale. */
static void to_drives(const real *x, const real *direction, real *tau)
{
    for (int i = 0; i < DOF; i++) {
        const real needed = tau[i] + (WAVES > 0 ? ripple_of(x, i) : (real)0.0);
        tau[i] = EMPTY[PAR_TORQUE_RATIO + i] * needed / left_over(needed, direction[i], i);
    }
}

/* The way back: what torques of the drives leave to friction and motion. */
static void from_drives(const real *x, const real *direction, real *tau)
{
    for (int i = 0; i < DOF; i++) {
        const real true_torque = tau[i] / EMPTY[PAR_TORQUE_RATIO + i];
        tau[i] = true_torque * left_over(true_torque, direction[i], i)
            - (WAVES > 0 ? ripple_of(x, i) : (real)0.0);
    }
}

@passive@
/* Torque of a motion as the drives count it, own signs. */
static int own_torque_of_motion(const real *x, real payload, real *own)
{
    real par[PAR_COUNT], direction[DOF];
    int status = numbers_with(payload, par);
    if (status != @ID@_OK)
        return status;
    torque(par, x, own);
    for (int i = 0; i < DOF; i++)
        direction[i] = direction_of(x[AT_QD + i]);
    status = add_passive(x, 0, own);
    if (status != @ID@_OK)
        return status;
    add_friction(EMPTY, x, direction, own);
    to_drives(x, direction, own);
    return check_result(own, DOF);
}

static int torque_of_motion(const real *x, real payload, real *tau)
{
    real own[DOF];
    const int status = own_torque_of_motion(x, payload, own);
    for (int i = 0; status == @ID@_OK && i < DOF; i++)
        tau[i] = SIGN[i] * own[i];
    return status;
}
