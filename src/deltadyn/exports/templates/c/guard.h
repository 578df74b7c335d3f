/* Inputs and results are tested for NaN and infinity: do not let the compiler assume them away. */
#ifdef __FAST_MATH__
#error "compile this file without -ffast-math (-Ofast)"
#endif
#if defined(__FINITE_MATH_ONLY__) && (__FINITE_MATH_ONLY__ != 0)
#error "compile this file without -ffinite-math-only"
#endif
#ifdef _M_FP_FAST
#error "compile this file without /fp:fast; use /fp:precise"
#endif
