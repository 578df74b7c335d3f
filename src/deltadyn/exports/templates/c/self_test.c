/* ---------------------------------------------------------------- self-test of the model */

@point_numbers@

/* `largest` becomes the largest difference of two arrays, of the numbers' scale, if that is more. */
static void compare(const real *found, const real *known, real scale, real *largest)
{
    for (int i = 0; i < DOF; i++) {
        const real off = REAL_ABS(found[i] - known[i]) / scale;
        *largest = (off > *largest) ? off : *largest;
    }
}

/* The largest difference at a state, or -1 where a function does not answer. */
static real difference_at(int k)
{
    const real mass = POINT_LOAD[k][0];
    real out[DOF], largest = (real)0.0;
    int status = @id@_inverse_kinematics(POINT_P[k], out);
    if (status == @ID@_OK) {
        compare(out, POINT_Q[k], POINT_SCALE[AT_ANGLES], &largest);
        status = @id@_forward_kinematics(POINT_Q[k], @near_null@out);
    }
    if (status == @ID@_OK) {
        compare(out, POINT_P[k], POINT_SCALE[AT_PLACES], &largest);
        status = @id@_feedforward(POINT_P[k], POINT_PD[k], POINT_PDD[k], mass, out);
    }
    if (status == @ID@_OK) {
        compare(out, POINT_TAU[k], POINT_SCALE[AT_TORQUES], &largest);
        status = @id@_feedforward_joints(
            POINT_Q[k], POINT_QD[k], POINT_QDD[k], @near_null@mass, out);
    }
    if (status == @ID@_OK) {
        compare(out, POINT_TAU[k], POINT_SCALE[AT_TORQUES], &largest);
        status = @id@_forward_dynamics(
            POINT_Q[k], POINT_QD[k], POINT_TAU[k], @near_null@mass, out);
    }
    if (status == @ID@_OK) {
        compare(out, POINT_QDD[k], POINT_SCALE[AT_ACCELERATIONS], &largest);
    }
#if @turns@
    const @id@_load load
        = { mass, POINT_LOAD[k][1], POINT_LOAD[k][2], POINT_LOAD[k][3] };
    if (status == @ID@_OK) {
        status = @id@_feedforward_payload(
            POINT_P[k], POINT_PD[k], POINT_PDD[k], &load, out);
    }
    if (status == @ID@_OK) {
        compare(out, POINT_TAU_LOAD[k], POINT_SCALE[AT_TORQUES], &largest);
    }
#endif
    return (status == @ID@_OK) ? largest : (real)-1.0;
}

int @id@_self_test(@id@_real *error)
{
    real largest = (real)0.0;
    int failed = 0;
    for (int k = 0; k < POINTS; k++) {
        const real off = difference_at(k);
        if ((failed == 0) && ((off < (real)0.0) || (off > POINT_TOLERANCE))) {
            failed = k + 1;
        }
        largest = (off > largest) ? off : largest;
    }
#if @far@
    real out[DOF];
    if ((failed == 0) && (@id@_inverse_kinematics(POINT_FAR, out) != @ID@_UNREACHABLE)) {
        failed = POINTS + 1;
    }
#endif
    if (error != NULL) {
        *error = largest;
    }
    return failed;
}

int @id@_interface_version(void)
{
    return @ID@_INTERFACE_VERSION;
}

const char *@id@_fingerprint(void)
{
    return @ID@_FINGERPRINT;
}
