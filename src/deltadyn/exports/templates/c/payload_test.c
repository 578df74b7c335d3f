/* ---- self-test: swings between rests, with a load from LOAD_PICK to LOAD_RELEASE */

@test_numbers@

/* 10 u^3 - 15 u^4 + 6 u^5 and its rates, forth in even moves and back in odd ones. */
static void swing_at(int k, real *s)
{
    int way = 0;
    while (((way + 1) < LOAD_WAYS) && (k >= LOAD_BEGINS[way + 1])) {
        way++;
    }
    const real pace = RATE / (real)LOAD_LENGTH;
    real u = (real)(k - LOAD_BEGINS[way]) / (real)LOAD_LENGTH;
    u = (u < (real)0.0) ? (real)0.0 : (u > (real)1.0) ? (real)1.0 : u;
    const real left = (real)1.0 - u;
    s[0] = u * u * u * ((real)10.0 - ((real)15.0 * u) + ((real)6.0 * u * u));
    s[1] = (real)30.0 * u * u * left * left * pace;
    s[2] = (real)60.0 * u * left * ((real)1.0 - ((real)2.0 * u)) * pace * pace;
    if ((way % 2) != 0) {
        s[0] = (real)1.0 - s[0];
        s[1] = -s[1];
        s[2] = -s[2];
    }
}

int @id@_payload_self_test(@id@_payload *state, @id@_real *error)
{
    @id@_payload_result seen;
    int next = 0, failed = 0, picks = 0;
    *error = (real)0.0;
    @id@_payload_init(state);
    for (int k = 0; k < LOAD_SAMPLES; k++) {
        real s[3], q[DOF], qd[DOF], qdd[DOF], tau[DOF];
        swing_at(k, s);
        for (int i = 0; i < DOF; i++) {
            q[i] = LOAD_BEGIN[i] + (s[0] * LOAD_SWING[i]);
            qd[i] = s[1] * LOAD_SWING[i];
            qdd[i] = s[2] * LOAD_SWING[i];
        }
        const int held = (k >= LOAD_PICK) && (k < LOAD_RELEASE);
        int status = @id@_feedforward_joints(q, qd, qdd, held ? LOAD_MASS : (real)0.0, tau);
        if (status == @ID@_OK) {
            status = @id@_payload_update(state, q, NULL, NULL, tau, -1, &seen);
        }
        if (status != @ID@_OK) {
            failed = failed ? failed : (next + 1);
            break;
        }
        picks += seen.finished == 1;
        if ((next < LOAD_CHECKS) && (k == LOAD_AT[next])) {
            const real mass = REAL_ABS(seen.mass - LOAD_SEEN[next][0]);
            const real std = REAL_ABS(seen.std - LOAD_SEEN[next][1]);
            const real off = (mass > std) ? mass : std;
            int same = (seen.loaded == LOAD_HELD[next]) && (picks == LOAD_PICKS[next]);
            for (int i = 0; i < DOF; i++) {
                same = same && (REAL_ABS(tau[i] - LOAD_TORQUE[next][i]) <= LOAD_TORQUE_TOLERANCE);
            }
            if (off > *error) {
                *error = off;
            }
            next++;
            if (!failed && !(same && (off <= LOAD_TOLERANCE))) {
                failed = next;
            }
        }
    }
    @id@_payload_init(state);
    return failed;
}
