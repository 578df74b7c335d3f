/* Build: cc -std=c99 -O2 self_test.c @file@.c -lm -o self_test */
#include "@file@.h"

#include <stdio.h>
#include <string.h>

/* Prints what a self-test found; gives 1 where it failed. */
static int told(const char *what, int failed, @id@_real error)
{
    if (failed == 0) {
        printf("%s: passed, largest difference %.3g\n", what, (double)error);
        return 0;
    }
    printf("%s: FAILED at check point %d, largest difference %.3g\n", what, failed, (double)error);
    return 1;
}

int main(void)
{
    @id@_real error = 0;
    int failures = 0, failed;

    printf("@id@, interface %d, fingerprint %s\n", @id@_interface_version(), @id@_fingerprint());
    if ((@id@_interface_version() != @ID@_INTERFACE_VERSION)
        || (strcmp(@id@_fingerprint(), @ID@_FINGERPRINT) != 0)) {
        printf("header and library are not of one export\n");
        failures++;
    }
    failed = @id@_self_test(&error);
    failures += told("model", failed, error);
@more_tests@    return failures == 0 ? 0 : 1;
}
