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

    platform_at(0.05, p, pd, pdd);
    if (@id@_feedforward(p, pd, pdd, @ID@_OWN_PAYLOAD, tau) != @ID@_OK) {
        return 1;
    }
    printf("@torque@ in @tau_unit@:");
    for (int i = 0; i < DOF; i++) {
        printf(" %.6f", (double)tau[i]);
    }
    printf("\n");
    if (@id@_joint_rates(p, pd, pdd, q, qd, qdd) != @ID@_OK) {
        return 1;
    }
    printf("q in @q_unit@:");
    for (int i = 0; i < DOF; i++) {
        printf(" %.6f", (double)q[i]);
    }
    printf("\n");
    if (@id@_forward_kinematics(q, @near_null@p) != @ID@_OK) {
        return 1;
    }
    printf("p:");
    for (int i = 0; i < DOF; i++) {
        printf(" %.6f", (double)p[i]);
    }
    printf("\n");
    return 0;
}
