/* The compiled plant as functions of the extension module: one tick, all ticks, many robots.
 *
 * Arrays come through the buffer protocol as contiguous doubles; their sizes are checked here,
 * their meaning in deltadyn/simulation. The interpreter's lock is released for all but single ticks.
 */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "plant_batch.h"
#include "plant_loop.h"

enum { MOST_VIEWS = 10 };

typedef struct {
    Py_buffer views[MOST_VIEWS];
    int count;
} taken;

static void give_back(taken *all)
{
    while (all->count > 0)
        PyBuffer_Release(&all->views[--all->count]);
}

/* The numbers of an array with at least `least` of them, NULL with an error set. */
static real *take(taken *all, PyObject *array, const char *name, Py_ssize_t least, int writable)
{
    Py_buffer *view = &all->views[all->count];
    const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(array, view, flags))
        return NULL;
    all->count++;
    if (view->itemsize != (Py_ssize_t)sizeof(real) || !view->format || strcmp(view->format, "d")) {
        PyErr_Format(PyExc_TypeError, "%s holds no doubles", name);
        return NULL;
    }
    if (view->len / view->itemsize < least) {
        PyErr_Format(
            PyExc_ValueError, "%s has %zd numbers, not %zd or more", name,
            view->len / view->itemsize, least);
        return NULL;
    }
    return view->buf;
}

/* n, and m in *motors; 0 with an error set where the numbers name no machine. */
static int kind_of(const real *num, int *motors)
{
    const real n = num[NUM_DOF], m = num[NUM_MOTORS], steps = num[NUM_SUBSTEPS];
    const real delay = num[NUM_DELAY];
    if ((n == 3 || n == 4) && (m == 0 || m == 3) && steps >= 1 && steps < 1e9 && delay >= 0
        && delay < 1e9) {
        *motors = (int)m;
        return (int)n;
    }
    PyErr_SetString(PyExc_ValueError, "the numbers are not those of a machine");
    return 0;
}

/* plant_tick(numbers, state, torques, row, moves): 0, or why the plant stops. */
PyObject *deltadyn_plant_tick(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    taken all = { .count = 0 };
    PyObject *answer = NULL;
    int m, status = 0;
    (void)module;
    if (given != 5) {
        PyErr_SetString(PyExc_TypeError, "plant_tick(numbers, state, torques, row, moves)");
        return NULL;
    }
    const int moves = PyObject_IsTrue(arguments[4]);
    const real *num = take(&all, arguments[0], "numbers", NUM_COUNT, 0);
    real *state = num ? take(&all, arguments[1], "state", STATE_COUNT, 1) : NULL;
    const int n = state ? kind_of(num, &m) : 0;
    const real *torques = n ? take(&all, arguments[2], "torques", 3 * n, 0) : NULL;
    real *row = torques ? take(&all, arguments[3], "row", 11 * n + WORK, 1) : NULL;
    if (!row)
        goto done;
#define TICK(N, M) \
    if (n == N && m == M) \
        status = tick_##N##M(num, state, torques, row, moves);
    KINDS(TICK)
    answer = PyLong_FromLong(status);
done:
    give_back(&all);
    return answer;
}

/* plant_follow(numbers, state, reference, rates, forward, wrench, commands, samples, first, end,
 * last, leads, model): how many ticks were done, and 0 or why the plant stops.
 *
 * leads and model are None, or those of a law with gravity at the measured angles. */
PyObject *deltadyn_plant_follow(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    taken all = { .count = 0 };
    PyObject *answer = NULL;
    plant_run run = { 0 };
    ptrdiff_t done = 0;
    int m, status = 0;
    (void)module;
    if (given != 13) {
        PyErr_SetString(PyExc_TypeError, "plant_follow takes 8 arrays, 3 ticks, leads and model");
        return NULL;
    }
    run.first = PyLong_AsSsize_t(arguments[8]);
    run.end = PyLong_AsSsize_t(arguments[9]);
    run.last = PyLong_AsSsize_t(arguments[10]);
    if (PyErr_Occurred())
        return NULL;
    const real *num = take(&all, arguments[0], "numbers", NUM_COUNT, 0);
    real *state = num ? take(&all, arguments[1], "state", STATE_COUNT, 1) : NULL;
    const int n = state ? kind_of(num, &m) : 0;
    if (!n)
        goto done;
    if (run.first < 0 || run.end < run.first) {
        PyErr_SetString(PyExc_ValueError, "first, end: ticks in order");
        goto done;
    }
    const Py_ssize_t least = run.end * n;
    if (!(run.reference = take(&all, arguments[2], "reference", least, 0))
        || !(run.rates = take(&all, arguments[3], "rates", least, 0))
        || !(run.forward = take(&all, arguments[4], "forward", least, 0))
        || !(run.wrench = take(&all, arguments[5], "wrench", least, 0))
        || !(run.commands = take(&all, arguments[6], "commands", least, 1))
        || !(run.samples = take(&all, arguments[7], "samples", run.end * (11 * n + WORK), 1)))
        goto done;
    if (arguments[12] != Py_None
        && (!(run.leads = take(&all, arguments[11], "leads", least, 0))
            || !(run.model = take(&all, arguments[12], "model", PAR_COUNT, 0))))
        goto done;
    Py_BEGIN_ALLOW_THREADS
#define FOLLOW(N, M) \
    if (n == N && m == M) \
        status = follow_##N##M(num, state, &run, &done);
    KINDS(FOLLOW)
    Py_END_ALLOW_THREADS
    answer = Py_BuildValue("ni", (Py_ssize_t)done, status);
done:
    give_back(&all);
    return answer;
}

/* Which work a batch needs, from its robots' numbers. */
static void look_at_batch(batch *c, int n)
{
    for (ptrdiff_t row = 0; row < (c->par_row ? c->rows : 1); row++) {
        const real *par = c->par + row * c->par_row;
        for (int i = 0; i < n; i++) {
            c->lossy |= par[PAR_LOAD + i] != 0;
            c->stribeck |= par[PAR_STRIBECK + i] != 0;
            c->thinning |= par[PAR_THINNING + i] != 0;
            c->motor_loss |= par[PAR_MOTOR_LOAD + i] != 0;
            c->scaled |= par[PAR_TORQUE_RATIO + i] != 1;
            c->tanh |= par[PAR_COULOMB + i] != 0 || par[PAR_COULOMB_NEGATIVE + i] != 0
                || par[PAR_STRIBECK + i] != 0 || par[PAR_LOAD + i] != 0 || par[PAR_MOTOR_LOAD + i] != 0;
        }
        for (int wave = 0; wave < WAVES; wave++)
            if (par[PAR_RIPPLE_ORDER + wave] != 0 && c->waves <= wave)
                c->waves = wave + 1;
        for (int i = 0; i < JOINTS; i++) {
            c->joint[i] |= par[NUM_PASSIVE_VISCOUS + i] != 0 || par[NUM_PASSIVE_COULOMB + i] != 0;
            c->passive |= c->joint[i];
        }
    }
}

/* A table of torques, or where that is None the arrays of a law. */
static int take_drive(
    taken *all, PyObject *torque, PyObject *law, Py_ssize_t n, Py_ssize_t numbers, batch *c)
{
    const char *names[] = { "forward", "reference", "rates", "gains" };
    const real **into[] = { &c->forward, &c->reference, &c->rates, &c->gains };
    c->law = torque == Py_None;
    if (!c->law)
        return (c->torque = take(all, torque, "torque", numbers, 0)) != NULL;
    for (int i = 0; i < 4; i++) {
        PyObject *array = PyTuple_GetItem(law, i);
        if (!array || !(*into[i] = take(all, array, names[i], i < 3 ? c->steps * n : 2 * n, 0)))
            return 0;
    }
    return 1;
}

/* plant_rollout(dof, own, dt, substeps, steps, hold, par, wrench, y, torque, law, every, course).
 *
 * own: bits 1 numbers, 2 wrench, 4 torque for every robot; hold: 0 step, 1 ramp. torque is None
 * where law is (forward, reference, rates, gains); course may be None. y (N, 2 dof) is updated. */
PyObject *deltadyn_plant_rollout(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    taken all = { .count = 0 };
    PyObject *answer = NULL;
    block *columns = NULL;
    batch c = { 0 };
    (void)module;
    if (given != 13) {
        PyErr_SetString(PyExc_TypeError, "plant_rollout takes 13 arguments");
        return NULL;
    }
    const long n = PyLong_AsLong(arguments[0]), own = PyLong_AsLong(arguments[1]);
    c.dt = PyFloat_AsDouble(arguments[2]);
    c.substeps = (int)PyLong_AsLong(arguments[3]);
    c.steps = PyLong_AsSsize_t(arguments[4]);
    c.ramp = PyObject_IsTrue(arguments[5]);
    c.every = PyLong_AsSsize_t(arguments[11]);
    if (PyErr_Occurred())
        return NULL;
    if ((n != 3 && n != 4) || c.substeps < 1 || c.steps < 0 || c.every < 0) {
        PyErr_SetString(PyExc_ValueError, "dof 3 or 4, substeps from 1, steps and every from 0");
        return NULL;
    }
    if (!(c.y = take(&all, arguments[8], "y", 2 * n, 1)))
        goto done;
    c.rows = all.views[0].len / (Py_ssize_t)sizeof(real) / (2 * n);
    c.par_row = own & 1 ? NUM_ROBOT_COUNT : 0;
    c.wrench_row = own & 2 ? n : 0;
    const Py_ssize_t length = (c.steps + c.ramp) * n, many = c.rows;
    c.torque_row = own & 4 ? length : 0;
    if (!(c.par = take(&all, arguments[6], "par", NUM_ROBOT_COUNT * (own & 1 ? many : 1), 0))
        || !(c.wrench = take(&all, arguments[7], "wrench", n * (own & 2 ? many : 1), 0)))
        goto done;
    if (!take_drive(&all, arguments[9], arguments[10], n, length * (own & 4 ? many : 1), &c))
        goto done;
    if (c.every) {
        c.course_row = (c.steps / c.every + 1) * 2 * n;
        if (!(c.course = take(&all, arguments[12], "course", c.course_row * c.rows, 1)))
            goto done;
    }
    if (!(columns = PyMem_Malloc(sizeof(block)))) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    look_at_batch(&c, (int)n);
    if (n == 3)
        (c.par_row ? roll_out_3_own : roll_out_3_one)(&c, columns);
    else
        (c.par_row ? roll_out_4_own : roll_out_4_one)(&c, columns);
    Py_END_ALLOW_THREADS
    answer = Py_BuildValue("");
done:
    PyMem_Free(columns);
    give_back(&all);
    return answer;
}
