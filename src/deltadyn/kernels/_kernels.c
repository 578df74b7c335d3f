/* The compiled kernels as a Python module: run(number, friction, par, *inputs, *outputs).
 *
 * Arrays come through the buffer protocol, as (N, width) or one row (width,) of doubles with any
 * strides; a row of inputs serves all N samples. The interpreter's lock is released for more than
 * one block. Limited API: one build serves Python 3.11 and later.
 */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "blocks.h"

typedef struct {
    char *data;
    Py_ssize_t step, hop; /* bytes from row to row and from coordinate to coordinate */
    int width;
} table;

/* Fill a block of columns from rows. */
static void gather(const table *t, Py_ssize_t start, int count, real *x)
{
    for (int j = 0; j < t->width; j++) {
        const char *from = t->data + start * t->step + j * t->hop;
        real *column = x + (size_t)j * BLOCK;
        for (int i = 0; i < count; i++)
            memcpy(column + i, from + i * t->step, sizeof(real));
    }
}

static void scatter(const table *t, Py_ssize_t start, int count, const real *y)
{
    for (int j = 0; j < t->width; j++) {
        char *to = t->data + start * t->step + j * t->hop;
        const real *column = y + (size_t)j * BLOCK;
        for (int i = 0; i < count; i++)
            memcpy(to + i * t->step, column + i, sizeof(real));
    }
}

static Py_ssize_t run_all(
    const kernel *k, int friction, const real *par, const table *tables, Py_ssize_t rows)
{
    real x[MAX_INPUTS * BLOCK], y[MAX_OUTPUTS * BLOCK];
    Py_ssize_t bad = 0;
    for (Py_ssize_t start = 0; start < rows; start += BLOCK) {
        const int count = rows - start < BLOCK ? (int)(rows - start) : BLOCK;
        const table *t = tables;
        int column = 0;
        for (int a = 0; a < k->inputs; a++, t++) {
            gather(t, start, count, x + (size_t)column * BLOCK);
            column += t->width;
        }
        bad += run_block(k, friction, par, x, y, count);
        column = 0;
        for (int a = 0; a < k->outputs; a++, t++) {
            scatter(t, start, count, y + (size_t)column * BLOCK);
            column += t->width;
        }
    }
    return bad;
}

/* Read a buffer as a table of `width`; rows: -1 where it is one row. */
static int read_table(const Py_buffer *view, int width, int place, table *t, Py_ssize_t *rows)
{
    const int last = view->ndim - 1;
    const char *format = view->format ? view->format : "B";
    /* an array that is not aligned says "=d" */
    if (view->itemsize != (Py_ssize_t)sizeof(real) || strcmp(format + (format[0] == '='), "d")) {
        PyErr_Format(PyExc_TypeError, "array %d holds no doubles", place);
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

/* Tables of all arrays; the outputs say how many rows there are. */
static int read_tables(
    const kernel *k, const Py_buffer *views, int arrays, table *tables, Py_ssize_t *rows)
{
    *rows = -1;
    for (int a = arrays - 1; a >= 0; a--) {
        Py_ssize_t own;
        if (read_table(&views[a], k->width[a], a, &tables[a], &own))
            return -1;
        if (a >= k->inputs)
            own = own < 0 ? 1 : own;
        if (*rows < 0)
            *rows = own;
        if (own >= 0 && own != *rows) {
            PyErr_Format(PyExc_ValueError, "array %d has %zd rows, not %zd", a, own, *rows);
            return -1;
        }
    }
    return 0;
}

static int read_parameters(const Py_buffer *view, const kernel *k, real *par)
{
    table t;
    Py_ssize_t rows;
    const int given = view->ndim == 1 && view->shape[0] <= PAR_COUNT ? (int)view->shape[0] : -1;
    if (given < k->parameters) {
        PyErr_Format(
            PyExc_ValueError, "parameters: (n,) with n from %d to %d", k->parameters, PAR_COUNT);
        return -1;
    }
    if (read_table(view, given, -1, &t, &rows))
        return -1;
    for (int i = 0; i < given; i++)
        memcpy(par + i, t.data + i * t.hop, sizeof(real));
    return 0;
}

static PyObject *run(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    Py_buffer views[MAX_ARRAYS + 1];
    table tables[MAX_ARRAYS];
    real par[PAR_COUNT] = { 0 };
    Py_ssize_t rows = 0, bad = 0;
    int taken = 0, failed = 1;
    (void)module;
    const long number = given > 2 ? PyLong_AsLong(arguments[0]) : -1;
    const int friction = given > 2 ? PyObject_IsTrue(arguments[1]) : -1;
    if (PyErr_Occurred())
        return NULL;
    if (number < 0 || number >= KERNEL_COUNT) {
        PyErr_SetString(PyExc_ValueError, "run(number, friction, par, *inputs, *outputs)");
        return NULL;
    }
    const kernel *k = &KERNELS[number];
    const int arrays = k->inputs + k->outputs;
    if (given != 3 + arrays) {
        PyErr_Format(PyExc_ValueError, "%s takes %d arrays, not %zd", k->name, arrays, given - 3);
        return NULL;
    }
    for (; taken < arrays + 1; taken++) {
        const int flags = taken > k->inputs ? PyBUF_RECORDS : PyBUF_RECORDS_RO;
        if (PyObject_GetBuffer(arguments[2 + taken], &views[taken], flags))
            goto done;
    }
    if (read_parameters(&views[0], k, par) || read_tables(k, views + 1, arrays, tables, &rows))
        goto done;
    if (rows > BLOCK) {
        Py_BEGIN_ALLOW_THREADS
        bad = run_all(k, friction, par, tables, rows);
        Py_END_ALLOW_THREADS
    } else {
        bad = run_all(k, friction, par, tables, rows);
    }
    failed = 0;
done:
    while (taken > 0)
        PyBuffer_Release(&views[--taken]);
    return failed ? NULL : PyLong_FromSsize_t(bad);
}

static PyMethodDef methods[] = {
    { "run", (PyCFunction)(void (*)(void))run, METH_FASTCALL,
      "run(number, friction, par, *inputs, *outputs): how many rows are not finite" },
    { NULL, NULL, 0, NULL },
};

static int fill(PyObject *module)
{
    return PyModule_AddStringConstant(module, "DIGEST", DELTADYN_DIGEST);
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
