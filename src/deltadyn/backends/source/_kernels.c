/* The compiled kernels as a Python module: run(number, friction, par, *inputs, *outputs), and
 * fill(number, friction, par, places, *inputs, output), which lays columns out in one array.
 *
 * Arrays come through the buffer protocol, as (N, width) or one row (width,) of doubles with any
 * strides; a row of inputs serves all N samples, and one array may hold all inputs side by side.
 * The torques of a motion can be had in floats, too:
 * then all arrays but `par` are floats. The interpreter's lock is released for more than one block.
 * Limited API: one build serves Python 3.11 and later.
 */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "tables.h"
#include "traced/digest.h"

/* 'd' or 'f' where a buffer holds doubles or floats, else 0; what is not aligned says "=d". */
static char kind_of(const Py_buffer *view)
{
    const char *format = view->format ? view->format : "B";
    format += format[0] == '=';
    if (!strcmp(format, "d") && view->itemsize == (Py_ssize_t)sizeof(double))
        return 'd';
    return !strcmp(format, "f") && view->itemsize == (Py_ssize_t)sizeof(float) ? 'f' : 0;
}

/* Read a buffer as a table of `width`; rows: -1 where it is one row. */
static int read_table(
    const Py_buffer *view, char kind, int width, int place, table *t, Py_ssize_t *rows)
{
    const int last = view->ndim - 1;
    if (kind_of(view) != kind) {
        const char *word = kind == 'f' ? "floats, as the first array does" : "doubles";
        PyErr_Format(PyExc_TypeError, "array %d holds no %s", place, word);
        return -1;
    }
    if (last < 0 || last > 1 || view->shape[last] != width) {
        PyErr_Format(PyExc_ValueError, "array %d is not (%d,) or (N, %d)", place, width, width);
        return -1;
    }
    t->data = view->buf;
    t->width = width;
    t->hop = view->strides[last];
    t->step = last ? view->strides[0] : 0;
    *rows = last ? view->shape[0] : -1;
    return 0;
}

/* Rows of an array against those found so far. */
static int same_rows(int place, Py_ssize_t own, Py_ssize_t *rows)
{
    if (*rows < 0)
        *rows = own;
    if (own >= 0 && own != *rows) {
        PyErr_Format(PyExc_ValueError, "array %d has %zd rows, not %zd", place, own, *rows);
        return -1;
    }
    return 0;
}

/* All inputs side by side in one array, which may have more columns behind them. */
static int split_inputs(const kernel *k, const Py_buffer *view, char kind, table *tables,
    Py_ssize_t *rows)
{
    const int last = view->ndim - 1, given = last < 0 ? 0 : (int)view->shape[last];
    int first = 0;
    table whole;
    Py_ssize_t own;
    for (int a = 0; a < k->inputs; a++)
        first += k->width[a];
    if (read_table(view, kind, given < first ? first : given, 0, &whole, &own)
        || same_rows(0, own, rows))
        return -1;
    for (int a = k->inputs - 1; a >= 0; a--) {
        first -= k->width[a];
        tables[a] = whole;
        tables[a].data = whole.data + first * whole.hop;
        tables[a].width = k->width[a];
    }
    return 0;
}

/* Tables of all arrays; the outputs say how many rows there are. `joined`: one array of inputs. */
static int read_tables(const kernel *k, const Py_buffer *views, int joined, char kind,
    table *tables, Py_ssize_t *rows)
{
    const int inputs = joined ? 1 : k->inputs;
    Py_ssize_t own;
    *rows = -1;
    for (int a = k->outputs - 1; a >= 0; a--) {
        table *t = &tables[k->inputs + a];
        if (read_table(&views[inputs + a], kind, k->width[k->inputs + a], inputs + a, t, &own)
            || same_rows(inputs + a, own < 0 ? 1 : own, rows))
            return -1;
    }
    if (joined)
        return split_inputs(k, &views[0], kind, tables, rows);
    for (int a = inputs - 1; a >= 0; a--)
        if (read_table(&views[a], kind, k->width[a], a, &tables[a], &own)
            || same_rows(a, own, rows))
            return -1;
    return 0;
}

static int read_parameters(const Py_buffer *view, const kernel *k, double *par)
{
    table t;
    Py_ssize_t rows;
    const int given = view->ndim == 1 && view->shape[0] <= PAR_COUNT ? (int)view->shape[0] : -1;
    if (given < k->parameters) {
        PyErr_Format(
            PyExc_ValueError, "parameters: (n,) with n from %d to %d", k->parameters, PAR_COUNT);
        return -1;
    }
    if (read_table(view, 'd', given, -1, &t, &rows))
        return -1;
    for (int i = 0; i < given; i++)
        memcpy(par + i, t.data + i * t.hop, sizeof(double));
    return 0;
}

static Py_ssize_t run_kind(
    const kernel *k, char kind, int friction, const double *par, const table *tables,
    Py_ssize_t rows)
{
    if (kind == 'f')
        return deltadyn_run_float(k->name, friction, par, tables, rows);
    return run_all(k, friction, par, tables, rows, NULL);
}

/* The kernel of the first argument; `before` arguments come ahead of the arrays. `joined` tells
 * whether all inputs are in one array. */
static const kernel *kernel_of(PyObject *const *arguments, Py_ssize_t given, int before,
    int *friction, int one_output, int *joined)
{
    const long number = given > 2 ? PyLong_AsLong(arguments[0]) : -1;
    *friction = given > 2 ? PyObject_IsTrue(arguments[1]) : -1;
    if (PyErr_Occurred())
        return NULL;
    const kernel *k; /* those of other sources are counted behind ours */
    if (number >= 0 && number < KERNEL_COUNT)
        k = &KERNELS[number];
    else if (number < ACTUATION_END)
        k = deltadyn_actuation_kernel(number - KERNEL_COUNT);
    else
        k = deltadyn_platform_kernel(number - ACTUATION_END);
    if (!k) {
        PyErr_SetString(PyExc_ValueError, one_output
            ? "fill(number, friction, par, places, *inputs, output)"
            : "run(number, friction, par, *inputs, *outputs)");
        return NULL;
    }
    const int outputs = one_output ? 1 : k->outputs, arrays = k->inputs + outputs;
    *joined = k->inputs > 1 && given == before + 1 + outputs;
    if (!*joined && given != before + arrays) {
        PyErr_Format(
            PyExc_ValueError, "%s takes %d arrays, not %zd", k->name, arrays, given - before);
        return NULL;
    }
    return k;
}

static PyObject *run(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    Py_buffer views[MAX_ARRAYS + 1];
    table tables[MAX_ARRAYS];
    double par[PAR_COUNT] = { 0 };
    Py_ssize_t rows = 0, bad = 0;
    int taken = 0, failed = 1, friction, joined;
    char kind;
    (void)module;
    const kernel *k = kernel_of(arguments, given, 3, &friction, 0, &joined);
    if (!k)
        return NULL;
    const int inputs = joined ? 1 : k->inputs;
    for (; taken < inputs + k->outputs + 1; taken++) {
        const int flags = taken > inputs ? PyBUF_RECORDS : PyBUF_RECORDS_RO;
        if (PyObject_GetBuffer(arguments[2 + taken], &views[taken], flags))
            goto done;
    }
    kind = kind_of(&views[1]) == 'f' ? 'f' : 'd';
    if (read_parameters(&views[0], k, par) || read_tables(k, views + 1, joined, kind, tables, &rows))
        goto done;
    if (rows > BLOCK) {
        Py_BEGIN_ALLOW_THREADS
        bad = run_kind(k, kind, friction, par, tables, rows);
        Py_END_ALLOW_THREADS
    } else {
        bad = run_kind(k, kind, friction, par, tables, rows);
    }
    failed = bad < 0;
    if (failed)
        PyErr_Format(PyExc_TypeError, "%s computes with doubles alone", k->name);
done:
    while (taken > 0)
        PyBuffer_Release(&views[--taken]);
    return failed ? NULL : PyLong_FromSsize_t(bad);
}

/* Read where the kernel's columns go: integers of 32 bits, each within the output's width. */
static int read_places(const Py_buffer *view, const kernel *k, int width, int *places)
{
    const int columns = columns_out(k);
    const char *format = view->format ? view->format : "B";
    if (strcmp(format, "i") || view->itemsize != (Py_ssize_t)sizeof(int)) {
        PyErr_SetString(PyExc_TypeError, "places holds no 32-bit integers");
        return -1;
    }
    if (view->ndim != 1 || view->shape[0] != columns) {
        PyErr_Format(PyExc_ValueError, "places is not (%d,), as %s gives", columns, k->name);
        return -1;
    }
    for (int j = 0; j < columns; j++) {
        memcpy(places + j, (const char *)view->buf + j * view->strides[0], sizeof(int));
        if (places[j] < -1 || places[j] >= 2 * width) {
            PyErr_Format(PyExc_ValueError, "places[%d] is no column of the output", j);
            return -1;
        }
    }
    return 0;
}

/* As run, with the kernel's columns at chosen places of one output (N, width). */
static PyObject *fill_places(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    Py_buffer views[MAX_ARRAYS + 2];
    table tables[MAX_ARRAYS];
    double par[PAR_COUNT] = { 0 };
    int places[MAX_OUTPUTS];
    Py_ssize_t rows = 0, bad = 0;
    int taken = 0, failed = 1, friction, joined;
    (void)module;
    const kernel *k = kernel_of(arguments, given, 4, &friction, 1, &joined);
    if (!k)
        return NULL;
    const int last = (joined ? 1 : k->inputs) + 2; /* par, places, the inputs, the output */
    for (; taken < last + 1; taken++) {
        const int flags = taken == last ? PyBUF_RECORDS : PyBUF_RECORDS_RO;
        if (PyObject_GetBuffer(arguments[2 + taken], &views[taken], flags))
            goto done;
    }
    kernel own = *k;
    own.outputs = 1;
    own.width[own.inputs] = views[last].ndim > 0 ? (int)views[last].shape[views[last].ndim - 1] : 0;
    if (read_parameters(&views[0], k, par) || read_tables(&own, views + 2, joined, 'd', tables, &rows)
        || read_places(&views[1], k, own.width[own.inputs], places))
        goto done;
    failed = 0;
    if (rows > BLOCK) {
        Py_BEGIN_ALLOW_THREADS
        bad = run_all(k, friction, par, tables, rows, places);
        Py_END_ALLOW_THREADS
    } else {
        bad = run_all(k, friction, par, tables, rows, places);
    }
done:
    while (taken > 0)
        PyBuffer_Release(&views[--taken]);
    return failed ? NULL : PyLong_FromSsize_t(bad);
}

/* In _simulation.c. */
PyObject *deltadyn_plant_tick(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *deltadyn_plant_follow(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *deltadyn_plant_rollout(PyObject *, PyObject *const *, Py_ssize_t);
/* In _smooth.c and _text.c. */
PyObject *deltadyn_smooth(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *deltadyn_parse_lines(PyObject *, PyObject *const *, Py_ssize_t);

static PyMethodDef methods[] = {
    { "run", (PyCFunction)(void (*)(void))run, METH_FASTCALL,
      "run(number, friction, par, *inputs, *outputs): how many rows are not finite" },
    { "fill", (PyCFunction)(void (*)(void))fill_places, METH_FASTCALL,
      "fill(number, friction, par, places, *inputs, output): the columns at chosen places" },
    { "plant_tick", (PyCFunction)(void (*)(void))deltadyn_plant_tick, METH_FASTCALL,
      "plant_tick(numbers, state, torques, row, moves): 0, or why the plant stops" },
    { "plant_follow", (PyCFunction)(void (*)(void))deltadyn_plant_follow, METH_FASTCALL,
      "plant_follow(numbers, state, *tables, first, end, last): ticks done, and why it stops" },
    { "plant_rollout", (PyCFunction)(void (*)(void))deltadyn_plant_rollout, METH_FASTCALL,
      "plant_rollout(dof, own, dt, substeps, steps, ramp, par, wrench, y, torque, law, every, "
      "course)" },
    { "smooth", (PyCFunction)(void (*)(void))deltadyn_smooth, METH_FASTCALL,
      "smooth(y, numbers, start, output): x, xd, xdd of one channel" },
    { "parse_lines", (PyCFunction)(void (*)(void))deltadyn_parse_lines, METH_FASTCALL,
      "parse_lines(text, separator, decimal, columns, used, output): whether all are numbers" },
    { NULL, NULL, 0, NULL },
};

/* The names of the kernels in the order of their numbers, one a line. */
#define NAME_ROW(name, ...) #name "\n"
static const char NAMES[] = DELTADYN_DELTA_KERNELS(NAME_ROW)
    DELTADYN_ACTUATIONS_KERNELS(NAME_ROW) DELTADYN_PLATFORMS_KERNELS(NAME_ROW);

/* Whether the processor has the instructions that this build is of. */
static int runs_here(void)
{
#if defined(DELTADYN_LEVEL) && defined(__GNUC__)
    __builtin_cpu_init();
#if DELTADYN_LEVEL >= 4
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw")
        || !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq")
        || !__builtin_cpu_supports("avx512vl"))
        return 0;
#endif
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")
        && __builtin_cpu_supports("fma");
#else
    return 1;
#endif
}

/* With the digests of the C, and of the texts of the formulas in the files of SOURCES. */
static int fill(PyObject *module)
{
    if (!runs_here()) {
        PyErr_SetString(
            PyExc_ImportError, "compiled for another processor: install the package again");
        return -1;
    }
    return PyModule_AddStringConstant(module, "KERNELS", NAMES)
        || PyModule_AddStringConstant(module, "DIGEST", DELTADYN_DIGEST)
        || PyModule_AddStringConstant(module, "TEXTS", DELTADYN_TEXTS)
        || PyModule_AddStringConstant(module, "SOURCES", DELTADYN_SOURCES)
        ? -1
        : 0;
}

static PyModuleDef_Slot slots[] = { { Py_mod_exec, fill }, { 0, NULL } };

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_kernels",
    .m_doc = "Compiled kernels of the exact model.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__kernels(void)
{
    return PyModuleDef_Init(&definition);
}
