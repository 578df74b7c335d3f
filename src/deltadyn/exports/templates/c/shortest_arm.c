/* An angle in (-pi, pi]: the shorter way around. */
static real shortest(real way)
{
    return @atan2@(@sin@(way), @cos@(way));
}

