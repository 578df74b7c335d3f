/* The robot's numbers with a load: m, and in the tool's frame m x, m y, I + m (x^2 + y^2). */
static int numbers_of(const @id@_load *load, real *par)
{
    enum { AT_MOMENTS = @moments@ }; /* about the axis of psi: both first moments, the inertia */
    const real given[4] = { load->mass, load->inertia, load->x, load->y };
    const int status = check(given, 4);
    if (status != @ID@_OK) {
        return status;
    }
    for (int i = 0; i < PAR_COUNT; i++) {
        par[i] = EMPTY[i];
    }
    par[PAR_M_P] += load->mass;
    par[AT_MOMENTS] += load->mass * load->x;
    par[AT_MOMENTS + 1] += load->mass * load->y;
    par[AT_MOMENTS + 2] += load->inertia + (load->mass * ((load->x * load->x) + (load->y * load->y)));
    return status;
}

