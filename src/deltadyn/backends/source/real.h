/* The numbers that the kernels compute with: doubles, or floats with -DDELTADYN_FLOAT=1. */
#ifndef DELTADYN_REAL_H
#define DELTADYN_REAL_H

#include <math.h>

#if defined(DELTADYN_FLOAT) && DELTADYN_FLOAT
typedef float real;
#define REAL_FORMAT "f"
#define REAL_SQRT(value) sqrtf(value)
#define REAL_ABS(value) fabsf(value)
#define REAL_COS(value) cosf(value)
#define REAL_SIN(value) sinf(value)
#define REAL_TANH(value) tanhf(value)
#define REAL_EXP(value) expf(value)
#else
typedef double real;
#define REAL_FORMAT "d"
#define REAL_SQRT(value) sqrt(value)
#define REAL_ABS(value) fabs(value)
#define REAL_COS(value) cos(value)
#define REAL_SIN(value) sin(value)
#define REAL_TANH(value) tanh(value)
#define REAL_EXP(value) exp(value)
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

#endif
