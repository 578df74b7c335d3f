/* The constant-jerk smoother of one even channel: smooth(y, numbers, start, output).
 *
 * Two modes m of the settled filter run forward and two modes r backward, each a recursion with a
 * complex pole z; recording/rates/constant_jerk.py has the equations:
 *
 *     m_{k+1} = z m_k + g y_k,   e_k = y_k - 2 Re sum m_k,   r_{k-1} = z r_k + e_k / S
 *     x, xd, xdd:   2 Re(V m_k) + 2 Re(C r_{k-1}),  scaled
 *
 * y (N,) and output (3, N) are doubles with any strides; start (2, n, 2) is what the unknown start
 * of the record adds to the modes (real, imaginary). The operations come in the order of the NumPy
 * path, so that the bits are the same.
 */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double re, im;
} complex_number;

typedef struct {
    complex_number z[2], g[2]; /* poles, gains of the samples */
    double inverse; /* 1 / S */
    complex_number forward[3][2], backward[3][2]; /* V and C */
    double scale[3], divisor[3];
} filter;

#define NUMBERS ((Py_ssize_t)(sizeof(filter) / sizeof(double)))

static double real_product(const complex_number row[2], const complex_number m[2])
{
    double total = 2 * m[0].re * row[0].re;
    total -= 2 * m[0].im * row[0].im;
    total += 2 * m[1].re * row[1].re;
    total -= 2 * m[1].im * row[1].im;
    return total;
}

static complex_number turned(complex_number z, complex_number m)
{
    const complex_number out = { z.re * m.re - z.im * m.im, z.re * m.im + z.im * m.re };
    return out;
}

typedef struct {
    const char *y;
    char *output;
    const complex_number *start;
    Py_ssize_t count, started, step, out_row, out_step;
} record;

static double sample(const record *r, Py_ssize_t k)
{
    double value;
    memcpy(&value, r->y + k * r->step, sizeof value);
    return value;
}

/* Predictions into the output, innovations into e. */
static void run_forward(const filter *f, const record *r, double *e)
{
    const double origin = sample(r, 0);
    complex_number m[2] = { { 0, 0 }, { 0, 0 } };
    for (Py_ssize_t k = 0; k < r->count; k++) {
        const double shifted = sample(r, k) - origin;
        complex_number whole[2] = { m[0], m[1] };
        e[k] = shifted - 2 * (m[0].re + m[1].re);
        if (k < r->started) {
            const complex_number a = r->start[k], b = r->start[r->started + k];
            whole[0].re += a.re;
            whole[0].im += a.im;
            whole[1].re += b.re;
            whole[1].im += b.im;
            e[k] -= 2 * (a.re + b.re);
        }
        for (int i = 0; i < 3; i++) {
            const double total = real_product(f->forward[i], whole);
            memcpy(r->output + i * r->out_row + k * r->out_step, &total, sizeof total);
        }
        for (int i = 0; i < 2; i++) {
            m[i] = turned(f->z[i], m[i]);
            m[i].re += f->g[i].re * shifted;
            m[i].im += f->g[i].im * shifted;
        }
    }
}

/* What later samples tell, added to the output. */
static void run_backward(const filter *f, const record *r, const double *e)
{
    const double origin = sample(r, 0);
    complex_number m[2] = { { 0, 0 }, { 0, 0 } };
    for (Py_ssize_t k = r->count - 1; k >= 0; k--) {
        for (int i = 0; i < 2; i++) {
            m[i] = turned(f->z[i], m[i]);
            m[i].re += f->inverse * e[k];
        }
        for (int i = 0; i < 3; i++) {
            char *const place = r->output + i * r->out_row + k * r->out_step;
            double total;
            memcpy(&total, place, sizeof total);
            total = (total + real_product(f->backward[i], m)) * f->scale[i];
            total = (i ? total : total + origin) / f->divisor[i];
            memcpy(place, &total, sizeof total);
        }
    }
}

static int holds_doubles(const Py_buffer *view, int dimensions)
{
    const char *format = view->format ? view->format : "B";
    format += format[0] == '=';
    return !strcmp(format, "d") && view->ndim == dimensions;
}

static int smoothed(const Py_buffer *views)
{
    const Py_buffer *y = &views[0], *numbers = &views[1], *start = &views[2], *out = &views[3];
    filter f;
    if (!holds_doubles(y, 1) || !holds_doubles(numbers, 1) || !holds_doubles(start, 3)
        || !holds_doubles(out, 2) || numbers->shape[0] != NUMBERS || start->shape[0] != 2
        || start->shape[2] != 2 || out->shape[0] != 3 || out->shape[1] != y->shape[0]
        || y->shape[0] < 1 || numbers->strides[0] != (Py_ssize_t)sizeof(double)
        || !PyBuffer_IsContiguous(start, 'C')) {
        PyErr_SetString(PyExc_ValueError, "smooth(y (N,), numbers, start (2, n, 2), output (3, N))");
        return -1;
    }
    memcpy(&f, numbers->buf, sizeof f);
    const record r = { y->buf, out->buf, start->buf, y->shape[0], start->shape[1], y->strides[0],
        out->strides[0], out->strides[1] };
    double *e = malloc((size_t)r.count * sizeof(double));
    if (!e) {
        PyErr_NoMemory();
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS
    run_forward(&f, &r, e);
    run_backward(&f, &r, e);
    Py_END_ALLOW_THREADS
    free(e);
    return 0;
}

PyObject *deltadyn_smooth(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    Py_buffer views[4];
    int taken = 0, failed = 1;
    (void)module;
    if (given != 4) {
        PyErr_SetString(PyExc_TypeError, "smooth(y, numbers, start, output)");
        return NULL;
    }
    for (; taken < 4; taken++)
        if (PyObject_GetBuffer(
                arguments[taken], &views[taken], taken == 3 ? PyBUF_RECORDS : PyBUF_RECORDS_RO))
            goto done;
    failed = smoothed(views);
done:
    while (taken > 0)
        PyBuffer_Release(&views[--taken]);
    if (failed)
        return NULL;
    Py_INCREF(Py_None);
    return Py_None;
}
