/* How both layers name and export their functions. FUNCTION_PREFIX is for static linking. */
#ifndef DELTADYN_LAYER_H
#define DELTADYN_LAYER_H

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

#define JOIN(a, b) a##b
#define JOINED(a, b) JOIN(a, b)
#ifdef FUNCTION_PREFIX
#define NAME(function) JOINED(FUNCTION_PREFIX, function)
#else
#define NAME(function) function
#endif

/* Declared before it is defined, as compilers like it. */
#define FMI(type, name, ...) \
    EXPORT type NAME(name)(__VA_ARGS__); \
    EXPORT type NAME(name)(__VA_ARGS__)

/* The instance behind a handle of the standard. */
#define OWN(handle) \
    if (!(handle)) \
        return LEVEL_ERROR; \
    Instance *instance = (handle)

#endif
