/* FMI 3.0 for co-simulation and model exchange: a thin layer over instance.h.
 *
 * The names, numbers and signatures are those of the standard; only what is used is declared.
 * Functions of what this unit does not have return an error.
 */
#include <stdbool.h>
#include <stdint.h>

#ifdef FMI3_FUNCTION_PREFIX
#define FUNCTION_PREFIX FMI3_FUNCTION_PREFIX
#endif
#include "instance.h"
#include "layer.h"

typedef void *fmi3Instance;
typedef void *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef float fmi3Float32;
typedef double fmi3Float64;
typedef int8_t fmi3Int8;
typedef uint8_t fmi3UInt8;
typedef int16_t fmi3Int16;
typedef uint16_t fmi3UInt16;
typedef int32_t fmi3Int32;
typedef uint32_t fmi3UInt32;
typedef int64_t fmi3Int64;
typedef uint64_t fmi3UInt64;
typedef bool fmi3Boolean;
typedef bool fmi3Clock;
typedef const char *fmi3String;
typedef uint8_t fmi3Byte;
typedef const fmi3Byte *fmi3Binary;
typedef int fmi3Status; /* OK 0, warning 1, discard 2, error 3, fatal 4 */
typedef int fmi3DependencyKind;
typedef int fmi3IntervalQualifier;
typedef void fmi3LogMessage(void *, fmi3Status, fmi3String, fmi3String);
typedef void fmi3Update(
    void *, fmi3Float64, fmi3Boolean, fmi3Boolean, fmi3Boolean, fmi3Boolean, fmi3Boolean *,
    fmi3Float64 *);
typedef void fmi3ClockUpdate(void *);
typedef void fmi3Preemption(void);

typedef struct {
    fmi3LogMessage *message;
} Logger;

static void log_message(const Instance *instance, int level, const char *category, const char *text)
{
    const Logger *logger = instance->logger;
    logger->message(instance->environment, level, category, text);
}

static Instance *make(
    fmi3String name, fmi3String token, int exchange, void *environment, fmi3LogMessage *log)
{
    Instance *instance = instance_new(name, exchange, sizeof(Logger));
    if (!instance)
        return NULL;
    if (log) {
        Logger *logger = instance->logger;
        logger->message = log;
        instance->environment = environment;
        instance->log = log_message;
    }
    if (token && strcmp(token, TOKEN) == 0)
        return instance;
    report(instance, LEVEL_ERROR, "the instantiation token is not that of this unit, " TOKEN);
    instance_free(instance);
    return NULL;
}

FMI(const char *, fmi3GetVersion, void)
{
    return "3.0";
}

FMI(fmi3Status, fmi3SetDebugLogging, fmi3Instance own, fmi3Boolean on, size_t count,
    const fmi3String categories[])
{
    OWN(own);
    (void)on; /* there are no debug messages; errors are always told */
    return check_categories(instance, categories, count);
}

FMI(fmi3Instance, fmi3InstantiateCoSimulation, fmi3String name, fmi3String token,
    fmi3String resources, fmi3Boolean visible, fmi3Boolean logging, fmi3Boolean events,
    fmi3Boolean early, const fmi3ValueReference intermediate[], size_t count, void *environment,
    fmi3LogMessage *log, fmi3Update *update)
{
    (void)resources;
    (void)visible;
    (void)logging;
    (void)events;
    (void)early;
    (void)intermediate;
    (void)count;
    (void)update;
    return make(name, token, 0, environment, log);
}

FMI(fmi3Instance, fmi3InstantiateModelExchange, fmi3String name, fmi3String token,
    fmi3String resources, fmi3Boolean visible, fmi3Boolean logging, void *environment,
    fmi3LogMessage *log)
{
    (void)resources;
    (void)visible;
    (void)logging;
    return make(name, token, 1, environment, log);
}

FMI(fmi3Instance, fmi3InstantiateScheduledExecution, fmi3String name, fmi3String token,
    fmi3String resources, fmi3Boolean visible, fmi3Boolean logging, void *environment,
    fmi3LogMessage *log, fmi3ClockUpdate *clock, fmi3Preemption *lock, fmi3Preemption *unlock)
{
    (void)name;
    (void)token;
    (void)resources;
    (void)visible;
    (void)logging;
    (void)clock;
    (void)lock;
    (void)unlock;
    if (log)
        log(environment, LEVEL_ERROR, "logStatusError", "this unit has no scheduled execution");
    return NULL;
}

FMI(void, fmi3FreeInstance, fmi3Instance own)
{
    instance_free(own);
}

FMI(fmi3Status, fmi3EnterInitializationMode, fmi3Instance own, fmi3Boolean tolerance_defined,
    fmi3Float64 tolerance, fmi3Float64 start, fmi3Boolean stop_defined, fmi3Float64 stop)
{
    OWN(own);
    (void)tolerance_defined; /* the integration has a fixed step */
    (void)tolerance;
    (void)stop_defined;
    (void)stop;
    return enter_initialization(instance, start);
}

FMI(fmi3Status, fmi3ExitInitializationMode, fmi3Instance own)
{
    OWN(own);
    return exit_initialization(instance);
}

FMI(fmi3Status, fmi3Terminate, fmi3Instance own)
{
    OWN(own);
    return terminate(instance);
}

FMI(fmi3Status, fmi3Reset, fmi3Instance own)
{
    OWN(own);
    start_over(instance);
    return LEVEL_OK;
}

/* As many values as the variables have: arrays count with all of theirs. */
static int same_count(const Instance *instance, size_t needed, size_t values)
{
    if (needed == values)
        return LEVEL_OK;
    return report(
        instance, LEVEL_ERROR, "%lu values were given; allowed: %lu", (unsigned long)values,
        (unsigned long)needed);
}

/* The same of real variables, which must begin an array or stand alone. */
static int real_count(
    const Instance *instance, const fmi3ValueReference *references, size_t count, size_t values)
{
    size_t needed = 0;
    for (size_t i = 0; i < count; i++) {
        if (references[i] >= REALS || VARIABLES[references[i]].size == 0)
            return report(
                instance, LEVEL_ERROR, "no real variable has reference %u", references[i]);
        needed += VARIABLES[references[i]].size;
    }
    return same_count(instance, needed, values);
}

FMI(fmi3Status, fmi3GetFloat64, fmi3Instance own, const fmi3ValueReference references[],
    size_t count, fmi3Float64 values[], size_t value_count)
{
    OWN(own);
    int level = real_count(instance, references, count, value_count);
    for (size_t i = 0; i < count && level == LEVEL_OK; i++)
        for (unsigned k = 0; k < VARIABLES[references[i]].size && level == LEVEL_OK; k++)
            level = get_real(instance, references[i] + k, values++);
    return level;
}

FMI(fmi3Status, fmi3SetFloat64, fmi3Instance own, const fmi3ValueReference references[],
    size_t count, const fmi3Float64 values[], size_t value_count)
{
    OWN(own);
    int worst = real_count(instance, references, count, value_count);
    if (worst != LEVEL_OK)
        return worst;
    for (size_t i = 0; i < count; i++)
        for (unsigned k = 0; k < VARIABLES[references[i]].size; k++) { /* all are tried */
            const int level = set_real(instance, references[i] + k, *values++);
            worst = level > worst ? level : worst;
        }
    return worst;
}

FMI(fmi3Status, fmi3GetString, fmi3Instance own, const fmi3ValueReference references[],
    size_t count, fmi3String values[], size_t value_count)
{
    OWN(own);
    const int level = same_count(instance, count, value_count);
    for (size_t i = 0; i < count && level == LEVEL_OK; i++) {
        values[i] = get_string(references[i]);
        if (!values[i])
            return report(
                instance, LEVEL_ERROR, "no string variable has reference %u", references[i]);
    }
    return level;
}

FMI(fmi3Status, fmi3GetDirectionalDerivative, fmi3Instance own,
    const fmi3ValueReference unknowns[], size_t unknown_count, const fmi3ValueReference knowns[],
    size_t known_count, const fmi3Float64 seed[], size_t seed_count, fmi3Float64 sensitivity[],
    size_t sensitivity_count)
{
    OWN(own);
    real direction[REALS] = { 0 }, change[REALS];
    int level = real_count(instance, knowns, known_count, seed_count);
    if (level == LEVEL_OK)
        level = real_count(instance, unknowns, unknown_count, sensitivity_count);
    for (size_t i = 0; i < known_count && level == LEVEL_OK; i++)
        for (unsigned k = 0; k < VARIABLES[knowns[i]].size && level == LEVEL_OK; k++)
            level = add_seed(instance, direction, knowns[i] + k, *seed++);
    if (level == LEVEL_OK)
        level = change_along(instance, direction, change);
    for (size_t i = 0; i < unknown_count && level == LEVEL_OK; i++)
        for (unsigned k = 0; k < VARIABLES[unknowns[i]].size && level == LEVEL_OK; k++)
            level = get_change(instance, change, unknowns[i] + k, sensitivity++);
    return level;
}

FMI(fmi3Status, fmi3EnterEventMode, fmi3Instance own)
{
    OWN(own);
    return enter_event_mode(instance);
}

FMI(fmi3Status, fmi3EnterContinuousTimeMode, fmi3Instance own)
{
    OWN(own);
    return enter_continuous_mode(instance);
}

FMI(fmi3Status, fmi3UpdateDiscreteStates, fmi3Instance own, fmi3Boolean *again, fmi3Boolean *stop,
    fmi3Boolean *nominals, fmi3Boolean *values, fmi3Boolean *defined, fmi3Float64 *next)
{
    OWN(own);
    *again = *stop = *nominals = *values = *defined = false; /* there are no events of its own */
    *next = 0;
    if (instance->mode != EVENT)
        return report(instance, LEVEL_ERROR, "discrete states are asked for in event mode");
    return LEVEL_OK;
}

FMI(fmi3Status, fmi3CompletedIntegratorStep, fmi3Instance own, fmi3Boolean no_set,
    fmi3Boolean *event, fmi3Boolean *stop)
{
    OWN(own);
    (void)no_set;
    *event = *stop = false;
    if (instance->mode != CONTINUOUS)
        return report(instance, LEVEL_ERROR, "an integrator steps in continuous time");
    return LEVEL_OK;
}

FMI(fmi3Status, fmi3SetTime, fmi3Instance own, fmi3Float64 time)
{
    OWN(own);
    return set_time(instance, time);
}

FMI(fmi3Status, fmi3SetContinuousStates, fmi3Instance own, const fmi3Float64 states[], size_t count)
{
    OWN(own);
    return set_states(instance, states, count);
}

FMI(fmi3Status, fmi3GetContinuousStates, fmi3Instance own, fmi3Float64 states[], size_t count)
{
    OWN(own);
    return get_states(instance, states, count);
}

FMI(fmi3Status, fmi3GetContinuousStateDerivatives, fmi3Instance own, fmi3Float64 derivatives[],
    size_t count)
{
    OWN(own);
    return get_slopes(instance, derivatives, count);
}

FMI(fmi3Status, fmi3GetNominalsOfContinuousStates, fmi3Instance own, fmi3Float64 nominals[],
    size_t count)
{
    OWN(own);
    return get_nominals(instance, nominals, count);
}

FMI(fmi3Status, fmi3GetNumberOfContinuousStates, fmi3Instance own, size_t *count)
{
    OWN(own);
    (void)instance;
    *count = STATES;
    return LEVEL_OK;
}

FMI(fmi3Status, fmi3GetNumberOfEventIndicators, fmi3Instance own, size_t *count)
{
    OWN(own);
    (void)instance;
    *count = 0;
    return LEVEL_OK;
}

FMI(fmi3Status, fmi3GetEventIndicators, fmi3Instance own, fmi3Float64 indicators[], size_t count)
{
    OWN(own);
    (void)indicators;
    return count ? report(instance, LEVEL_ERROR, "there are no event indicators") : LEVEL_OK;
}

FMI(fmi3Status, fmi3GetInt32, fmi3Instance own, const fmi3ValueReference references[], size_t count,
    fmi3Int32 values[], size_t value_count)
{
    OWN(own);
    int level = same_count(instance, count, value_count);
    for (size_t i = 0; i < count && level == LEVEL_OK; i++) {
        int value = 0;
        level = get_integer(instance, references[i], &value);
        values[i] = value;
    }
    return level;
}

FMI(fmi3Status, fmi3GetBoolean, fmi3Instance own, const fmi3ValueReference references[],
    size_t count, fmi3Boolean values[], size_t value_count)
{
    OWN(own);
    int level = same_count(instance, count, value_count);
    for (size_t i = 0; i < count && level == LEVEL_OK; i++) {
        int value = 0;
        level = get_boolean(instance, references[i], &value);
        values[i] = value != 0;
    }
    return level;
}

FMI(fmi3Status, fmi3SetBoolean, fmi3Instance own, const fmi3ValueReference references[],
    size_t count, const fmi3Boolean values[], size_t value_count)
{
    OWN(own);
    int level = same_count(instance, count, value_count);
    for (size_t i = 0; i < count && level == LEVEL_OK; i++)
        level = set_boolean(instance, references[i], values[i]);
    return level;
}

FMI(fmi3Status, fmi3GetFMUState, fmi3Instance own, fmi3FMUState *state)
{
    OWN(own);
    return save_state(instance, state);
}

FMI(fmi3Status, fmi3SetFMUState, fmi3Instance own, fmi3FMUState state)
{
    OWN(own);
    return restore_state(instance, state);
}

FMI(fmi3Status, fmi3FreeFMUState, fmi3Instance own, fmi3FMUState *state)
{
    (void)own;
    if (state) {
        free(*state);
        *state = NULL;
    }
    return LEVEL_OK;
}

FMI(fmi3Status, fmi3SerializedFMUStateSize, fmi3Instance own, fmi3FMUState state, size_t *size)
{
    OWN(own);
    (void)instance;
    (void)state;
    *size = sizeof(Snapshot);
    return LEVEL_OK;
}

FMI(fmi3Status, fmi3SerializeFMUState, fmi3Instance own, fmi3FMUState state, fmi3Byte bytes[],
    size_t size)
{
    OWN(own);
    return write_state(instance, state, bytes, size);
}

FMI(fmi3Status, fmi3DeserializeFMUState, fmi3Instance own, const fmi3Byte bytes[], size_t size,
    fmi3FMUState *state)
{
    OWN(own);
    return read_state(instance, bytes, size, state);
}

FMI(fmi3Status, fmi3DoStep, fmi3Instance own, fmi3Float64 time, fmi3Float64 step,
    fmi3Boolean no_return, fmi3Boolean *event, fmi3Boolean *stop, fmi3Boolean *early,
    fmi3Float64 *last)
{
    OWN(own);
    (void)no_return;
    const int level = do_step(instance, time, step);
    *event = false;
    *early = false;
    *stop = STOPS_FOR_GOOD && instance->model.status != GOOD;
    *last = instance->model.time;
    return level;
}

/* What this unit does not have. */
#define ABSENT(name, what, ...) \
    FMI(fmi3Status, name, fmi3Instance own, __VA_ARGS__) \
    { \
        return own ? report(own, LEVEL_ERROR, "%s: %s", #name, what) : LEVEL_ERROR; \
    }
#define ABSENT_MODE(name) \
    FMI(fmi3Status, name, fmi3Instance own) \
    { \
        return own ? report(own, LEVEL_ERROR, "%s: there is no such mode", #name) : LEVEL_ERROR; \
    }
#define NO_TYPE "no variable of this type can be read or set"
#define NO_CLOCK "there are no clocks"
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

#define REFERENCES const fmi3ValueReference references[], size_t count
#define ABSENT_GET(type) \
    ABSENT(fmi3Get##type, NO_TYPE, REFERENCES, fmi3##type values[], size_t value_count)
#define ABSENT_SET(type) \
    ABSENT(fmi3Set##type, NO_TYPE, REFERENCES, const fmi3##type values[], size_t value_count)

ABSENT_GET(Float32)
ABSENT_GET(Int8)
ABSENT_GET(UInt8)
ABSENT_GET(Int16)
ABSENT_GET(UInt16)
ABSENT_GET(UInt32)
ABSENT_GET(Int64)
ABSENT_GET(UInt64)
ABSENT_SET(Float32)
ABSENT_SET(Int8)
ABSENT_SET(UInt8)
ABSENT_SET(Int16)
ABSENT_SET(UInt16)
ABSENT_SET(Int32)
ABSENT_SET(UInt32)
ABSENT_SET(Int64)
ABSENT_SET(UInt64)
ABSENT_SET(String)
ABSENT(fmi3GetBinary, NO_TYPE, REFERENCES, size_t sizes[], fmi3Binary values[], size_t value_count)
ABSENT(fmi3SetBinary, NO_TYPE, REFERENCES, const size_t sizes[], const fmi3Binary values[],
       size_t value_count)
ABSENT(fmi3GetClock, NO_CLOCK, REFERENCES, fmi3Clock values[])
ABSENT(fmi3SetClock, NO_CLOCK, REFERENCES, const fmi3Clock values[])
ABSENT(fmi3GetIntervalDecimal, NO_CLOCK, REFERENCES, fmi3Float64 intervals[],
       fmi3IntervalQualifier qualifiers[])
ABSENT(fmi3GetIntervalFraction, NO_CLOCK, REFERENCES, fmi3UInt64 counters[],
       fmi3UInt64 resolutions[], fmi3IntervalQualifier qualifiers[])
ABSENT(fmi3GetShiftDecimal, NO_CLOCK, REFERENCES, fmi3Float64 shifts[])
ABSENT(fmi3GetShiftFraction, NO_CLOCK, REFERENCES, fmi3UInt64 counters[], fmi3UInt64 resolutions[])
ABSENT(fmi3SetIntervalDecimal, NO_CLOCK, REFERENCES, const fmi3Float64 intervals[])
ABSENT(fmi3SetIntervalFraction, NO_CLOCK, REFERENCES, const fmi3UInt64 counters[],
       const fmi3UInt64 resolutions[])
ABSENT(fmi3SetShiftDecimal, NO_CLOCK, REFERENCES, const fmi3Float64 shifts[])
ABSENT(fmi3SetShiftFraction, NO_CLOCK, REFERENCES, const fmi3UInt64 counters[],
       const fmi3UInt64 resolutions[])
ABSENT(fmi3ActivateModelPartition, NO_CLOCK, fmi3ValueReference clock, fmi3Float64 time)
ABSENT(fmi3GetNumberOfVariableDependencies, "use the model description",
       fmi3ValueReference reference, size_t *count)
ABSENT(fmi3GetVariableDependencies, "use the model description", fmi3ValueReference dependent,
       size_t places[], fmi3ValueReference independents[], size_t others[],
       fmi3DependencyKind kinds[], size_t count)
ABSENT(fmi3GetAdjointDerivative, "derivatives are not provided", REFERENCES,
       const fmi3ValueReference knowns[], size_t known_count, const fmi3Float64 seed[],
       size_t seed_count, fmi3Float64 sensitivity[], size_t sensitivity_count)
ABSENT(fmi3GetOutputDerivatives, "derivatives are not provided", REFERENCES,
       const fmi3Int32 orders[], fmi3Float64 values[], size_t value_count)
ABSENT_MODE(fmi3EnterConfigurationMode)
ABSENT_MODE(fmi3ExitConfigurationMode)
ABSENT_MODE(fmi3EnterStepMode)
ABSENT_MODE(fmi3EvaluateDiscreteStates)
