#include "@file@.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef @id@_real real;

#define REAL_ABS(value) @fabs@(value)
#define REAL_SQRT(value) @sqrt@(value)

enum { DOF = @ID@_DOF, LEGS = @legs@ }; /* axes, limbs */

/* Relative to the robot's lengths: what is smaller counts as zero in a denominator. */
static const real TINY = @tiny@;
static const real LARGEST = @ID@_LARGEST;

/* The robot's numbers, constant. SIGN and OFFSET: q_controller = SIGN * q + OFFSET. */
@numbers@

/* Numbers are those of IEEE 754: all bits of the exponent are set where one is NaN or infinite.
 * The bits are looked at, because compilers may assume that there are no such numbers. */
typedef union {
    real value;
    @bits@ bits;
} image;

typedef char real_has_the_size_of_its_bits[(sizeof(real) == sizeof(@bits@)) ? 1 : -1];

static int is_finite(real value)
{
    const @bits@ exponent = @exponent@;
    image number;
    number.value = value;
    return (number.bits & exponent) != exponent;
}

/* ---------------------------------------------------------------- generated functions
 * Straight-line code of the exact model, as the package itself compiles and tests it: `par` holds
 * the robot's numbers, x is read and y written. Those that close the loop return 0, or 1 and leave y
 * where it cannot be closed.
 */

@kernels@

/* ---------------------------------------------------------------- checks */

/* A motion as the generated functions read it: cosines and sines of the arms first. */
enum {
    AT_COS = 0,
    AT_SIN = LEGS,
    AT_QD = 2 * LEGS,
    AT_QDD = AT_QD + DOF,
    AT_P = AT_QDD + DOF,
    AT_PD = AT_P + DOF,
    AT_PDD = AT_PD + DOF,
    AT_FORCE = AT_PDD + DOF,
    AT_PSI = AT_FORCE + DOF, /* cosine and sine of psi */
    AT_BARS = AT_PSI + 2,    /* of the angle of a platform's bars */
    MOTION = AT_BARS + 2
};

static int worse(int a, int b)
{
    return (a == @ID@_OK) ? b : a;
}

static int check(const real *x, int count)
{
    int status = @ID@_OK;
    for (int i = 0; i < count; i++) {
        if (!is_finite(x[i])) {
            return @ID@_NOT_FINITE;
        }
        if (REAL_ABS(x[i]) > LARGEST) {
            status = @ID@_RANGE;
        }
    }
    return status;
}

static int check_three(const real *a, const real *b, const real *c)
{
    const int first = check(a, DOF), second = check(b, DOF), third = check(c, DOF);
    if ((first == @ID@_NOT_FINITE) || (second == @ID@_NOT_FINITE) || (third == @ID@_NOT_FINITE)) {
        return @ID@_NOT_FINITE;
    }
    return worse(first, worse(second, third));
}

static int check_result(const real *x, int count)
{
    for (int i = 0; i < count; i++) {
        if (!is_finite(x[i])) {
            return @ID@_RANGE;
        }
    }
    return @ID@_OK;
}

@limb@
@vectors@
static real own_angle(const real *q, int i)
{
    return SIGN[i] * (q[i] - OFFSET[i]);
}

@platform@
static int motion_of_joints(
    const real *q, const real *qd, const real *qdd, @near_own@real *x)
{
    real own[3][DOF];
    const int status = check_three(q, qd, qdd);
    if (status != @ID@_OK) {
        return status;
    }
    for (int i = 0; i < DOF; i++) {
        own[0][i] = own_angle(q, i);
        own[1][i] = SIGN[i] * qd[i];
        own[2][i] = SIGN[i] * qdd[i];
    }
    return motion_of_own_joints(own[0], own[1], own[2], @near@x);
}

/* ---------------------------------------------------------------- torques, own signs */

/* The robot's numbers with a payload. */
static int numbers_with(real payload, real *par)
{
    const int status = check(&payload, 1);
    for (int i = 0; (status == @ID@_OK) && (i < PAR_COUNT); i++) {
        par[i] = EMPTY[i] + (payload * PER_KG[i]);
    }
    return status;
}

@load@/* Torque of a motion without friction. */
static void torque(const real *par, const real *x, real *tau)
{
    real y[3 * DOF];
    deltadyn_state_torque@kind@_@dof@(par, x, y);
    for (int i = 0; i < DOF; i++) {
        tau[i] = y[i];
    }
}

static real direction_of(real rate)
{
    if (EMPTY[PAR_SMOOTHING] > (real)0.0) {
        return @tanh@(rate * OVER_SMOOTHING);
    }
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
        in[(2 * DOF) + i] = x[AT_QDD + i];
        in[(3 * DOF) + i] = direction[i];
        in[(4 * DOF) + i] = shape;
    }
    deltadyn_friction_@dof@(par, in, tau);
    for (int i = 0; i < DOF; i++) {
        if (EMPTY[PAR_THINNING + i] > (real)0.0) {
            tau[i] += EMPTY[PAR_THINNING + i]
                * @tanh@(x[AT_QD + i] / EMPTY[PAR_THINNING_VELOCITY + i]);
        }
    }
}

/* The angle of an axis in a motion. */
static real angle_of(const real *x, int i)
{
    const int limb = i % LEGS;
    return (i < LEGS) ? joint_of(x[AT_COS + limb], x[AT_SIN + limb]) : x[AT_P + i];
}

/* The ripple that the drives must add. */
static real ripple_of(const real *x, int i)
{
    real sum = (real)0.0;
    for (int wave = 0; wave < WAVES; wave++) {
        const real phase = EMPTY[PAR_RIPPLE_ORDER + wave] * angle_of(x, i);
        sum += (EMPTY[PAR_RIPPLE_COS + (wave * AXES) + i] * @cos@(phase))
            + (EMPTY[PAR_RIPPLE_SIN + (wave * AXES) + i] * @sin@(phase));
    }
    return sum;
}

/* 1 - share: what a motor's torque leaves behind its own loss; `given` has its sign. */
static real left_over(real given, real direction, int i)
{
    const real loss = EMPTY[PAR_MOTOR_LOAD + i] * direction;
    return (real)1.0 - ((given < (real)0.0) ? -loss : loss);
}

/* Torques with friction as the drives count them: ripple, the motors' loss, the drives' scale. */
static void to_drives(const real *x, const real *direction, real *tau)
{
    for (int i = 0; i < DOF; i++) {
        const real needed = tau[i] + ((WAVES > 0) ? ripple_of(x, i) : (real)0.0);
        tau[i] = EMPTY[PAR_TORQUE_RATIO + i] * needed / left_over(needed, direction[i], i);
    }
}

/* The way back: what torques of the drives leave to friction and motion. */
static void from_drives(const real *x, const real *direction, real *tau)
{
    for (int i = 0; i < DOF; i++) {
        const real true_torque = tau[i] / EMPTY[PAR_TORQUE_RATIO + i];
        tau[i] = (true_torque * left_over(true_torque, direction[i], i))
            - ((WAVES > 0) ? ripple_of(x, i) : (real)0.0);
    }
}

@passive@
/* Torque of a motion as the drives count it, own signs; `par` has the payload. */
static int own_torque_of_motion(const real *par, const real *x, real *own)
{
    real direction[DOF];
    torque(par, x, own);
    for (int i = 0; i < DOF; i++) {
        direction[i] = direction_of(x[AT_QD + i]);
    }
    const int status = add_passive(x, 0, own);
    if (status != @ID@_OK) {
        return status;
    }
    add_friction(EMPTY, x, direction, own);
    to_drives(x, direction, own);
    return check_result(own, DOF);
}

static int torque_of_motion(const real *par, const real *x, real *tau)
{
    real own[DOF];
    const int status = own_torque_of_motion(par, x, own);
    for (int i = 0; (status == @ID@_OK) && (i < DOF); i++) {
        tau[i] = SIGN[i] * own[i];
    }
    return status;
}
