/* Calls the functions of an exported robot with numbers of all kinds, among them NaN, infinities,
 * numbers too large, denormal numbers, singular and unreachable points. Ends with 1 and a line where a
 * promise is broken: a status without its reason, a result that is not finite, an output that was
 * touched. With -DTRAP floating-point exceptions end the program.
 * Compile with -DHEADER='"name_delta.h"' -DID=name -DPSI=0 or 1, rows of singular points and angles
 * as SINGULAR_P and SINGULAR_Q, and the rate of the samples as SAMPLE_RATE. */
#define _GNU_SOURCE
#include HEADER

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN(a, b) a##_##b
#define PASTE(a, b) JOIN(a, b)
#define F(name) PASTE(ID, name)

typedef F(real) real;
enum { DOF = 3 + PSI, STATUSES = 10 };

static const double SPECIAL[2][3][4] = { { SINGULAR_P }, { SINGULAR_Q } };
static uint64_t seed = 1;
static long told[STATUSES];

static uint64_t bits(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static double uniform(double low, double high)
{
    return low + (high - low) * (double)(bits() >> 11) / 9007199254740992.0;
}

/* One number: mostly as a robot has them, of a size; else something else. */
static real any(double size, int wild)
{
    static const double special[] = { 0.0, -0.0, 1e-300, -4e-320, 1e-40, 1e-20, 0.15, 0.375, 0.9,
        1.5707963267948966, 3.141592653589793, 1e4, 9.9e4, -1e5, 1e6, 1e7, 1e18, 1e30, -1e300 };
    const int kind = (int)(bits() % 100);
    if (kind >= wild)
        return (real)uniform(-size, size);
    switch (kind % 8) {
    case 0: return (real)NAN;
    case 1: return (real)INFINITY;
    case 2: return (real)-INFINITY;
    case 3: {
        const double value = special[bits() % (sizeof special / sizeof special[0])];
        return sizeof(real) == 4 && fabs(value) > FLT_MAX ? (real)FLT_MAX : (real)value;
    }
    case 4: return sizeof(real) == 4 ? (real)FLT_MAX : (real)DBL_MAX;
    case 5: return sizeof(real) == 4 ? (real)FLT_MIN / 2 : (real)(DBL_MIN / 2);
    case 6: return (real)0.0;
    default: return (real)uniform(-1e5, 1e5);
    }
}

static void fill(real *x, double size, int wild)
{
    for (int i = 0; i < DOF; i++)
        x[i] = any(size, wild);
}

static int all_finite(const real *x, int count)
{
    for (int i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return 0;
    return 1;
}

static void fail(const char *what, int kind, int status)
{
    printf("broken: %s, function %d, status %d\n", what, kind, status);
    exit(1);
}

/* Inputs (three rows and a payload), outputs (three rows or a matrix). */
static void model_call(int kind, int wild)
{
    static const real mark = (real)-7.25;
    real a[DOF], b[DOF], c[DOF], out[3][DOF * DOF];
    const real payload = bits() % 4 ? (real)uniform(0.0, 5.0) : any(5.0, wild);
    const int from_platform = kind == 0 || kind == 2 || kind == 4;
    int status = -1, inputs = kind == 0 || kind == 1 || kind == 6 || kind == 7 ? 1 : 3;
    int outputs = kind == 2 || kind == 3 ? 3 : 1, width = kind == 7 ? DOF * DOF : DOF;
    fill(a, from_platform ? 1.0 : 3.2, wild);
    fill(b, 20.0, wild);
    fill(c, 500.0, wild);
    if (bits() % 16 == 0) {
        const double *row = SPECIAL[!from_platform][bits() % 3];
        const double off = bits() % 2 ? pow(10.0, uniform(-18.0, -3.0)) : 0.0;
        for (int i = 0; i < DOF; i++)
            a[i] = (real)(row[i] + off * uniform(-1.0, 1.0));
    }
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < DOF * DOF; i++)
            out[k][i] = mark;
    switch (kind) {
    case 0: status = F(inverse_kinematics)(a, out[0]); break;
    case 1: status = F(forward_kinematics)(a, out[0]); break;
    case 2: status = F(joint_rates)(a, b, c, out[0], out[1], out[2]); break;
    case 3: status = F(platform_rates)(a, b, c, out[0], out[1], out[2]); break;
    case 4: status = F(feedforward)(a, b, c, payload, out[0]); break;
    case 5: status = F(feedforward_joints)(a, b, c, payload, out[0]); break;
    case 6: status = F(gravity_torque)(a, payload, out[0]); break;
    case 7: status = F(mass_matrix)(a, payload, out[0]); break;
    default: status = F(forward_dynamics)(a, b, c, payload, out[0]); break;
    }
    if (status < 0 || status > 5)
        fail("unknown status", kind, status);
    told[status]++;
    const int clean = all_finite(a, DOF) && (inputs == 1 || (all_finite(b, DOF) && all_finite(c, DOF)));
    if (!clean && status != 3)
        fail("an input is not finite", kind, status);
    if (clean && status == 3 && (kind < 4 || isfinite(payload)))
        fail("all inputs are finite", kind, status);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < DOF * DOF; i++) {
            const int written = status == 0 && k < outputs && i < width;
            if (written && !isfinite(out[k][i]))
                fail("result is not finite", kind, status);
            if (!written && out[k][i] != mark)
                fail("output was touched", kind, status);
        }
}

/* A stream that is plausible for a while, with noise of all kinds in between. */
static void estimator_calls(long count, int wild)
{
    F(payload) state;
    F(payload_result) r;
    real q[DOF], qd[DOF], qdd[DOF], tau[DOF];
    const int rates = (int)(bits() % 3);
    memset(&state, 0xa5, sizeof state);
    F(payload_init)(&state);
    const double phase = uniform(0.0, 6.0), size = uniform(0.05, 0.4);
    for (long k = 0; k < count; k++) {
        const double t = (double)k / SAMPLE_RATE;
        const double shift = k < count - 2000 && k % 1000 > 960 ? 0.9 : 0.0;
        const int odd = (int)(bits() % 50) == 0, holding = (int)(bits() % 4000) - 2000;
        for (int i = 0; i < DOF; i++) {
            q[i] = (real)(0.5 + shift + size * sin(9.0 * t + phase + 2.0 * i));
            qd[i] = (real)(size * 9.0 * cos(9.0 * t + phase + 2.0 * i));
            qdd[i] = (real)(-size * 81.0 * sin(9.0 * t + phase + 2.0 * i));
            tau[i] = (real)(uniform(-1.0, 1.0) + 20.0 * sin(30.0 * t + i));
            if (odd && k < count - 2000) {
                q[i] = any(3.0, wild);
                qd[i] = any(30.0, wild);
                qdd[i] = any(300.0, wild);
                tau[i] = any(1e5, wild);
            }
        }
        const int status = F(payload_update)(&state, q, rates > 0 ? qd : NULL,
            rates > 1 ? qdd : NULL, tau, holding >= -1 && holding <= 1 ? holding : -1, &r);
        if (status < 0 || status >= STATUSES || status == 5 || status == 6)
            fail("unknown status", 9, status);
        told[status]++;
        if (!isfinite(r.mass) || isnan(r.std) || !(r.std > 0))
            fail("mass or deviation is no number", 9, status);
        if (!isfinite(r.pick_mass) || !isfinite(r.pick_std) || !isfinite(r.event_age))
            fail("pick is no number", 9, status);
        if (r.event < 0 || r.event > 3)
            fail("unknown event", 9, status);
        if (k >= count - 1000 && (status != 0 || !r.running))
            fail("does not recover on good samples", 9, status);
    }
}

int main(int argc, char **argv)
{
    const long calls = argc > 1 ? atol(argv[1]) : 1000;
    seed = argc > 2 ? (uint64_t)atol(argv[2]) : 1;
#ifdef TRAP
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
#endif
    for (long k = 0; k < calls / 2; k++)
        model_call((int)(k % 9), k % 3 == 0 ? 0 : k % 3 == 1 ? 4 : 40);
    for (long k = 0; k < calls / 2; k += 5000)
        estimator_calls(5000, k % 3 == 0 ? 0 : 50);
    for (int k = 0; k < STATUSES; k++)
        printf("%ld ", told[k]);
    printf("\n");
    return 0;
}
