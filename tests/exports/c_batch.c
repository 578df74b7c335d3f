/* Runs the functions of an exported robot over many rows, for a caller that loads this library.
 * Compile with -DHEADER='"name_delta.h"' -DID=name; with -DBARE where there are no estimators, with
 * -DHALVES where functions of joints need a pose nearby: they are left out then. */
#include HEADER

#include <stddef.h>

#define JOIN(a, b) a##_##b
#define PASTE(a, b) JOIN(a, b)
#define F(name) PASTE(ID, name)

typedef F(real) real;
enum { DOF = 3 + PSI };

void batch(int kind, long count, const real *a, const real *b, const real *c, real payload,
    real *x, real *y, real *z, int *status)
{
    for (long k = 0; k < count; k++) {
        const long i = k * DOF;
        switch (kind) {
        case 0: status[k] = F(inverse_kinematics)(a + i, x + i); break;
        case 2: status[k] = F(joint_rates)(a + i, b + i, c + i, x + i, y + i, z + i); break;
        case 4: status[k] = F(feedforward)(a + i, b + i, c + i, payload, x + i); break;
#ifndef HALVES
        case 1: status[k] = F(forward_kinematics)(a + i, x + i); break;
        case 3: status[k] = F(platform_rates)(a + i, b + i, c + i, x + i, y + i, z + i); break;
        case 5: status[k] = F(feedforward_joints)(a + i, b + i, c + i, payload, x + i); break;
        case 6: status[k] = F(gravity_torque)(a + i, payload, x + i); break;
        case 7: status[k] = F(mass_matrix)(a + i, payload, x + DOF * i); break;
        case 8: status[k] = F(forward_dynamics)(a + i, b + i, c + i, payload, x + i); break;
#endif
        default: status[k] = -1;
        }
    }
}

#ifndef BARE
int state_size(void)
{
    return (int)sizeof(F(payload));
}

/* numbers: mass, std, event_age, pick_mass, pick_std, pick_time; flags: event, running, loaded,
 * finished, status. The state is given, so that a stream may come in pieces. */
void estimate(void *state, int begin, long count, const real *q, const real *qd, const real *qdd,
    const real *tau, const int *holding, real *numbers, int *flags)
{
    F(payload) *own = state;
    F(payload_result) r;
    if (begin)
        F(payload_init)(own);
    for (long k = 0; k < count; k++) {
        const long i = k * DOF;
        real *out = numbers + 6 * k;
        int *flag = flags + 5 * k;
        flag[4] = F(payload_update)(own, q + i, qd ? qd + i : NULL, qdd ? qdd + i : NULL, tau + i,
            holding ? holding[k] : -1, &r);
        out[0] = r.mass;
        out[1] = r.std;
        out[2] = r.event_age;
        out[3] = r.pick_mass;
        out[4] = r.pick_std;
        out[5] = r.pick_time;
        flag[0] = r.event;
        flag[1] = r.running;
        flag[2] = r.loaded;
        flag[3] = r.finished;
    }
}

int payload_self_test(void *state, real *error)
{
    return F(payload_self_test)(state, error);
}
#endif

#ifdef FORCE
int force_state_size(void)
{
    return (int)sizeof(F(force));
}

int self_test(void *state, real *error)
{
    return F(force_self_test)(state, error);
}

void acknowledge(void *state)
{
    F(force_acknowledge)(state);
}

/* numbers: force, std, force and std of the alarm, statistic, age, the alarm's statistic; flags:
 * status, ready, contact, arm. */
void observe(void *state, int begin, long count, const real *q, const real *tau, real payload,
    real payload_std, real *numbers, int *flags)
{
    F(force) *own = state;
    F(force_result) r;
    if (begin)
        F(force_init)(own);
    for (long k = 0; k < count; k++) {
        const long i = k * DOF;
        real *out = numbers + (4 * DOF + 3) * k;
        int *flag = flags + 4 * k;
        flag[0] = F(force_update)(own, q + i, tau + i, payload, payload_std, &r);
        flag[1] = r.ready;
        flag[2] = r.contact;
        flag[3] = r.arm;
        for (int j = 0; j < DOF; j++) {
            out[j] = r.force[j];
            out[DOF + j] = r.std[j];
            out[2 * DOF + j] = r.contact_force[j];
            out[3 * DOF + j] = r.contact_std[j];
        }
        out[4 * DOF] = r.statistic;
        out[4 * DOF + 1] = r.age;
        out[4 * DOF + 2] = r.contact_statistic;
    }
}
#endif
