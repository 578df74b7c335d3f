
/* ---------------------------------------------------------------- force observer
 * It is no safety function: it stops nothing, and it is not redundant.
 */

#define @ID@_FORCE_RATE @force_rate@ /**< Hz, of the samples of the force observer */
#define @ID@_FORCE_LIMIT @force_limit@ /**< statistic above which there is an alarm */

enum {
    @ID@_NO_CONTACT = 0,
    @ID@_UNSURE = 1, /**< an alarm whose kind is not known yet */
    @ID@_CONTACT = 2,
    @ID@_LOAD = 3     /* a mass that hangs on the platform was picked up */
};

/** What an update tells. Forces are in N in the base frame; on a robot with four axes the moment
 * about z in N m is the last. The alarm stays until it is acknowledged. */
typedef struct {
    int ready; /**< 1 once the filter has settled; before it force is 0 */
    @id@_real force[@ID@_DOF];
    @id@_real std[@ID@_DOF]; /**< standard deviation of force; infinite until ready */
    @id@_real statistic; /**< of the axis that speaks most clearly */
    int contact; /**< @ID@_NO_CONTACT, or the kind of the alarm */
    int arm; /**< 0: the platform is touched; 1 to 3: this @arm@ */
    @id@_real age; /**< s since the alarm */
    @id@_real contact_force[@ID@_DOF];
    @id@_real contact_std[@ID@_DOF];
    @id@_real contact_statistic;
} @id@_force_result;

/** State of an observer, one per robot; init before the first update. No field is for the user. */
typedef struct {
    int ready, has_last, jumped, newest_angle, newest_torque, angles, torques, rows, steps;
    @id@_real last[3], q[@force_angles@][@ID@_DOF], tau[@force_torques@][@ID@_DOF];
    @id@_real stage[@force_stages@][@force_parts@];
    @id@_real states[@ID@_DOF][4], P[@ID@_DOF][10];
    @id@_real force[@ID@_DOF], std[@ID@_DOF], statistic;
    int contact, arm, looked;
    unsigned long since;
    @id@_real contact_force[@ID@_DOF], contact_std[@ID@_DOF], contact_statistic;
    @id@_real sum[@ID@_DOF], squares, along, pulls;
} @id@_force;

/** Begin: nothing known but the empty run, no alarm. */
void @id@_force_init(@id@_force *state);

/**
 * Take one sample of measured @angles@ and @torques@; call it at @ID@_FORCE_RATE. `payload` is the mass
 * in kg that the robot is known to carry, `payload_std` its deviation; 0, 0 without one. `result` is
 * always written; a sample that is refused (NOT_FINITE, RANGE, JUMPED) changes nothing, UNREACHABLE,
 * SINGULAR and RANGE in the middle of the work begin anew. An alarm stays in any case.
 */
int @id@_force_update(@id@_force *state, const @id@_real *q, const @id@_real *tau,
    @id@_real payload, @id@_real payload_std, @id@_force_result *result);

/** Forget the alarm and go on with the force. */
void @id@_force_acknowledge(@id@_force *state);

/**
 * Runs an observer over a built-in motion of @force_samples@ samples that is pushed and then loaded,
 * and compares it with the package's own at @force_checks@ check points. 0: all agree; else the
 * number of the first that does not, from 1. `error` is the largest difference in N, N m. `state` is
 * used for the run and is as after init.
 */
int @id@_force_self_test(@id@_force *state, @id@_real *error);
