/* Start of a program on an emulated Cortex-M7: vectors, the floating-point unit, then newlib. */
#include <stdint.h>

extern uint32_t __stack;
extern int main(void);
extern void initialise_monitor_handles(void);
extern void exit(int);
void begin(void);
void _init(void);
void _fini(void);

void _init(void)
{
}

void _fini(void)
{
}

void begin(void)
{
    volatile uint32_t *const access = (uint32_t *)0xE000ED88u; /* CPACR */
    *access |= 0xFu << 20;
    __asm volatile("dsb\n isb");
    initialise_monitor_handles();
    exit(main());
}

static void fault(void)
{
    exit(2);
}

__attribute__((section(".vectors"), used)) static const void *const VECTORS[16] = {
    &__stack, (void *)begin, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
    (void *)fault,
};
