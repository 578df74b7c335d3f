/* Random inputs into an export without estimators: no floating-point exception, known statuses.
 * The first argument is how many, 20,000 if it is left out.
 *
 * -DHEADER, -DID (prefix of the names), -DN (axes) and -DHALF (1: functions of joints take a pose).
 */
#include HEADER

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PASTE_2(a, b) a##_##b
#define PASTE(a, b) PASTE_2(a, b)
#define F(name) PASTE(ID, name)
#if HALF
#define NEAR near,
#else
#define NEAR
#endif

typedef F(real) real;

static real any(double scale)
{
    static const double odd[] = { NAN, INFINITY, 1e30, 0.0 };
    const int kind = rand() % 40;
    return (real)(kind < 4 ? odd[kind] : scale * (2.0 * rand() / RAND_MAX - 1.0));
}

int main(int argc, char **argv)
{
    const long count = argc > 1 ? atol(argv[1]) : 20000;
    long seen[10] = { 0 };
    for (long t = 0; t < count; t++) {
        const double scale = pow(10.0, 9.0 * rand() / RAND_MAX - 3.0);
        real a[N], b[N], c[N], near_by[N], x[N], y[N], z[N], M[N * N];
        int status[7];
        for (int i = 0; i < N; i++) {
            a[i] = any(scale);
            b[i] = any(scale);
            c[i] = any(scale);
            near_by[i] = any(scale);
        }
        const real *near = t % 2 ? near_by : NULL;
        (void)near;
        feclearexcept(FE_ALL_EXCEPT);
        status[0] = F(inverse_kinematics)(a, x);
        status[1] = F(joint_rates)(a, b, c, x, y, z);
        status[2] = F(feedforward)(a, b, c, (real)0.5, x);
        status[3] = F(forward_kinematics)(a, NEAR x);
        status[4] = F(feedforward_joints)(a, b, c, NEAR (real)0.5, x);
        status[5] = F(mass_matrix)(a, NEAR (real)0.5, M);
        status[6] = F(forward_dynamics)(a, b, c, NEAR (real)0.5, x);
        if (fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW)) {
            printf("an exception at input %ld\n", t);
            return 1;
        }
        for (int k = 0; k < 7; k++) {
            if (status[k] < 0 || status[k] > 5)
                return 2;
            seen[status[k]]++;
        }
    }
    printf("%ld %ld %ld %ld %ld\n", seen[0], seen[1], seen[2], seen[3], seen[4]);
    return 0;
}
