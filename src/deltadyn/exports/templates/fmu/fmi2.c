/* FMI 2.0 for co-simulation and model exchange: a thin layer over instance.h.
 *
 * The names, numbers and signatures are those of the standard; only what is used is declared.
 */
#ifdef FMI2_FUNCTION_PREFIX
#define FUNCTION_PREFIX FMI2_FUNCTION_PREFIX
#endif
#include "instance.h"
#include "layer.h"

typedef void *fmi2Component;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef const char *fmi2String;
typedef char fmi2Byte;
typedef int fmi2Status; /* OK 0, warning 1, discard 2, error 3, fatal 4, pending 5 */
typedef void fmi2Logger(void *, fmi2String, fmi2Status, fmi2String, fmi2String, ...);

typedef struct {
    fmi2Logger *logger;
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(void *, fmi2Status);
    void *componentEnvironment;
} fmi2CallbackFunctions;

typedef struct {
    fmi2Boolean newDiscreteStatesNeeded, terminateSimulation, nominalsOfContinuousStatesChanged;
    fmi2Boolean valuesOfContinuousStatesChanged, nextEventTimeDefined;
    fmi2Real nextEventTime;
} fmi2EventInfo;

enum { MODEL_EXCHANGE = 0, CO_SIMULATION = 1 };
enum { DO_STEP_STATUS, PENDING_STATUS, LAST_SUCCESSFUL_TIME, TERMINATED_STATUS };

static void log_message(const Instance *instance, int level, const char *category, const char *text)
{
    const fmi2CallbackFunctions *callbacks = instance->logger;
    if (callbacks->logger) /* no text has a percent sign, and some environments show it as it is */
        callbacks->logger(instance->environment, instance->name, level, category, text);
}

FMI(fmi2String, fmi2GetTypesPlatform, void)
{
    return "default";
}

FMI(fmi2String, fmi2GetVersion, void)
{
    return "2.0";
}

FMI(fmi2Status, fmi2SetDebugLogging, fmi2Component c, fmi2Boolean on, size_t count,
    const fmi2String categories[])
{
    OWN(c);
    (void)on; /* there are no debug messages; errors are always told */
    return check_categories(instance, categories, count);
}

FMI(fmi2Component, fmi2Instantiate, fmi2String name, int type, fmi2String guid, fmi2String resources,
    const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    (void)resources;
    (void)visible;
    (void)logging;
    Instance *instance = instance_new(
        name, type == MODEL_EXCHANGE, sizeof(fmi2CallbackFunctions));
    if (!instance)
        return NULL;
    if (functions) {
        memcpy(instance->logger, functions, sizeof(*functions));
        instance->environment = functions->componentEnvironment;
        instance->log = log_message;
    }
    if (type != CO_SIMULATION && type != MODEL_EXCHANGE)
        report(instance, LEVEL_ERROR, "type is %d; allowed: 0 exchange, 1 co-simulation", type);
    else if (!guid || strcmp(guid, TOKEN) != 0)
        report(instance, LEVEL_ERROR, "the GUID is not that of this unit, " TOKEN);
    else
        return instance;
    instance_free(instance);
    return NULL;
}

FMI(void, fmi2FreeInstance, fmi2Component c)
{
    instance_free(c);
}

FMI(fmi2Status, fmi2SetupExperiment, fmi2Component c, fmi2Boolean tolerance_defined,
    fmi2Real tolerance, fmi2Real start, fmi2Boolean stop_defined, fmi2Real stop)
{
    OWN(c);
    (void)tolerance_defined; /* the integration has a fixed step */
    (void)tolerance;
    (void)stop_defined;
    (void)stop;
    if (instance->mode != INSTANTIATED)
        return report(instance, LEVEL_ERROR, "the experiment is set up before initialization");
    if (!all_finite(&start, 1))
        return report(instance, LEVEL_ERROR, "start time is %g; allowed: a finite number", start);
    instance->model.time = start;
    return LEVEL_OK;
}

FMI(fmi2Status, fmi2EnterInitializationMode, fmi2Component c)
{
    OWN(c);
    return enter_initialization(instance, instance->model.time);
}

FMI(fmi2Status, fmi2ExitInitializationMode, fmi2Component c)
{
    OWN(c);
    return exit_initialization(instance);
}

FMI(fmi2Status, fmi2Terminate, fmi2Component c)
{
    OWN(c);
    return terminate(instance);
}

FMI(fmi2Status, fmi2Reset, fmi2Component c)
{
    OWN(c);
    start_over(instance);
    return LEVEL_OK;
}

FMI(fmi2Status, fmi2GetReal, fmi2Component c, const fmi2ValueReference references[], size_t count,
    fmi2Real values[])
{
    OWN(c);
    int level = LEVEL_OK;
    for (size_t i = 0; i < count && level == LEVEL_OK; i++)
        level = get_real(instance, references[i], values + i);
    return level;
}

FMI(fmi2Status, fmi2SetReal, fmi2Component c, const fmi2ValueReference references[], size_t count,
    const fmi2Real values[])
{
    OWN(c);
    int worst = LEVEL_OK; /* all values are tried */
    for (size_t i = 0; i < count; i++) {
        const int level = set_real(instance, references[i], values[i]);
        worst = level > worst ? level : worst;
    }
    return worst;
}

FMI(fmi2Status, fmi2GetInteger, fmi2Component c, const fmi2ValueReference references[],
    size_t count, fmi2Integer values[])
{
    OWN(c);
    int level = LEVEL_OK;
    for (size_t i = 0; i < count && level == LEVEL_OK; i++)
        level = get_integer(instance, references[i], values + i);
    return level;
}

FMI(fmi2Status, fmi2SetInteger, fmi2Component c, const fmi2ValueReference references[],
    size_t count, const fmi2Integer values[])
{
    OWN(c);
    (void)references;
    (void)values;
    return count ? report(instance, LEVEL_ERROR, "no integer variable can be set") : LEVEL_OK;
}

FMI(fmi2Status, fmi2GetBoolean, fmi2Component c, const fmi2ValueReference references[],
    size_t count, fmi2Boolean values[])
{
    OWN(c);
    int level = LEVEL_OK;
    for (size_t i = 0; i < count && level == LEVEL_OK; i++)
        level = get_boolean(instance, references[i], values + i);
    return level;
}

FMI(fmi2Status, fmi2SetBoolean, fmi2Component c, const fmi2ValueReference references[],
    size_t count, const fmi2Boolean values[])
{
    OWN(c);
    int level = LEVEL_OK;
    for (size_t i = 0; i < count && level == LEVEL_OK; i++)
        level = set_boolean(instance, references[i], values[i]);
    return level;
}

FMI(fmi2Status, fmi2GetString, fmi2Component c, const fmi2ValueReference references[],
    size_t count, fmi2String values[])
{
    OWN(c);
    for (size_t i = 0; i < count; i++) {
        values[i] = get_string(references[i]);
        if (!values[i])
            return report(
                instance, LEVEL_ERROR, "no string variable has reference %u", references[i]);
    }
    return LEVEL_OK;
}

FMI(fmi2Status, fmi2SetString, fmi2Component c, const fmi2ValueReference references[],
    size_t count, const fmi2String values[])
{
    OWN(c);
    (void)references;
    (void)values;
    return count ? report(instance, LEVEL_ERROR, "no string variable can be set") : LEVEL_OK;
}

FMI(fmi2Status, fmi2GetFMUstate, fmi2Component c, fmi2FMUstate *state)
{
    OWN(c);
    return save_state(instance, state);
}

FMI(fmi2Status, fmi2SetFMUstate, fmi2Component c, fmi2FMUstate state)
{
    OWN(c);
    return restore_state(instance, state);
}

FMI(fmi2Status, fmi2FreeFMUstate, fmi2Component c, fmi2FMUstate *state)
{
    (void)c;
    if (state) {
        free(*state);
        *state = NULL;
    }
    return LEVEL_OK;
}

FMI(fmi2Status, fmi2SerializedFMUstateSize, fmi2Component c, fmi2FMUstate state, size_t *size)
{
    OWN(c);
    (void)instance;
    (void)state;
    *size = sizeof(Snapshot);
    return LEVEL_OK;
}

FMI(fmi2Status, fmi2SerializeFMUstate, fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[],
    size_t size)
{
    OWN(c);
    return write_state(instance, state, (unsigned char *)bytes, size);
}

FMI(fmi2Status, fmi2DeSerializeFMUstate, fmi2Component c, const fmi2Byte bytes[], size_t size,
    fmi2FMUstate *state)
{
    OWN(c);
    return read_state(instance, (const unsigned char *)bytes, size, state);
}

FMI(fmi2Status, fmi2GetDirectionalDerivative, fmi2Component c, const fmi2ValueReference unknowns[],
    size_t unknown_count, const fmi2ValueReference knowns[], size_t known_count,
    const fmi2Real known_change[], fmi2Real unknown_change[])
{
    OWN(c);
    real direction[REALS] = { 0 }, change[REALS];
    int level = LEVEL_OK;
    for (size_t i = 0; i < known_count && level == LEVEL_OK; i++)
        level = add_seed(instance, direction, knowns[i], known_change[i]);
    if (level == LEVEL_OK)
        level = change_along(instance, direction, change);
    for (size_t i = 0; i < unknown_count && level == LEVEL_OK; i++)
        level = get_change(instance, change, unknowns[i], unknown_change + i);
    return level;
}

FMI(fmi2Status, fmi2EnterEventMode, fmi2Component c)
{
    OWN(c);
    return enter_event_mode(instance);
}

FMI(fmi2Status, fmi2NewDiscreteStates, fmi2Component c, fmi2EventInfo *info)
{
    OWN(c);
    memset(info, 0, sizeof(*info)); /* there are no events of its own */
    if (instance->mode != EVENT)
        return report(instance, LEVEL_ERROR, "discrete states are asked for in event mode");
    return LEVEL_OK;
}

FMI(fmi2Status, fmi2EnterContinuousTimeMode, fmi2Component c)
{
    OWN(c);
    return enter_continuous_mode(instance);
}

FMI(fmi2Status, fmi2CompletedIntegratorStep, fmi2Component c, fmi2Boolean no_set,
    fmi2Boolean *event, fmi2Boolean *terminate_simulation)
{
    OWN(c);
    (void)no_set;
    *event = 0;
    *terminate_simulation = 0;
    if (instance->mode != CONTINUOUS)
        return report(instance, LEVEL_ERROR, "an integrator steps in continuous time");
    return LEVEL_OK;
}

FMI(fmi2Status, fmi2SetTime, fmi2Component c, fmi2Real time)
{
    OWN(c);
    return set_time(instance, time);
}

FMI(fmi2Status, fmi2SetContinuousStates, fmi2Component c, const fmi2Real states[], size_t count)
{
    OWN(c);
    return set_states(instance, states, count);
}

FMI(fmi2Status, fmi2GetContinuousStates, fmi2Component c, fmi2Real states[], size_t count)
{
    OWN(c);
    return get_states(instance, states, count);
}

FMI(fmi2Status, fmi2GetDerivatives, fmi2Component c, fmi2Real derivatives[], size_t count)
{
    OWN(c);
    return get_slopes(instance, derivatives, count);
}

FMI(fmi2Status, fmi2GetNominalsOfContinuousStates, fmi2Component c, fmi2Real nominals[],
    size_t count)
{
    OWN(c);
    return get_nominals(instance, nominals, count);
}

FMI(fmi2Status, fmi2GetEventIndicators, fmi2Component c, fmi2Real indicators[], size_t count)
{
    OWN(c);
    (void)indicators;
    return count ? report(instance, LEVEL_ERROR, "there are no event indicators") : LEVEL_OK;
}

FMI(fmi2Status, fmi2SetRealInputDerivatives, fmi2Component c,
    const fmi2ValueReference references[], size_t count, const fmi2Integer orders[],
    const fmi2Real values[])
{
    OWN(c);
    (void)references;
    (void)count;
    (void)orders;
    (void)values;
    return report(instance, LEVEL_ERROR, "inputs are held, their derivatives are not used");
}

FMI(fmi2Status, fmi2GetRealOutputDerivatives, fmi2Component c,
    const fmi2ValueReference references[], size_t count, const fmi2Integer orders[],
    fmi2Real values[])
{
    OWN(c);
    (void)references;
    (void)count;
    (void)orders;
    (void)values;
    return report(instance, LEVEL_ERROR, "derivatives of outputs are not provided");
}

FMI(fmi2Status, fmi2DoStep, fmi2Component c, fmi2Real time, fmi2Real step, fmi2Boolean no_return)
{
    OWN(c);
    (void)no_return;
    return do_step(instance, time, step);
}

FMI(fmi2Status, fmi2CancelStep, fmi2Component c)
{
    OWN(c);
    return report(instance, LEVEL_ERROR, "steps end before they return, none can be cancelled");
}

FMI(fmi2Status, fmi2GetStatus, fmi2Component c, int kind, fmi2Status *value)
{
    OWN(c);
    (void)value;
    return report(instance, LEVEL_DISCARD, "status %d is not provided", kind);
}

FMI(fmi2Status, fmi2GetRealStatus, fmi2Component c, int kind, fmi2Real *value)
{
    OWN(c);
    if (kind != LAST_SUCCESSFUL_TIME)
        return report(instance, LEVEL_DISCARD, "real status %d is not provided", kind);
    *value = instance->model.time;
    return LEVEL_OK;
}

FMI(fmi2Status, fmi2GetIntegerStatus, fmi2Component c, int kind, fmi2Integer *value)
{
    OWN(c);
    (void)value;
    return report(instance, LEVEL_DISCARD, "integer status %d is not provided", kind);
}

FMI(fmi2Status, fmi2GetBooleanStatus, fmi2Component c, int kind, fmi2Boolean *value)
{
    OWN(c);
    if (kind != TERMINATED_STATUS)
        return report(instance, LEVEL_DISCARD, "boolean status %d is not provided", kind);
    *value = STOPS_FOR_GOOD && instance->model.status != GOOD;
    return LEVEL_OK;
}

FMI(fmi2Status, fmi2GetStringStatus, fmi2Component c, int kind, fmi2String *value)
{
    OWN(c);
    (void)value;
    return report(instance, LEVEL_DISCARD, "string status %d is not provided", kind);
}
