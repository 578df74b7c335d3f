/* An instance of the model: its modes, variables, steps and snapshots, for either version of FMI.
 *
 * Every function returns one of the levels below, whose numbers both versions share, and reports
 * what is not OK by the instance's own logger.
 */
#ifndef DELTADYN_INSTANCE_H
#define DELTADYN_INSTANCE_H

#include <stdarg.h>

#include "model.h"

#ifdef INVERSE_MODEL
#include "inverse.h"
#else
#include "plant.h"
#endif

enum { LEVEL_OK = 0, LEVEL_DISCARD = 2, LEVEL_ERROR = 3 };
enum { INSTANTIATED, INITIALIZATION, STEPPING, EVENT, CONTINUOUS, TERMINATED, MODES };
enum { MESSAGE = 320 };

typedef struct Instance {
    Model model;
    int mode;
    int exchange; /* for model exchange: the environment integrates, by events and continuous time */
    char *name;
    void (*log)(const struct Instance *, int level, const char *category, const char *message);
    void *environment, *logger; /* what the layer needs for `log` */
} Instance;

typedef struct {
    char token[sizeof(TOKEN)];
    int mode, exchange;
    Model model;
} Snapshot;

static int report(const Instance *instance, int level, const char *format, ...)
{
    char message[MESSAGE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    if (instance->log)
        instance->log(
            instance, level, level == LEVEL_DISCARD ? "logStatusDiscard" : "logStatusError", message);
    return level;
}

static void start_over(Instance *instance)
{
    Model *model = &instance->model;
    memset(model, 0, sizeof(*model));
    memcpy(model->values, START, sizeof(START));
    model_start(model);
    instance->mode = INSTANTIATED;
}

static Instance *instance_new(const char *name, int exchange, size_t logger_size)
{
    Instance *instance = calloc(1, sizeof(*instance));
    const size_t length = name ? strlen(name) + 1 : 1;
    char *copy = calloc(length, 1);
    void *logger = calloc(1, logger_size);
    if (!instance || !copy || !logger) {
        free(instance);
        free(copy);
        free(logger);
        return NULL;
    }
    if (name)
        memcpy(copy, name, length);
    instance->exchange = exchange;
    instance->name = copy;
    instance->logger = logger;
    start_over(instance);
    return instance;
}

static void instance_free(Instance *instance)
{
    if (!instance)
        return;
    free(instance->name);
    free(instance->logger);
    free(instance);
}

static int enter_initialization(Instance *instance, real start)
{
    if (instance->mode != INSTANTIATED)
        return report(instance, LEVEL_ERROR, "initialization begins once, after instantiation");
    if (!all_finite(&start, 1))
        return report(instance, LEVEL_ERROR, "start time is %g; allowed: a finite number", start);
    instance->model.time = start;
    instance->mode = INITIALIZATION;
    return LEVEL_OK;
}

/* Bring the outputs up to date; false where they do not exist. */
static int refresh(Instance *instance)
{
    Model *model = &instance->model;
    if (model->fresh)
        return 1;
    if (instance->mode == INSTANTIATED || instance->mode == INITIALIZATION)
        model_start(model);
    const int status = model_outputs(model);
    if (status != GOOD || !STOPS_FOR_GOOD || instance->exchange || instance->mode < STEPPING)
        model->status = status;
    model->fresh = status == GOOD;
    return status == GOOD;
}

static int exit_initialization(Instance *instance)
{
    if (instance->mode != INITIALIZATION)
        return report(instance, LEVEL_ERROR, "initialization has not begun");
    if (!refresh(instance))
        return report(
            instance, LEVEL_ERROR, "start values: %s", status_text(instance->model.status));
    instance->mode = instance->exchange ? EVENT : STEPPING;
    return LEVEL_OK;
}

static int terminate(Instance *instance)
{
    if (instance->mode < STEPPING || instance->mode == TERMINATED)
        return report(instance, LEVEL_ERROR, "the simulation is not running");
    instance->mode = TERMINATED;
    return LEVEL_OK;
}

static int get_real(Instance *instance, unsigned reference, real *value)
{
    if (reference >= REALS)
        return report(instance, LEVEL_ERROR, "no real variable has reference %u", reference);
    if (reference == VR_TIME) {
        *value = instance->model.time;
        return LEVEL_OK;
    }
    if (VARIABLES[reference].role == OUTPUT && !refresh(instance))
        return report(
            instance, LEVEL_DISCARD, "%s: %s", VARIABLES[reference].name,
            status_text(instance->model.status));
    *value = instance->model.values[reference] + 0.0; /* no zero has a sign */
    return LEVEL_OK;
}

static int set_real(Instance *instance, unsigned reference, real value)
{
    if (reference >= REALS)
        return report(instance, LEVEL_ERROR, "no real variable has reference %u", reference);
    const Variable *variable = VARIABLES + reference;
    if (variable->role == OUTPUT)
        return report(instance, LEVEL_ERROR, "%s cannot be set", variable->name);
    if (variable->role == FIXED && instance->mode >= STEPPING)
        return report(
            instance, LEVEL_ERROR, "%s can be set before the simulation only", variable->name);
    if (!(value >= variable->least && value <= variable->most))
        return report(
            instance, LEVEL_DISCARD, "%s is %g; allowed: %g to %g, it stays %g", variable->name,
            value, variable->least, variable->most, instance->model.values[reference]);
    instance->model.values[reference] = value;
    instance->model.fresh = 0;
    return LEVEL_OK;
}

/* 0 where this machine gives the package's answers at the check points, else the number of the
 * first that fails. It reads the unit as it was exported, not what an instance made of it. */
static int self_test(void)
{
    Model model;
    real most = 0;
    for (int k = 0; k < CHECKS; k++)
        for (int i = 0; i < DOF; i++)
            most = fmax(most, fabs(CHECK_POINTS[k][3 * DOF + i]));
    memset(&model, 0, sizeof(model));
    memcpy(model.values, START, sizeof(START));
    for (int k = 0; k < CHECKS; k++) {
        model_check(&model, CHECK_POINTS[k]);
        if (model_outputs(&model) != GOOD)
            return k + 1;
        for (int i = 0; i < DOF; i++) {
            const real error = model.values[CHECK_OUT + i] - CHECK_POINTS[k][3 * DOF + i];
            if (!(fabs(error) <= CHECK_TOLERANCE * most))
                return k + 1;
        }
    }
    return 0;
}

static int get_integer(Instance *instance, unsigned reference, int *value)
{
    if (reference == VR_SELF_TEST) {
        *value = self_test();
        return LEVEL_OK;
    }
    if (reference != VR_STATUS)
        return report(instance, LEVEL_ERROR, "no integer variable has reference %u", reference);
    refresh(instance);
    *value = instance->model.status;
    return LEVEL_OK;
}

#ifdef INVERSE_MODEL
static int get_boolean(Instance *instance, unsigned reference, int *value)
{
    if (reference != VR_FROM_JOINTS)
        return report(instance, LEVEL_ERROR, "no boolean variable has reference %u", reference);
    *value = instance->model.from_joints;
    return LEVEL_OK;
}

static int set_boolean(Instance *instance, unsigned reference, int value)
{
    if (reference != VR_FROM_JOINTS)
        return report(instance, LEVEL_ERROR, "no boolean variable has reference %u", reference);
    instance->model.from_joints = value != 0;
    instance->model.fresh = 0;
    return LEVEL_OK;
}
#else
static int get_boolean(Instance *instance, unsigned reference, int *value)
{
    (void)value;
    return report(instance, LEVEL_ERROR, "no boolean variable has reference %u", reference);
}

static int set_boolean(Instance *instance, unsigned reference, int value)
{
    (void)value;
    return report(instance, LEVEL_ERROR, "no boolean variable has reference %u", reference);
}
#endif

static int do_step(Instance *instance, real time, real h)
{
    Model *model = &instance->model;
    if (instance->mode != STEPPING)
        return report(instance, LEVEL_ERROR, "a step needs a simulation that is running");
    if (!all_finite(&time, 1))
        return report(instance, LEVEL_ERROR, "time is %g; allowed: a finite number", time);
    if (!(h > 0 && h <= DBL_MAX))
        return report(instance, LEVEL_ERROR, "step size is %g s; allowed: above 0", h);
    model->time = time;
    model->status = model_advance(model, h);
    if (model->status == GOOD) {
        model->time = time + h;
        return LEVEL_OK;
    }
    return report(
        instance, LEVEL_DISCARD, "stopped at %.9g s: %s", model->time, status_text(model->status));
}

static const char *get_string(unsigned reference)
{
    return reference >= VR_STRINGS && reference < VR_STRINGS + STRINGS
        ? IDENTITY[reference - VR_STRINGS]
        : NULL;
}

/* ---------------------------------------------------------------- model exchange */

static int in_exchange(const Instance *instance)
{
    return instance->mode == EVENT || instance->mode == CONTINUOUS;
}

static int change_mode(Instance *instance, int from, int to, const char *refused)
{
    if (instance->mode != from)
        return report(instance, LEVEL_ERROR, "%s", refused);
    instance->mode = to;
    return LEVEL_OK;
}

static int enter_event_mode(Instance *instance)
{
    return change_mode(instance, CONTINUOUS, EVENT, "event mode follows continuous time");
}

static int enter_continuous_mode(Instance *instance)
{
    return change_mode(instance, EVENT, CONTINUOUS, "continuous time follows event mode");
}

static int set_time(Instance *instance, real time)
{
    if (!in_exchange(instance))
        return report(instance, LEVEL_ERROR, "time is set in model exchange alone");
    if (!all_finite(&time, 1))
        return report(instance, LEVEL_ERROR, "time is %g; allowed: a finite number", time);
    instance->model.time = time;
    return LEVEL_OK;
}

static int check_states(const Instance *instance, size_t count)
{
    if (count == STATES)
        return LEVEL_OK;
    return report(
        instance, LEVEL_ERROR, "%lu states; allowed: %lu", (unsigned long)count,
        (unsigned long)STATES);
}

static int get_states(Instance *instance, real *states, size_t count)
{
    const int level = check_states(instance, count);
    if (level == LEVEL_OK)
        get_model_states(&instance->model, states);
    return level;
}

static int set_states(Instance *instance, const real *states, size_t count)
{
    const int level = check_states(instance, count);
    if (level != LEVEL_OK)
        return level;
    if (!in_exchange(instance))
        return report(instance, LEVEL_ERROR, "states are set in model exchange alone");
    if (!all_finite(states, STATES))
        return report(instance, LEVEL_DISCARD, "a state is not finite; all stay");
    set_model_states(&instance->model, states);
    instance->model.fresh = 0;
    return LEVEL_OK;
}

static int get_slopes(Instance *instance, real *slopes, size_t count)
{
    const int level = check_states(instance, count);
    if (level != LEVEL_OK)
        return level;
    if (!refresh(instance))
        return report(
            instance, LEVEL_DISCARD, "derivatives: %s", status_text(instance->model.status));
    get_model_slopes(&instance->model, slopes);
    return LEVEL_OK;
}

static int get_nominals(Instance *instance, real *nominals, size_t count)
{
    const int level = check_states(instance, count);
    for (size_t i = 0; level == LEVEL_OK && i < count; i++)
        nominals[i] = 1;
    return level;
}

/* ---------------------------------------------------------------- directional derivatives */

/* Add to a direction the change of a variable. */
static int add_seed(Instance *instance, real *direction, unsigned reference, real seed)
{
    const int starting = instance->mode < STEPPING;
    if (reference >= REALS)
        return report(instance, LEVEL_ERROR, "no real variable has reference %u", reference);
    const Variable *variable = VARIABLES + reference;
    const int known = variable->role == INPUT || variable->role == TUNABLE || reference == VR_TIME
        || (variable->role == FIXED && starting) || (is_state(reference) && !starting);
    if (!known)
        return report(instance, LEVEL_ERROR, "%s is no known of a derivative", variable->name);
    direction[reference] += seed;
    return LEVEL_OK;
}

/* The change of all variables along a direction; its place for time does not count. */
static int change_along(Instance *instance, real *direction, real *change)
{
    if (!refresh(instance))
        return report(
            instance, LEVEL_DISCARD, "derivative: %s", status_text(instance->model.status));
    if (instance->mode < STEPPING)
        change_start(direction);
    memset(change, 0, REALS * sizeof(real));
    const int status = model_change(&instance->model, direction, change);
    if (status != GOOD || !all_finite(change, REALS))
        return report(
            instance, LEVEL_DISCARD, "derivative: %s",
            status_text(status == GOOD ? UNBOUNDED : status));
    return LEVEL_OK;
}

static int get_change(Instance *instance, const real *change, unsigned reference, real *value)
{
    if (reference >= REALS || VARIABLES[reference].role != OUTPUT || reference == VR_TIME)
        return report(
            instance, LEVEL_ERROR, "reference %u is no unknown of a derivative", reference);
    *value = change[reference] + 0.0;
    return LEVEL_OK;
}

/* ---------------------------------------------------------------- states of an instance */

static Snapshot *snapshot_new(void)
{
    Snapshot *snapshot = calloc(1, sizeof(*snapshot));
    if (snapshot)
        memcpy(snapshot->token, TOKEN, sizeof(TOKEN));
    return snapshot;
}

/* Into `*place`, which is made where it is NULL. */
static int save_state(Instance *instance, void **place)
{
    Snapshot *snapshot = *place ? *place : snapshot_new();
    if (!snapshot)
        return report(instance, LEVEL_ERROR, "no memory for a state");
    snapshot->mode = instance->mode;
    snapshot->exchange = instance->exchange;
    memcpy(&snapshot->model, &instance->model, sizeof(Model));
    *place = snapshot;
    return LEVEL_OK;
}

static int restore_state(Instance *instance, const void *place)
{
    const Snapshot *snapshot = place;
    if (!snapshot)
        return report(instance, LEVEL_ERROR, "no state was given");
    if (snapshot->exchange != instance->exchange)
        return report(instance, LEVEL_ERROR, "this state is of another kind of instance");
    instance->mode = snapshot->mode;
    memcpy(&instance->model, &snapshot->model, sizeof(Model));
    return LEVEL_OK;
}

static int write_state(Instance *instance, const void *place, unsigned char *bytes, size_t size)
{
    if (!place || size < sizeof(Snapshot))
        return report(
            instance, LEVEL_ERROR, "a state needs %lu bytes", (unsigned long)sizeof(Snapshot));
    memcpy(bytes, place, sizeof(Snapshot));
    return LEVEL_OK;
}

/* Bytes of another model, another length or with values outside their limits are refused. */
static int read_state(
    Instance *instance, const unsigned char *bytes, size_t size, void **place)
{
    Snapshot *snapshot = size == sizeof(Snapshot) ? snapshot_new() : NULL;
    if (!snapshot)
        return report(instance, LEVEL_ERROR, "these bytes are not a state of this model");
    memcpy(snapshot, bytes, size);
    const Model *model = &snapshot->model;
    int fits = memcmp(snapshot->token, TOKEN, sizeof(TOKEN)) == 0 && snapshot->mode >= 0
        && snapshot->mode < MODES
        && (snapshot->exchange ? snapshot->mode != STEPPING
                               : snapshot->mode != EVENT && snapshot->mode != CONTINUOUS)
        && model->status >= 0 && model->status < STATUSES
        && all_finite(model->q, DOF) && all_finite(model->qd, DOF) && all_finite(&model->time, 1);
    for (int i = 0; i < REALS; i++)
        fits = fits && model->values[i] >= VARIABLES[i].least
            && model->values[i] <= VARIABLES[i].most;
    if (!fits) {
        free(snapshot);
        return report(instance, LEVEL_ERROR, "these bytes are not a state of this model");
    }
    *place = snapshot;
    return LEVEL_OK;
}

static int known_category(const char *category)
{
    return category
        && (strcmp(category, "logStatusDiscard") == 0 || strcmp(category, "logStatusError") == 0);
}

static int check_categories(Instance *instance, const char *const *categories, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!known_category(categories[i]))
            return report(
                instance, LEVEL_ERROR,
                "log category is not known; allowed: logStatusDiscard, logStatusError");
    return LEVEL_OK;
}

#endif
