/* This robot has no friction in passive joints. */
static int add_passive(const real *x, int smooth, real *tau)
{
    (void)x;
    (void)smooth;
    (void)tau;
    return @ID@_OK;
}
