/* ---- the same with a load of its own inertia and place */

int @id@_feedforward_payload(
    const real *p, const real *pd, const real *pdd, const @id@_load *load, real *tau)
{
    real x[MOTION], par[PAR_COUNT];
    int status = motion_of_platform(p, pd, pdd, x);
    if (status == @ID@_OK) {
        status = numbers_of(load, par);
    }
    return (status == @ID@_OK) ? torque_of_motion(par, x, tau) : status;
}

int @id@_feedforward_joints_payload(const real *q, const real *qd, const real *qdd,
    @near_own@const @id@_load *load, real *tau)
{
    real x[MOTION], par[PAR_COUNT];
    int status = motion_of_joints(q, qd, qdd, @near@x);
    if (status == @ID@_OK) {
        status = numbers_of(load, par);
    }
    return (status == @ID@_OK) ? torque_of_motion(par, x, tau) : status;
}

int @id@_gravity_torque_payload(const real *q, @near_own@const @id@_load *load, real *tau)
{
    real x[MOTION], par[PAR_COUNT];
    int status = rest_at(q, @near@x);
    if (status == @ID@_OK) {
        status = numbers_of(load, par);
    }
    return (status == @ID@_OK) ? torque_at_rest(par, x, tau) : status;
}

int @id@_mass_matrix_payload(const real *q, @near_own@const @id@_load *load, real *M)
{
    real x[MOTION], par[PAR_COUNT];
    int status = rest_at(q, @near@x);
    if (status == @ID@_OK) {
        status = numbers_of(load, par);
    }
    return (status == @ID@_OK) ? mass_at_rest(par, x, M) : status;
}

int @id@_forward_dynamics_payload(const real *q, const real *qd, const real *tau,
    @near_own@const @id@_load *load, real *qdd)
{
    real x[MOTION], par[PAR_COUNT];
    int status = motion_under(q, qd, tau, @near@x);
    if (status == @ID@_OK) {
        status = numbers_of(load, par);
    }
    return (status == @ID@_OK) ? acceleration_of(par, x, tau, qdd) : status;
}
