#ifndef @ID@_DELTA_H
#define @ID@_DELTA_H

#ifdef __cplusplus
extern "C" {
#endif

typedef @real@ @id@_real;

#define @ID@_DOF @dof@
#define @ID@_OWN_PAYLOAD @own_payload@ /* kg, of the robot file */
#define @ID@_LARGEST @largest@ /* of any input, in its unit; beyond it: @ID@_RANGE */
@rate_line@
/* What every function returns. Unless said otherwise, outputs are untouched where it is not OK. */
enum {
    @ID@_OK = 0,
    @ID@_UNREACHABLE = 1, /* no @arm_angle@, or no platform point, closes the loop */
    @ID@_SINGULAR = 2,    /* @in_line@, @singular@ */
    @ID@_NOT_FINITE = 3,  /* an input is NaN or infinite */
    @ID@_RANGE = 4,       /* an input is above LARGEST, or a result is too large for a number */
    @ID@_UNSETTLED = 5,   /* forward dynamics: the gears' losses have no consistent direction */
    @ID@_NOT_READY = 6,   /* payload: init was not called */
    @ID@_PATTERN = 7,     /* payload: qd, qdd given in some samples only, or qdd without qd */
    @ID@_JUMPED = 8,      /* payload: @an_arm@'s @angle@ jumped; the sample was not used */
    @ID@_RESTARTED = 9    /* payload: the @angles@ stayed where they jumped to; begun anew there */
};

/*
 * Platform coordinates p = (@coordinates@@psi@) in m@rad@, base frame, z up. Joint coordinates q and
 * @torques@ tau in the controller's own sign and offset. Every array has @ID@_DOF entries; an output
 * may be the same array as an input. `payload` is the mass in kg that is carried at the robot's
 * payload offset, instead of that of the robot file; the estimate of the payload may go in.
@about@ */

/* Joint @angles@ of a platform position. */
int @id@_inverse_kinematics(const @id@_real *p, @id@_real *q);

/* Platform position of joint @angles@. */
int @id@_forward_kinematics(const @id@_real *q, @near_arg@@id@_real *p);

/* Joint @angles@, rates and accelerations of a platform motion. */
int @id@_joint_rates(const @id@_real *p, const @id@_real *pd, const @id@_real *pdd,
    @id@_real *q, @id@_real *qd, @id@_real *qdd);

/* Platform position, velocity and acceleration of a joint motion. */
int @id@_platform_rates(const @id@_real *q, const @id@_real *qd, const @id@_real *qdd,
    @near_arg@@id@_real *p, @id@_real *pd, @id@_real *pdd);

/* Drive @torques@ that make a platform motion, the drives' friction included. */
int @id@_feedforward(const @id@_real *p, const @id@_real *pd, const @id@_real *pdd,
    @id@_real payload, @id@_real *tau);

/* The same for a joint motion. */
int @id@_feedforward_joints(const @id@_real *q, const @id@_real *qd, const @id@_real *qdd,
    @near_arg@@id@_real payload, @id@_real *tau);

/* @Torques@ that hold the robot still, without friction. */
int @id@_gravity_torque(const @id@_real *q, @near_arg@@id@_real payload, @id@_real *tau);

/* Mass matrix at the joints in @inertia_unit@, @ID@_DOF x @ID@_DOF, row after row. */
int @id@_mass_matrix(const @id@_real *q, @near_arg@@id@_real payload, @id@_real *M);

/* Joint accelerations of drive @torques@, the drives' friction included. Sticking is not modelled. */
int @id@_forward_dynamics(const @id@_real *q, const @id@_real *qd, const @id@_real *tau,
    @near_arg@@id@_real payload, @id@_real *qdd);

@payload@@force@
#ifdef __cplusplus
}
#endif

#endif
