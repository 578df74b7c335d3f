/* Loads a unit's dll, instantiates it for co-simulation, sets, steps and prints: -DVERSION=2 or 3.
 *
 *     driver DLL TOKEN STEPS H reference=value ... get reference ...
 *
 * An array of FMI 3.0 is set by reference=value,value,... and read by reference:count.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#define TEXT_OF(x) #x
#define STRING_OF(x) TEXT_OF(x)
#define CALL(result, name, ...) \
    ((result(*)(__VA_ARGS__))(void (*)(void))found(dll, "fmi" STRING_OF(VERSION) name))
#define MOST 16

static FARPROC found(HMODULE dll, const char *name)
{
    const FARPROC function = GetProcAddress(dll, name);
    if (!function) {
        fprintf(stderr, "no function %s\n", name);
        exit(3);
    }
    return function;
}

static void good(int status, const char *what)
{
    if (status != 0) {
        fprintf(stderr, "%s: status %d\n", what, status);
        exit(4);
    }
}

#if VERSION == 2
typedef struct {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void *finished, *environment;
} callbacks;

static void hear(void *e, const char *n, int s, const char *c, const char *message, ...)
{
    (void)e, (void)n, (void)s, (void)c;
    fprintf(stderr, "%s\n", message);
}
#else
static void hear(void *e, int s, const char *c, const char *message)
{
    (void)e, (void)s, (void)c;
    fprintf(stderr, "%s\n", message);
}
#endif

static void *begun(HMODULE dll, const char *token)
{
#if VERSION == 2
    static const callbacks own = { hear, calloc, free, NULL, NULL };
    return CALL(void *, "Instantiate", const char *, int, const char *, const char *,
                const callbacks *, int, int)("unit", 1, token, NULL, &own, 0, 0);
#else
    return CALL(void *, "InstantiateCoSimulation", const char *, const char *, const char *, bool,
                bool, bool, bool, const unsigned *, size_t, void *,
                void (*)(void *, int, const char *, const char *), void *)(
        "unit", token, NULL, false, false, false, false, NULL, 0, NULL, hear, NULL);
#endif
}

static void enter(HMODULE dll, void *unit)
{
#if VERSION == 2
    good(CALL(int, "SetupExperiment", void *, int, double, double, int, double)(
             unit, 0, 0, 0, 0, 0), "set up");
    good(CALL(int, "EnterInitializationMode", void *)(unit), "enter");
#else
    good(CALL(int, "EnterInitializationMode", void *, bool, double, double, bool, double)(
             unit, false, 0, 0, false, 0), "enter");
#endif
}

static void set(HMODULE dll, void *unit, char *argument)
{
    double values[MOST];
    size_t count = 0;
    char *at = strchr(argument, '=');
    const unsigned reference = (unsigned)atol(argument);
    while (at && count < MOST) {
        values[count++] = strtod(at + 1, NULL);
        at = strchr(at + 1, ',');
    }
#if VERSION == 2
    good(CALL(int, "SetReal", void *, const unsigned *, size_t, const double *)(
             unit, &reference, 1, values), argument);
#else
    good(CALL(int, "SetFloat64", void *, const unsigned *, size_t, const double *, size_t)(
             unit, &reference, 1, values, count), argument);
#endif
}

static void get(HMODULE dll, void *unit, char *argument)
{
    double values[MOST];
    const unsigned reference = (unsigned)atol(argument);
    const char *many = strchr(argument, ':');
    const size_t count = many ? (size_t)atol(many + 1) : 1;
#if VERSION == 2
    good(CALL(int, "GetReal", void *, const unsigned *, size_t, double *)(
             unit, &reference, 1, values), argument);
#else
    good(CALL(int, "GetFloat64", void *, const unsigned *, size_t, double *, size_t)(
             unit, &reference, 1, values, count), argument);
#endif
    for (size_t i = 0; i < count; i++)
        printf("%.17g\n", values[i]);
}

static void step(HMODULE dll, void *unit, double time, double h)
{
#if VERSION == 2
    good(CALL(int, "DoStep", void *, double, double, int)(unit, time, h, 1), "step");
#else
    bool event, stop, early;
    double last;
    good(CALL(int, "DoStep", void *, double, double, bool, bool *, bool *, bool *, double *)(
             unit, time, h, true, &event, &stop, &early, &last), "step");
#endif
}

int main(int count, char **arguments)
{
    if (count < 5)
        return 2;
    const HMODULE dll = LoadLibraryA(arguments[1]);
    if (!dll) {
        fprintf(stderr, "%s does not load: error %lu\n", arguments[1], GetLastError());
        return 2;
    }
    void *unit = begun(dll, arguments[2]);
    if (!unit)
        return 2;
    const long steps = atol(arguments[3]);
    const double h = strtod(arguments[4], NULL);
    int at = 5;
    enter(dll, unit);
    for (; at < count && strcmp(arguments[at], "get") != 0; at++)
        set(dll, unit, arguments[at]);
    good(CALL(int, "ExitInitializationMode", void *)(unit), "exit");
    for (long k = 0; k < steps; k++)
        step(dll, unit, (double)k * h, h);
    for (at++; at < count; at++)
        get(dll, unit, arguments[at]);
    good(CALL(int, "Terminate", void *)(unit), "end");
    CALL(void, "FreeInstance", void *)(unit);
    FreeLibrary(dll);
    return 0;
}
