/* Runs an export's self-tests on the target and counts instructions per call.
 * Compile with -DHEADER='"name_delta.h"' -DID=name -DIDUP=NAME -DPLACE={x, y, z}; with -DBARE where there is no payload
 * estimator. With -icount shift=8 an instruction takes 256 ns and SysTick counts 25 in 1000 ns: 6.4. */
#include HEADER

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JOIN(a, b) a##_##b
#define PASTE(a, b) JOIN(a, b)
#define F(name) PASTE(ID, name)

typedef F(real) real;
enum { DOF = PASTE(IDUP, DOF), SAMPLES = 2000 };

static volatile uint32_t *const TICK = (uint32_t *)0xE000E010u; /* control, reload, value */
static double spent, most, sum;
static long calls;

static void begin(void)
{
    TICK[1] = 0xFFFFFFu;
    TICK[2] = 0;
    TICK[0] = 5; /* the processor's clock, no interrupt */
    most = sum = 0;
    calls = 0;
}

static uint32_t now(void)
{
    return TICK[2];
}

static void took(uint32_t first, uint32_t last)
{
    spent = (double)((first - last) & 0xFFFFFFu) / 6.4;
    most = spent > most ? spent : most;
    sum += spent;
    calls++;
}

static void tell(const char *what)
{
    printf("%s %.0f %.0f\n", what, most, sum / (double)calls);
}

static void platform_at(long k, real *p, real *pd, real *pdd)
{
    static const real middle[] = PLACE;
    const double w = 8.0 * 3.14159265358979, t = (double)k / 1000.0, size = 0.04;
    for (int i = 0; i < DOF; i++) {
        p[i] = middle[i];
        pd[i] = pdd[i] = 0;
    }
    for (int i = 0; i < 2; i++) {
        p[i] += (real)(size * sin(w * t + i));
        pd[i] = (real)(size * w * cos(w * t + i));
        pdd[i] = (real)(-size * w * w * sin(w * t + i));
    }
}

#define MEASURE(call)                     \
    do {                                  \
        const uint32_t first = now();     \
        const int status = (call);        \
        const uint32_t last = now();      \
        took(first, last);                \
        if (status != 0) {                \
            printf("status %d\n", status); \
            return 1;                     \
        }                                 \
    } while (0)

#define SERIES(what, call)                        \
    begin();                                      \
    for (long k = 0; k < 100; k++) {              \
        platform_at(k, p, pd, pdd);               \
        if (F(joint_rates)(p, pd, pdd, q, qd, qdd) != 0) \
            return 1;                             \
        MEASURE(call);                            \
    }                                             \
    tell(what)

static int nothing(void)
{
    return 0;
}

int main(void)
{
    real p[DOF], pd[DOF], pdd[DOF], q[DOF], qd[DOF], qdd[DOF], out[DOF], error = 0;
    const int failed = F(self_test)(&error);
    printf("self_test %d %.3g\n", failed, (double)error);
    if (failed != 0)
        return 1;
    SERIES("nothing", nothing());
    SERIES("inverse_kinematics", F(inverse_kinematics)(p, out));
    SERIES("forward_kinematics", F(forward_kinematics)(q, out));
    SERIES("feedforward", F(feedforward)(p, pd, pdd, 1, out));
    SERIES("feedforward_joints", F(feedforward_joints)(q, qd, qdd, 1, out));
    SERIES("forward_dynamics", F(forward_dynamics)(q, qd, qdd, 1, out));
#ifndef BARE
    static F(payload) weigher;
    F(payload_result) seen;
    F(payload_init)(&weigher);
    begin();
    for (long k = 0; k < SAMPLES; k++) {
        platform_at(k, p, pd, pdd);
        const real load = k > SAMPLES / 3 && k < 2 * SAMPLES / 3 ? (real)1.5 : (real)0.0;
        if (F(joint_rates)(p, pd, pdd, q, qd, qdd) != 0 || F(feedforward)(p, pd, pdd, load, out) != 0)
            return 1;
        MEASURE(F(payload_update)(&weigher, q, NULL, NULL, out, -1, &seen));
    }
    tell("payload_update");
#endif
    return 0;
}
