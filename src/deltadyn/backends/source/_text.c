/* Lines of plain numbers to an array: parse_lines(text, separator, decimal, columns, used, output).
 *
 * `text` ends with a line feed. `separator` and `decimal` are bytes; 0 as separator means runs of
 * blanks and tabs. `used` holds the wanted columns in order, as 32-bit integers; `output` is
 * (len(used), lines) of doubles. It gives True where every line has `columns` cells and every used
 * one reads  [sign] digits [. digits] [e [sign] digits]  and is finite; else False, and a careful
 * parser has to tell what it is. Blanks around a cell are left out.
 *
 * Every number is the double that is nearest to it, ties to even. With the digits as an integer m
 * and the power of ten k, the value is m 10^k, and there are three ways to it:
 *
 *     m <= 2^53, |k| <= 22    m and 10^|k| are doubles, so one rounded operation does it
 *     m < 2^64,  |k| <= 27    5^|k| < 2^63: a product or quotient of integers with 128 bits, exact
 *                             with its remainder, is rounded once
 *     all others              Python's own conversion
 */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MOST_DIGITS 19 /* of an integer below 2^64 */
#define MOST_FIVES 27 /* 5^27 < 2^63 */
#define LONGEST 1000 /* characters of a number that Python converts */
#define LARGEST_POWER 100000 /* of ten: far beyond what a double holds */

typedef struct {
    char separator, decimal;
    int columns, wanted;
    const int32_t *used;
    PyThreadState *state; /* of the lock that was let go */
} dialect;

static int is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

#ifdef __SIZEOF_INT128__
static const uint64_t FIVES[MOST_FIVES + 1] = { 1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u,
    390625u, 1953125u, 9765625u, 48828125u, 244140625u, 1220703125u, 6103515625u, 30517578125u,
    152587890625u, 762939453125u, 3814697265625u, 19073486328125u, 95367431640625u,
    476837158203125u, 2384185791015625u, 11920928955078125u, 59604644775390625u,
    298023223876953125u, 1490116119384765625u, 7450580596923828125u };

/* q 2^e to the nearest double, q with 63 or 64 bits; `more`: the value is a little above that. */
static double rounded(uint64_t q, int more, int e)
{
    const int drop = (q >> 63) ? 11 : 10;
    const uint64_t half = (uint64_t)1 << (drop - 1), rest = q & (2 * half - 1);
    uint64_t r = q >> drop;
    double value, scale;
    r += rest > half || (rest == half && (more || (r & 1)));
    value = (double)r; /* at most 2^53 */
    const uint64_t bits = (uint64_t)(1023 + e + drop) << 52; /* far from the ends: |e| < 200 */
    memcpy(&scale, &bits, sizeof scale);
    return value * scale;
}

/* m 10^k for m > 0 and |k| <= MOST_FIVES, where 10^k = 5^k 2^k. */
static double exact(uint64_t m, int k)
{
    const int up = __builtin_clzll(m);
    m <<= up;
    if (k < 0) {
        uint64_t five = FIVES[-k];
        const int down = __builtin_clzll(five);
        five <<= down;
        /* both have 64 bits, so the quotient of m 2^63 has 63 or 64 */
        const unsigned __int128 wide = (unsigned __int128)m << 63;
        const uint64_t q = (uint64_t)(wide / five);
        return rounded(q, wide - (unsigned __int128)q * five != 0, k - 63 + down - up);
    }
    unsigned __int128 wide = (unsigned __int128)m * FIVES[k];
    const uint64_t high = (uint64_t)(wide >> 64);
    const int shift = high ? 64 - __builtin_clzll(high) : 0; /* then 64 bits are left */
    const uint64_t q = (uint64_t)(wide >> shift);
    return rounded(q, ((unsigned __int128)q << shift) != wide, k + shift - up);
}
#endif

/* Python's conversion of the characters from `first` to `end`; NaN where it refuses them. */
static double converted(const char *first, const char *end, dialect *d)
{
    char word[LONGEST + 1];
    double value = NAN;
    const size_t size = (size_t)(end - first);
    if (size > LONGEST)
        return NAN;
    memcpy(word, first, size);
    word[size] = 0;
    char *mark = d->decimal == '.' ? NULL : strchr(word, d->decimal);
    if (mark)
        *mark = '.';
    PyEval_RestoreThread(d->state);
    value = PyOS_string_to_double(word, NULL, NULL);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        value = NAN;
    }
    d->state = PyEval_SaveThread();
    return value;
}

/* The number at `p`; the place behind it, or NULL where there is none that is finite. */
static const char *read_number(const char *p, dialect *d, double *value)
{
    static const double TENS[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    const int negative = *p == '-';
    uint64_t m = 0;
    p += negative || *p == '+';
    const char *const first = p, *digits = p;
    for (; is_digit(*p); p++)
        m = 10 * m + (uint64_t)(*p - '0');
    ptrdiff_t count = p - first;
    long k = 0;
    if (*p == d->decimal) {
        const char *const behind = ++p;
        for (; is_digit(*p); p++)
            m = 10 * m + (uint64_t)(*p - '0');
        count += p - behind;
        k = p - behind > LARGEST_POWER ? -LARGEST_POWER : (long)(behind - p);
    }
    if (!count)
        return NULL;
    if (*p == 'e' || *p == 'E') {
        const int down = *++p == '-';
        long power = 0;
        p += down || *p == '+';
        if (!is_digit(*p))
            return NULL;
        for (; is_digit(*p); p++)
            power = power < LARGEST_POWER ? 10 * power + (*p - '0') : power;
        k += down ? -power : power;
    }
    if (count > MOST_DIGITS) /* zeros in front do not count */
        for (; *digits == '0' || *digits == d->decimal; digits++)
            count -= *digits == '0';
    double x;
    if (count > MOST_DIGITS)
        x = converted(first, p, d);
    else if (m == 0)
        x = 0.0;
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
    else if (m <= (uint64_t)1 << 53 && k >= -22 && k <= 22)
        x = k < 0 ? (double)m / TENS[-k] : (double)m * TENS[k];
#endif
#ifdef __SIZEOF_INT128__
    else if (k >= -MOST_FIVES && k <= MOST_FIVES)
        x = exact(m, (int)k);
#endif
    else
        x = converted(first, p, d);
    *value = negative ? -x : x;
    return isfinite(x) ? p : NULL;
}

static int is_blank(char c, const dialect *d)
{
    return c == ' ' || (c == '\t' && d->separator != '\t');
}

/* The end of a cell that nobody needs; NULL where a quote or an odd byte may hide its end. */
static const char *skip_cell(const char *p, const dialect *d)
{
    if (d->separator) {
        while (*p != d->separator && *p != '\n' && *p != '"')
            p++;
        return *p == '"' ? NULL : p;
    }
    const char *const first = p;
    while (*p > ' ' && *p < 127 && *p != '"')
        p++;
    return p > first && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n') ? p : NULL;
}

/* One line into a column of `output`, whose rows are `stride` apart; the start of the next line. */
static const char *read_line(const char *p, dialect *d, double *output, Py_ssize_t stride)
{
    int next = 0;
    while (is_blank(*p, d))
        p++;
    if (*p == '#' || *p == '%' || *p == '/') /* a comment, perhaps */
        return NULL;
    for (int column = 0; column < d->columns; column++) {
        if (next < d->wanted && d->used[next] == column) {
            while (is_blank(*p, d))
                p++;
            p = read_number(p, d, output + next++ * stride);
        } else {
            p = skip_cell(p, d);
        }
        if (!p)
            return NULL;
        const char *const end = p;
        while (is_blank(*p, d))
            p++;
        if (column + 1 == d->columns)
            break;
        if (d->separator ? *p++ != d->separator : p == end)
            return NULL;
    }
    p += *p == '\r';
    return *p == '\n' ? p + 1 : NULL;
}

static int read_arguments(PyObject *const *arguments, Py_ssize_t given, dialect *d)
{
    long numbers[3];
    for (int i = 0; i < 3; i++) {
        numbers[i] = given == 6 ? PyLong_AsLong(arguments[1 + i]) : -1;
        if (numbers[i] < 0 || numbers[i] > (i < 2 ? 127 : INT32_MAX)) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError,
                    "parse_lines(text, separator, decimal, columns, used, output)");
            return -1;
        }
    }
    d->separator = (char)numbers[0];
    d->decimal = (char)numbers[1];
    d->columns = (int)numbers[2];
    return 0;
}

/* The wanted columns must come in order and exist. */
static int read_used(const Py_buffer *view, dialect *d)
{
    if (view->ndim != 1 || !view->format || strcmp(view->format, "i")
        || view->itemsize != (Py_ssize_t)sizeof(int32_t)) {
        PyErr_SetString(PyExc_TypeError, "used holds no 32-bit integers in a row");
        return -1;
    }
    d->used = view->buf;
    d->wanted = (int)view->shape[0];
    for (int i = 0; i < d->wanted; i++)
        if (d->used[i] >= d->columns || d->used[i] < (i ? d->used[i - 1] + 1 : 0)) {
            PyErr_SetString(PyExc_ValueError, "used holds no growing numbers of columns");
            return -1;
        }
    return 0;
}

static int read_output(const Py_buffer *view, const dialect *d)
{
    if (!view->format || strcmp(view->format, "d") || view->ndim != 2
        || view->shape[0] != d->wanted) {
        PyErr_SetString(PyExc_ValueError, "output holds no doubles of shape (len(used), lines)");
        return -1;
    }
    return 0;
}

PyObject *deltadyn_parse_lines(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    Py_buffer text, used, output;
    dialect d;
    PyObject *found = NULL;
    (void)module;
    if (read_arguments(arguments, given, &d))
        return NULL;
    if (PyObject_GetBuffer(arguments[0], &text, PyBUF_SIMPLE))
        return NULL;
    if (PyObject_GetBuffer(arguments[4], &used, PyBUF_FORMAT | PyBUF_ND))
        goto without_used;
    if (PyObject_GetBuffer(arguments[5], &output, PyBUF_FORMAT | PyBUF_ND | PyBUF_WRITABLE))
        goto without_output;
    if (read_used(&used, &d) || read_output(&output, &d))
        goto done;
    const char *p = text.buf, *const end = p + text.len;
    const Py_ssize_t lines = output.shape[1];
    Py_ssize_t row = 0;
    /* every loop over characters ends at a line feed, of which the last byte is one; so no mark is */
    const int marks = d.separator != d.decimal && d.separator != '\n' && d.decimal != '\n';
    if (text.len && end[-1] == '\n' && marks && d.columns > 0) {
        d.state = PyEval_SaveThread();
        for (; row < lines && p && p < end; row++)
            p = read_line(p, &d, (double *)output.buf + row, lines);
        PyEval_RestoreThread(d.state);
    }
    found = p == end && row == lines ? Py_True : Py_False;
    Py_INCREF(found);
done:
    PyBuffer_Release(&output);
without_output:
    PyBuffer_Release(&used);
without_used:
    PyBuffer_Release(&text);
    return found;
}
