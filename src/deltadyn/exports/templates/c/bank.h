/* ---------------------------------------------------------------- payload estimator */

enum {
    @ID@_NO_EVENT = 0,
    @ID@_PICK = 1,
    @ID@_RELEASE = 2,
    @ID@_LOST_GRIP = 3,
    @ID@_BEGUN_ANEW = 4
};

/** What an update tells. `std` is infinite while nothing is known of a load. */
typedef struct {
    @id@_real mass; /**< kg; 0 while the robot is empty */
    @id@_real std; /**< kg, standard deviation of mass */
    int event; /**< @ID@_NO_EVENT, or what became known in this update */
    @id@_real event_age; /**< s before this sample at which it happened, estimated */
    int running; /**< 1 once the filters have settled */
    int loaded; /**< 1 while a load is held */
    int finished; /**< 1: a pick ended in this update; 2: the last one is told anew, as later
                          * samples see it; it was: */
    @id@_real pick_mass; /**< kg */
    @id@_real pick_std; /**< kg */
    @id@_real pick_time; /**< s from its begin to its end */
    int pick_ended; /**< how: one of the events, or @ID@_BEGUN_ANEW */
    int pick_long; /**< 1: implausibly long */
} @id@_payload_result;

/** A hypothesis about the load. */
typedef struct {
    @id@_real theta[9], U[9], mass, variance, weight, share, done_mass, done_variance;
    int age, begun, ended;
    signed char carries, count, done, in_motion, begin_edge, done_edge, end_edge;
} @id@_hypothesis;

/** State of an estimator, one per robot; init before the first update. No field is for the user. */
typedef struct {
    int ready, has_qd, has_qdd, has_last, jumped;
    @id@_real last[3];
    /* the windows */
    int place, samples, phase, model_place, models, model_phase;
    @id@_real window[@bank_length@][2 * @ID@_DOF], model[@bank_models@][16];
    /* the bank */
    @id@_hypothesis table[@bank_size@];
    @id@_real chance[@bank_size@], P[3][6];
    int order[@bank_size@], alive, skip, dead, moving, picks_open, holds, begun, ended;
    @id@_real mass, variance, peak, row[16];
    /* the gripper's signal */
    int holding, level, edge_age[2];
    @id@_real edge_count[2][@bank_delays@], edge_picks[2], stray[2], edge_rows;
    /* picks */
    unsigned long clock, start, end;
    int loaded, known, has_end, unsettled, has_pick, pick_ended;
    unsigned long pick_start, pick_end;
    @id@_real pick_mass, pick_std;
    @id@_payload_result *out;
} @id@_payload;

/** Begin: an empty robot, nothing known. */
void @id@_payload_init(@id@_payload *state);

/**
 * Take one sample of measured @angles@ and @torques@; call it at @ID@_RATE. qd and qdd may be NULL; they
 * are checked and not used: rates come from the @angles@. `holding` is the gripper's own signal, 1 or
 * 0, or -1 where there is none: evidence whose delay it learns, not a command. `result` is always written; a sample that is refused (NOT_FINITE,
 * RANGE, PATTERN, JUMPED) changes nothing, UNREACHABLE, SINGULAR and RANGE in the middle of the work
 * begin anew.
 */
int @id@_payload_update(@id@_payload *state, const @id@_real *q, const @id@_real *qd,
    const @id@_real *qdd, const @id@_real *tau, int holding, @id@_payload_result *result);
