/* ---------------------------------------------------------------- payload estimator */

enum {
    @ID@_NO_EVENT = 0,
    @ID@_PICK = 1,
    @ID@_RELEASE = 2,
    @ID@_LOST_GRIP = 3
};

/** What an update tells. `std` is infinite while nothing is known of a load. */
typedef struct {
    @id@_real mass; /**< kg; 0 while the robot is empty */
    @id@_real std; /**< kg, standard deviation of mass */
    int event; /**< @ID@_NO_EVENT, or what became known in this update */
    @id@_real event_age; /**< s before this sample at which it happened, estimated */
    int running; /**< 1 once the filters have settled */
    int loaded; /**< 1 while a load is held */
    int finished; /**< 1 where a pick ended in this update; it was: */
    @id@_real pick_mass; /**< kg */
    @id@_real pick_std; /**< kg */
    @id@_real pick_time; /**< s from its begin to its end */
} @id@_payload_result;

/** State of an estimator, one per robot; init before the first update. No field is for the user. */
typedef struct {
    int ready, begun, has_qd, has_qdd, has_last, jumped;
    int place, waiting, pending, running;
    @id@_real last[3];
    @id@_real y[@stages@][@channels@], step[@channels@], turn[@stages@][@ID@_DOF];
    @id@_real found[@narrow_width@], narrow[@narrow_stages@][@narrow_width@];
    int narrow_begun, history;
    @id@_real r1[@ID@_DOF], r2[@ID@_DOF], c1[@ID@_DOF], c2[@ID@_DOF];
    int skip, age, loaded, lost, announced, known;
    @id@_real S, I, before, lead;
    unsigned long held;
    @id@_real ring[@memory@][3];
    int head, count;
    @id@_payload_result *out;
} @id@_payload;

/** Begin: an empty robot, nothing known. */
void @id@_payload_init(@id@_payload *state);

/**
 * Take one sample of measured @angles@ and @torques@; call it at @ID@_RATE. qd and qdd may be NULL:
 * then they come from the @angles@. `holding` is the gripper's own signal, 1 or 0, or -1 where there
 * is none. `result` is always written; a sample that is refused (NOT_FINITE, RANGE, PATTERN, JUMPED)
 * changes nothing, UNREACHABLE, SINGULAR and RANGE in the middle of the work begin anew.
 */
int @id@_payload_update(@id@_payload *state, const @id@_real *q, const @id@_real *qd,
    const @id@_real *qdd, const @id@_real *tau, int holding, @id@_payload_result *result);
