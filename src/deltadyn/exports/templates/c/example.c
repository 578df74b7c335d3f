/* Build: cc -std=c99 -O2 example.c @file@.c -lm -o example */
#include "@file@.h"

#include <math.h>
#include <stdio.h>

enum { DOF = @ID@_DOF };
typedef @id@_real real;

static const double PI = 3.14159265358979323846;

/* The platform swings along x by 50 mm at 2 Hz. */
static void platform_at(double t, real *p, real *pd, real *pdd)
{
    static const real middle[DOF] = { @place@ };
    const double w = 4.0 * PI, size = 0.05;
    for (int i = 0; i < DOF; i++) {
        p[i] = middle[i];
        pd[i] = pdd[i] = 0;
    }
    p[0] = (real)(size * sin(w * t));
    pd[0] = (real)(size * w * cos(w * t));
    pdd[0] = (real)(-size * w * w * sin(w * t));
}

int main(void)
{
    real p[DOF], pd[DOF], pdd[DOF], q[DOF], qd[DOF], qdd[DOF], tau[DOF];
    const real held = (real)1.5; /* kg, from half a second on */
    @id@_payload estimator;
    @id@_payload_result result = { 0 };

    platform_at(0.05, p, pd, pdd);
    if (@id@_feedforward(p, pd, pdd, @ID@_OWN_PAYLOAD, tau) != @ID@_OK) {
        return 1;
    }
    printf("@torque@ in @tau_unit@:");
    for (int i = 0; i < DOF; i++) {
        printf(" %.6f", (double)tau[i]);
    }
    printf("\n");

    @id@_payload_init(&estimator);
    for (long k = 0; k < (long)@ID@_RATE; k++) {
        const double t = (double)k / @ID@_RATE;
        platform_at(t, p, pd, pdd);
        if (@id@_joint_rates(p, pd, pdd, q, qd, qdd) != @ID@_OK) {
            return 1;
        }
        const int holding = t >= 0.5; /* the gripper's signal; -1 where there is none */
        if (@id@_feedforward(p, pd, pdd, holding ? held : 0, tau) != @ID@_OK) {
            return 1;
        }
        if (@id@_payload_update(&estimator, q, NULL, NULL, tau, holding, &result) != @ID@_OK) {
            return 1;
        }
        if (result.event == @ID@_PICK) {
            printf("t = %.3f s: pick\n", t);
        }
    }
    printf("payload %.3f kg +- %.3f\n", (double)result.mass, (double)result.std);
    return 0;
}
