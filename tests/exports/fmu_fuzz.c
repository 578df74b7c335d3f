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
#endif

static long counts[4];

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
static void *make(const char *token)
{
    static const callbacks own = { hear, NULL, NULL, NULL, NULL };
    return fmi2Instantiate("fuzz", 1, token, NULL, &own, 0, 1);
}
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
static void *make(const char *token)
{
    return fmi3InstantiateCoSimulation(
        "fuzz", token, NULL, false, true, false, false, NULL, 0, NULL, hear, NULL);
}
#define FREE fmi3FreeInstance
#define begin(u) fmi3EnterInitializationMode(u, false, 0, 0, false, 0)
#define READY fmi3ExitInitializationMode
#define END fmi3Terminate
#define RESET fmi3Reset
#define GET(u, r, v) fmi3GetFloat64(u, r, 1, v, 1)
#define SET(u, r, v) fmi3SetFloat64(u, r, 1, v, 1)
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

int main(int count, char **arguments)
{
    const long rounds = count > 3 ? atol(arguments[2]) : 0;
    const unsigned variables = count > 3 ? (unsigned)atol(arguments[3]) : 0;
    void *unit = make(arguments[1]), *state = NULL;
    double time = 0, got;
    if (!unit || make("wrong") || step(NULL, 0, 1) != 3)
        return 1;
    seed = 1;
    for (long k = 0; k < rounds; k++) {
        const unsigned what = draw(40), reference = draw(variables + 3);
        double given = value();
        int number = 0;
        if (what < 14) {
            counted(SET(unit, &reference, &given));
        } else if (what < 24) {
            if (counted(GET(unit, &reference, &got)) == 0 && !isfinite(got))
                return 1;
        } else if (what < 32) {
            const double h = draw(10) ? draw(1000) / 1e6 : given / 1e3;
            if (counted(step(unit, draw(20) ? time : given, h > 0.1 ? 0.1 : h)) == 0)
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
        } else if (draw(4) == 0) {
            counted(RESET(unit));
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
