/* A carriage has one way. */
static real shortest(real way)
{
    return way;
}

