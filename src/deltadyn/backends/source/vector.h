/* How loops over samples become vector instructions. */
#ifndef DELTADYN_VECTOR_H
#define DELTADYN_VECTOR_H

/* One machine code per processor generation, chosen when the module is loaded. */
#if defined(CLONES)
#elif defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && defined(__x86_64__) \
    && defined(__gnu_linux__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#if defined(DELTADYN_FEW_CLONES)
#define RARE_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#endif
#else
#define CLONES
#endif

#ifndef RARE_CLONES
#define RARE_CLONES CLONES
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#endif

#endif
