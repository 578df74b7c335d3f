/** A payload with its own inertia and place, in the frame of the tool, which psi turns. */
typedef struct {
    @id@_real mass;    /**< kg */
    @id@_real inertia; /**< kg m^2, about the vertical axis through its centre of mass */
    @id@_real x;       /**< m, centre of mass from the axis of psi, instead of the robot file's */
    @id@_real y;       /**< m; its height makes no @torque@ */
} @id@_load;

/** As @id@_feedforward, with a load. \param[in] load payload \return status */
int @id@_feedforward_payload(const @id@_real *p, const @id@_real *pd, const @id@_real *pdd,
    const @id@_load *load, @id@_real *tau);

/** As @id@_feedforward_joints, with a load. \param[in] load payload \return status */
int @id@_feedforward_joints_payload(const @id@_real *q, const @id@_real *qd, const @id@_real *qdd,
    @near_arg@const @id@_load *load, @id@_real *tau);

/** As @id@_gravity_torque, with a load. \param[in] load payload \return status */
int @id@_gravity_torque_payload(
    const @id@_real *q, @near_arg@const @id@_load *load, @id@_real *tau);

/** As @id@_mass_matrix, with a load. \param[in] load payload \return status */
int @id@_mass_matrix_payload(const @id@_real *q, @near_arg@const @id@_load *load, @id@_real *M);

/** As @id@_forward_dynamics, with a load. \param[in] load payload \return status */
int @id@_forward_dynamics_payload(const @id@_real *q, const @id@_real *qd, const @id@_real *tau,
    @near_arg@const @id@_load *load, @id@_real *qdd);

