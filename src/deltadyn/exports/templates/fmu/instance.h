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
enum { INSTANTIATED, INITIALIZATION, STEPPING, TERMINATED, MODES };
enum { MESSAGE = 320 };

typedef struct Instance {
    Model model;
    int mode;
    char *name;
    void (*log)(const struct Instance *, int level, const char *category, const char *message);
    void *environment, *logger; /* what the layer needs for `log` */
} Instance;

typedef struct {
    char token[sizeof(TOKEN)];
    int mode;
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

static Instance *instance_new(const char *name, size_t logger_size)
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
    if (status != GOOD || !STOPS_FOR_GOOD || instance->mode < STEPPING)
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
    instance->mode = STEPPING;
    return LEVEL_OK;
}

static int terminate(Instance *instance)
{
    if (instance->mode != STEPPING)
        return report(instance, LEVEL_ERROR, "the simulation is not running");
    instance->mode = TERMINATED;
    return LEVEL_OK;
}

static int get_reals(Instance *instance, const unsigned *references, size_t count, real *values)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned reference = references[i];
        if (reference >= REALS)
            return report(instance, LEVEL_ERROR, "no real variable has reference %u", reference);
        if (reference == VR_TIME) {
            values[i] = instance->model.time;
            continue;
        }
        if (VARIABLES[reference].role == OUTPUT && !refresh(instance))
            return report(
                instance, LEVEL_DISCARD, "%s: %s", VARIABLES[reference].name,
                status_text(instance->model.status));
        values[i] = instance->model.values[reference] + 0.0; /* no zero has a sign */
    }
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

/* All values are tried; the worst level counts. */
static int set_reals(
    Instance *instance, const unsigned *references, size_t count, const real *values)
{
    int worst = LEVEL_OK;
    for (size_t i = 0; i < count; i++) {
        const int level = set_real(instance, references[i], values[i]);
        worst = level > worst ? level : worst;
    }
    return worst;
}

static int get_integer(Instance *instance, unsigned reference, int *value)
{
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
    memcpy(&snapshot->model, &instance->model, sizeof(Model));
    *place = snapshot;
    return LEVEL_OK;
}

static int restore_state(Instance *instance, const void *place)
{
    const Snapshot *snapshot = place;
    if (!snapshot)
        return report(instance, LEVEL_ERROR, "no state was given");
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
        && snapshot->mode < MODES && model->status >= 0 && model->status < STATUSES
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
