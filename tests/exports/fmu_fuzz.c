/* Calls the functions of a unit directly, in right and wrong order, with any values.
 *
 * Compiled together with the unit's source under sanitizers: -DVERSION=2 or 3. Prints how many calls
 * went well, were discarded and were errors; a status outside 0, 2, 3 or an output that is not finite
 * is a failure.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if VERSION == 2
typedef struct {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *allocate, *release, *finished, *environment;
} callbacks;
void *fmi2Instantiate(
    const char *, int, const char *, const char *, const callbacks *, int, int);
void fmi2FreeInstance(void *);
int fmi2SetupExperiment(void *, int, double, double, int, double);
int fmi2EnterInitializationMode(void *);
int fmi2ExitInitializationMode(void *);
int fmi2Terminate(void *);
int fmi2Reset(void *);
int fmi2GetReal(void *, const unsigned *, size_t, double *);
int fmi2SetReal(void *, const unsigned *, size_t, const double *);
int fmi2GetInteger(void *, const unsigned *, size_t, int *);
int fmi2SetBoolean(void *, const unsigned *, size_t, const int *);
int fmi2GetFMUstate(void *, void **);
int fmi2SetFMUstate(void *, void *);
int fmi2FreeFMUstate(void *, void **);
int fmi2SerializedFMUstateSize(void *, void *, size_t *);
int fmi2SerializeFMUstate(void *, void *, char *, size_t);
int fmi2DeSerializeFMUstate(void *, const char *, size_t, void **);
int fmi2DoStep(void *, double, double, int);
int fmi2GetRealStatus(void *, int, double *);
int fmi2GetDirectionalDerivative(
    void *, const unsigned *, size_t, const unsigned *, size_t, const double *, double *);
typedef struct {
    int flags[5];
    double next;
} event_info;
int fmi2EnterEventMode(void *);
int fmi2NewDiscreteStates(void *, event_info *);
int fmi2EnterContinuousTimeMode(void *);
int fmi2SetTime(void *, double);
int fmi2SetContinuousStates(void *, const double *, size_t);
int fmi2GetContinuousStates(void *, double *, size_t);
int fmi2GetDerivatives(void *, double *, size_t);
int fmi2GetString(void *, const unsigned *, size_t, const char **);
#else
void *fmi3InstantiateCoSimulation(
    const char *, const char *, const char *, bool, bool, bool, bool, const unsigned *, size_t,
    void *, void (*)(void *, int, const char *, const char *), void *);
void fmi3FreeInstance(void *);
int fmi3EnterInitializationMode(void *, bool, double, double, bool, double);
int fmi3ExitInitializationMode(void *);
int fmi3Terminate(void *);
int fmi3Reset(void *);
int fmi3GetFloat64(void *, const unsigned *, size_t, double *, size_t);
int fmi3SetFloat64(void *, const unsigned *, size_t, const double *, size_t);
int fmi3GetInt32(void *, const unsigned *, size_t, int *, size_t);
int fmi3SetBoolean(void *, const unsigned *, size_t, const bool *, size_t);
int fmi3GetFMUState(void *, void **);
int fmi3SetFMUState(void *, void *);
int fmi3FreeFMUState(void *, void **);
int fmi3SerializedFMUStateSize(void *, void *, size_t *);
int fmi3SerializeFMUState(void *, void *, unsigned char *, size_t);
int fmi3DeserializeFMUState(void *, const unsigned char *, size_t, void **);
int fmi3DoStep(void *, double, double, bool, bool *, bool *, bool *, double *);
void *fmi3InstantiateModelExchange(
    const char *, const char *, const char *, bool, bool, void *,
    void (*)(void *, int, const char *, const char *));
int fmi3GetDirectionalDerivative(
    void *, const unsigned *, size_t, const unsigned *, size_t, const double *, size_t, double *,
    size_t);
int fmi3EnterEventMode(void *);
int fmi3UpdateDiscreteStates(void *, bool *, bool *, bool *, bool *, bool *, double *);
int fmi3EnterContinuousTimeMode(void *);
int fmi3SetTime(void *, double);
int fmi3SetContinuousStates(void *, const double *, size_t);
int fmi3GetContinuousStates(void *, double *, size_t);
int fmi3GetContinuousStateDerivatives(void *, double *, size_t);
int fmi3GetString(void *, const unsigned *, size_t, const char **, size_t);
#endif

enum { MOST = 8 };
static long counts[4];
static size_t many = 1; /* values of an array of FMI 3.0 */

static int counted(int status)
{
    if (status != 0 && status != 2 && status != 3) {
        printf("status %d\n", status);
        exit(1);
    }
    counts[status]++;
    return status;
}

#if VERSION == 2
static void hear(void *e, const char *n, int s, const char *c, const char *message, ...)
{
    (void)e, (void)n, (void)s, (void)c;
    if (strchr(message, '%'))
        exit(1);
}
static void *make(const char *token, int exchange)
{
    static const callbacks own = { hear, NULL, NULL, NULL, NULL };
    return fmi2Instantiate("fuzz", !exchange, token, NULL, &own, 0, 1);
}
static int discrete(void *u)
{
    event_info info;
    return fmi2NewDiscreteStates(u, &info);
}
#define EVENTS fmi2EnterEventMode
#define CONTINUE fmi2EnterContinuousTimeMode
#define TIME fmi2SetTime
#define PUT fmi2SetContinuousStates
#define TAKE fmi2GetContinuousStates
#define SLOPES fmi2GetDerivatives
#define ALONG(u, r, k, s, d) fmi2GetDirectionalDerivative(u, r, 1, k, 1, s, d)
#define TEXT(u, r, t) fmi2GetString(u, r, 1, t)
#define FREE fmi2FreeInstance
static int begin(void *u)
{
    const int status = fmi2SetupExperiment(u, 0, 0, 0, 0, 0);
    return status ? status : fmi2EnterInitializationMode(u);
}
#define READY fmi2ExitInitializationMode
#define END fmi2Terminate
#define RESET fmi2Reset
#define GET(u, r, v) fmi2GetReal(u, r, 1, v)
#define SET(u, r, v) fmi2SetReal(u, r, 1, v)
#define STATUS(u, r, v) fmi2GetInteger(u, r, 1, v)
static int flag(void *u, const unsigned *r, int value)
{
    return fmi2SetBoolean(u, r, 1, &value);
}
#define SAVE fmi2GetFMUstate
#define LOAD fmi2SetFMUstate
#define DROP fmi2FreeFMUstate
#define SIZE fmi2SerializedFMUstateSize
#define WRITE(u, s, b, n) fmi2SerializeFMUstate(u, s, (char *)(b), n)
#define READ(u, b, n, s) fmi2DeSerializeFMUstate(u, (const char *)(b), n, s)
static int step(void *u, double t, double h)
{
    double last;
    const int status = fmi2DoStep(u, t, h, 1);
    if (u && (fmi2GetRealStatus(u, 2, &last) != 0 || !isfinite(last)))
        exit(1);
    return status;
}
#else
static void hear(void *e, int s, const char *c, const char *message)
{
    (void)e, (void)s, (void)c, (void)message;
}
static int discrete(void *u)
{
    bool flags[5];
    double next;
    return fmi3UpdateDiscreteStates(u, flags, flags + 1, flags + 2, flags + 3, flags + 4, &next);
}
#define EVENTS fmi3EnterEventMode
#define CONTINUE fmi3EnterContinuousTimeMode
#define TIME fmi3SetTime
#define PUT fmi3SetContinuousStates
#define TAKE fmi3GetContinuousStates
#define SLOPES fmi3GetContinuousStateDerivatives
#define ALONG(u, r, k, s, d) fmi3GetDirectionalDerivative(u, r, 1, k, 1, s, many, d, many)
#define TEXT(u, r, t) fmi3GetString(u, r, 1, t, 1)
static void *make(const char *token, int exchange)
{
    if (exchange)
        return fmi3InstantiateModelExchange("fuzz", token, NULL, false, true, NULL, hear);
    return fmi3InstantiateCoSimulation(
        "fuzz", token, NULL, false, true, false, false, NULL, 0, NULL, hear, NULL);
}
#define FREE fmi3FreeInstance
#define begin(u) fmi3EnterInitializationMode(u, false, 0, 0, false, 0)
#define READY fmi3ExitInitializationMode
#define END fmi3Terminate
#define RESET fmi3Reset
#define GET(u, r, v) fmi3GetFloat64(u, r, 1, v, many)
#define SET(u, r, v) fmi3SetFloat64(u, r, 1, v, many)
#define STATUS(u, r, v) fmi3GetInt32(u, r, 1, v, 1)
static int flag(void *u, const unsigned *r, int value)
{
    const bool b = value;
    return fmi3SetBoolean(u, r, 1, &b, 1);
}
#define SAVE fmi3GetFMUState
#define LOAD fmi3SetFMUState
#define DROP fmi3FreeFMUState
#define SIZE fmi3SerializedFMUStateSize
#define WRITE fmi3SerializeFMUState
#define READ fmi3DeserializeFMUState
static int step(void *u, double t, double h)
{
    bool event, stop, early;
    double last;
    return fmi3DoStep(u, t, h, true, &event, &stop, &early, &last);
}
#endif

static unsigned long seed;

static unsigned draw(unsigned below)
{
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(seed >> 33) % below;
}

static double value(void)
{
    static const double ODD[] = { 0.0, -0.0, 1e308, -1e308, 1e-320, 1e9, -1e9, 3.0 };
    const unsigned kind = draw(12);
    if (kind == 0)
        return NAN;
    if (kind == 1)
        return draw(2) ? INFINITY : -INFINITY;
    if (kind == 2)
        return ODD[draw(8)];
    return (draw(2000001) / 1e6 - 1.0) * (kind < 6 ? 10.0 : 0.5);
}

static void bytes_of_states(void *unit, void *state)
{
    size_t size = 0;
    void *other = NULL;
    if (SIZE(unit, state, &size) != 0)
        exit(1);
    unsigned char *bytes = malloc(size);
    counted(WRITE(unit, state, bytes, size - draw(2)));
    if (WRITE(unit, state, bytes, size) != 0)
        exit(1);
    for (unsigned k = draw(4); k > 0; k--)
        bytes[draw((unsigned)size)] ^= (unsigned char)(1 + draw(255));
    if (counted(READ(unit, bytes, size - (draw(8) == 0), &other)) == 0)
        counted(LOAD(unit, other));
    DROP(unit, &other);
    free(bytes);
}

static int all_finite(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return 0;
    return 1;
}

/* Calls of model exchange; `count` states or as many as come. */
static void exchange_calls(void *unit, size_t count)
{
    double states[2 * MOST], slopes[2 * MOST];
    const size_t asked = draw(20) ? count : draw(2 * MOST);
    switch (draw(6)) {
    case 0:
        counted(EVENTS(unit));
        counted(discrete(unit));
        break;
    case 1:
        counted(CONTINUE(unit));
        break;
    case 2:
        counted(TIME(unit, value()));
        break;
    default:
        if (counted(TAKE(unit, states, asked)) != 0)
            return;
        for (size_t i = 0; i < asked; i++)
            states[i] += draw(8) ? value() / 10 : value();
        counted(PUT(unit, states, asked));
        if (counted(SLOPES(unit, slopes, asked)) == 0 && !all_finite(slopes, asked))
            exit(1);
    }
}

int main(int count, char **arguments)
{
    const long rounds = count > 4 ? atol(arguments[2]) : 0;
    const unsigned variables = count > 4 ? (unsigned)atol(arguments[3]) : 0;
    const unsigned dof = count > 4 ? (unsigned)atol(arguments[4]) : 1;
    const size_t states = count > 5 ? (size_t)atol(arguments[5]) : 0;
    void *unit = make(arguments[1], 0), *state = NULL;
    double time = 0, got[MOST], given[MOST];
    if (!unit || make("wrong", 0) || make("wrong", 1) || step(NULL, 0, 1) != 3)
        return 1;
    seed = 1;
    for (long k = 0; k < rounds; k++) {
        const unsigned what = draw(46), reference = draw(variables + 3), other = draw(variables);
        int number = 0;
        many = draw(2) ? 1 : dof;
        for (size_t i = 0; i < many; i++)
            given[i] = value();
        if (what < 14) {
            counted(SET(unit, &reference, given));
        } else if (what < 24) {
            if (counted(GET(unit, &reference, got)) == 0 && !all_finite(got, VERSION == 3 ? many : 1))
                return 1;
        } else if (what < 32) {
            const double h = draw(10) ? draw(1000) / 1e6 : given[0] / 1e3;
            if (counted(step(unit, draw(20) ? time : given[0], h > 0.1 ? 0.1 : h)) == 0)
                time += 1e-3;
        } else if (what == 32) {
            counted(STATUS(unit, &reference, &number));
        } else if (what == 33) {
            counted(flag(unit, &reference, draw(2)));
        } else if (what == 34) {
            counted(begin(unit));
            counted(READY(unit));
        } else if (what == 35) {
            counted(draw(10) ? READY(unit) : END(unit));
        } else if (what == 36) {
            counted(SAVE(unit, &state));
        } else if (what == 37 && state) {
            counted(LOAD(unit, state));
        } else if (what == 38 && state) {
            bytes_of_states(unit, state);
        } else if (what == 39) {
            const char *text = NULL;
            if (counted(TEXT(unit, &reference, &text)) == 0 && !strlen(text))
                return 1;
        } else if (what < 42) {
            if (counted(ALONG(unit, &other, &reference, given, got)) == 0
                && !all_finite(got, VERSION == 3 ? many : 1))
                return 1;
        } else if (what < 45) {
            exchange_calls(unit, states);
        } else if (draw(4) == 0) {
            if (draw(2)) {
                FREE(unit);
                unit = make(arguments[1], draw(2));
            } else {
                counted(RESET(unit));
            }
            counted(begin(unit));
            counted(READY(unit));
        }
    }
    DROP(unit, &state);
    FREE(unit);
    FREE(NULL);
    printf("%ld %ld %ld\n", counts[0], counts[2], counts[3]);
    return 0;
}
