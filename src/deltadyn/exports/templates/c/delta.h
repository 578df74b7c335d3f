/**
 * \file
 * @title@
 *
 * Every function returns a status, @ID@_OK where all went well. Unless said otherwise, outputs are
 * untouched where it is not OK.
 *
 * Platform coordinates p = (@coordinates@@psi@) in m@rad@, base frame, z up. Joint coordinates q and
 * @torques@ tau in the controller's own sign and offset. Every array has @ID@_DOF entries; an output
 * may be the same array as an input. `payload` is the mass in kg that is carried at the robot's
 * payload offset, instead of that of the robot file; the estimate of the payload may go in.
@about@ */
#ifndef @ID@_DELTA_H
#define @ID@_DELTA_H

#ifdef __cplusplus
extern "C" {
#endif

/** A number: all inputs and outputs have this type. */
typedef @real@ @id@_real;

/** Version of this interface; a change that a caller must know of counts it up. */
#define @ID@_INTERFACE_VERSION @interface@
/** Fingerprint of this export, of its robot and options; compare it with @id@_fingerprint(). */
#define @ID@_FINGERPRINT "@export_fingerprint@"
/** Sources of another export do not compile with this header. */
#define DELTADYN_EXPORT_@export_fingerprint@ 1
/** Degrees of freedom: axes, and entries of every array. */
#define @ID@_DOF @dof@
/** Mass of the payload in the robot file, in kg. */
#define @ID@_OWN_PAYLOAD @own_payload@
/** The largest size of any input in its unit; beyond it the status is @ID@_RANGE. */
#define @ID@_LARGEST @largest@
@rate_line@
/** What every function returns. */
enum {
    @ID@_OK = 0,          /**< outputs are written, and finite */
    @ID@_UNREACHABLE = 1, /**< no @arm_angle@, or no platform point, closes the loop */
    @ID@_SINGULAR = 2,    /**< @in_line@, @singular@ */
    @ID@_NOT_FINITE = 3,  /**< an input is NaN or infinite */
    @ID@_RANGE = 4,       /**< an input is above LARGEST, or a result is too large for a number */
    @ID@_UNSETTLED = 5,   /**< forward dynamics: the gears' losses have no consistent direction */
    @ID@_NOT_READY = 6,   /**< payload: init was not called */
    @ID@_PATTERN = 7,     /**< payload: qd, qdd given in some samples only, or qdd without qd */
    @ID@_JUMPED = 8,      /**< payload: @an_arm@'s @angle@ jumped; the sample was not used */
    @ID@_RESTARTED = 9    /**< payload: the @angles@ stayed where they jumped to; begun anew there */
};

/** \return @ID@_INTERFACE_VERSION of the library that is linked, to compare with this header's. */
int @id@_interface_version(void);

/** \return 16 digits of robot and options of the library that is linked; @ID@_FINGERPRINT if it fits. */
const char *@id@_fingerprint(void);

/**
 * Runs kinematics and dynamics at @points@ built-in states, with motion and payload, and compares them
 * with the package's own results; a point out of reach must be told. Run it once at commissioning: it finds a compiler flag, a
 * floating-point unit or a changed number that spoils results.
 * \param[out] error largest difference, as a share of the largest number of its kind; may be NULL
 * \return 0: all agree to @model_tolerance@; else the number of the first state that does not, from 1
 */
int @id@_self_test(@id@_real *error);

/**
 * Joint @angles@ of a platform position.
 * \param[in] p platform position
 * \param[out] q joint @angles@
 * \return status
 */
int @id@_inverse_kinematics(const @id@_real *p, @id@_real *q);

/**
 * Platform position of joint @angles@.
 * \param[in] q joint @angles@
@near_doc@ * \param[out] p platform position
 * \return status
 */
int @id@_forward_kinematics(const @id@_real *q, @near_arg@@id@_real *p);

/**
 * Joint @angles@, rates and accelerations of a platform motion.
 * \param[in] p platform position
 * \param[in] pd its velocity
 * \param[in] pdd its acceleration
 * \param[out] q joint @angles@
 * \param[out] qd their rates
 * \param[out] qdd their accelerations
 * \return status
 */
int @id@_joint_rates(const @id@_real *p, const @id@_real *pd, const @id@_real *pdd,
    @id@_real *q, @id@_real *qd, @id@_real *qdd);

/**
 * Platform position, velocity and acceleration of a joint motion.
 * \param[in] q joint @angles@
 * \param[in] qd their rates
 * \param[in] qdd their accelerations
@near_doc@ * \param[out] p platform position
 * \param[out] pd its velocity
 * \param[out] pdd its acceleration
 * \return status
 */
int @id@_platform_rates(const @id@_real *q, const @id@_real *qd, const @id@_real *qdd,
    @near_arg@@id@_real *p, @id@_real *pd, @id@_real *pdd);

/**
 * Drive @torques@ that make a platform motion, the drives' friction included.
 * \param[in] p platform position
 * \param[in] pd its velocity
 * \param[in] pdd its acceleration
 * \param[in] payload mass in kg
 * \param[out] tau @torques@
 * \return status
 */
int @id@_feedforward(const @id@_real *p, const @id@_real *pd, const @id@_real *pdd,
    @id@_real payload, @id@_real *tau);

/**
 * Drive @torques@ that make a joint motion, the drives' friction included.
 * \param[in] q joint @angles@
 * \param[in] qd their rates
 * \param[in] qdd their accelerations
@near_doc@ * \param[in] payload mass in kg
 * \param[out] tau @torques@
 * \return status
 */
int @id@_feedforward_joints(const @id@_real *q, const @id@_real *qd, const @id@_real *qdd,
    @near_arg@@id@_real payload, @id@_real *tau);

/**
 * @Torques@ that hold the robot still, without friction.
 * \param[in] q joint @angles@
@near_doc@ * \param[in] payload mass in kg
 * \param[out] tau @torques@
 * \return status
 */
int @id@_gravity_torque(const @id@_real *q, @near_arg@@id@_real payload, @id@_real *tau);

/**
 * Mass matrix at the joints in @inertia_unit@, @ID@_DOF x @ID@_DOF, row after row.
 * \param[in] q joint @angles@
@near_doc@ * \param[in] payload mass in kg
 * \param[out] M mass matrix
 * \return status
 */
int @id@_mass_matrix(const @id@_real *q, @near_arg@@id@_real payload, @id@_real *M);

/**
 * Joint accelerations of drive @torques@, the drives' friction included. Sticking is not modelled.
 * \param[in] q joint @angles@
 * \param[in] qd their rates
 * \param[in] tau @torques@
@near_doc@ * \param[in] payload mass in kg
 * \param[out] qdd accelerations
 * \return status
 */
int @id@_forward_dynamics(const @id@_real *q, const @id@_real *qd, const @id@_real *tau,
    @near_arg@@id@_real payload, @id@_real *qdd);

@load@@payload@@force@
#ifdef __cplusplus
}
#endif

#endif
