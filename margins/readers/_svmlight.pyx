"""Parse text in svmlight's format: one sample per line, ``label index:value index:value ... # comment``.

Given the text of a file, `parse` fills the arrays of a CSR matrix and the labels, or returns the position
of the first fault. Numbers are rounded correctly: numbers of at most 15 digits and a small exponent by one
exact division or multiplication; most longer ones by one in a wider type, whose rounding provably does not
matter; others by Python's conversion. `add_scores` needs no NumPy either.
"""

from libc.math cimport fabs, floor, isfinite
from libc.stdint cimport int32_t, int64_t, uint64_t

from cpython.exc cimport PyErr_CheckSignals

cdef extern from "<float.h>":
    const int LDBL_MANT_DIG

cdef extern from "Python.h":
    ctypedef struct PyObject
    double PyOS_string_to_double(const char *s, char **end, PyObject *overflow) except? -1

cdef double[23] POWERS = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
]
# Exact, where a long double has 64 bits of mantissa: 5**27 < 2**63.
cdef long double[28] WIDE_POWERS
WIDE_POWERS[0] = 1
for k in range(1, 28):
    WIDE_POWERS[k] = 10 * WIDE_POWERS[k - 1]
cdef long double SLACK = 2.0 ** -62  # more than the relative rounding of a long double

cdef uint64_t LARGEST_EXACT = 9007199254740992  # 2**53
cdef int64_t LARGEST_INDEX = 2147483646
cdef uint64_t LARGEST_LABEL = 9223372036854775807  # 2**63 - 1
cdef int64_t SIGNALS_EVERY = 65536  # lines

# The names of faults, in the order of `Fault`.
FAULTS = (
    "", "label", "fraction", "large label", "index", "colon", "value", "below first", "not ascending",
    "too large",
)


cdef inline bint is_digit(char c) noexcept nogil:
    return c'0' <= c <= c'9'


cdef inline bint is_blank(char c) noexcept nogil:
    return c == c' ' or c == c'\t' or c == c'\r'


cdef inline bint ends_token(char c) noexcept nogil:
    return is_blank(c) or c == c'\n' or c == c'#' or c == 0


cdef const char *read_number(const char *p, double *value) except? NULL:
    """Read a decimal number and return its end, or NULL if there is no finite number."""
    cdef const char *begin = p
    cdef uint64_t mantissa = 0
    cdef int n_digits = 0, exponent = 0, shift = 0
    cdef bint is_negative = p[0] == c'-', exponent_is_negative
    if p[0] == c'-' or p[0] == c'+':
        p += 1
    cdef const char *first = p
    while is_digit(p[0]):
        if n_digits < 18:
            mantissa = 10 * mantissa + <uint64_t> (p[0] - c'0')
            n_digits += mantissa > 0
        else:
            n_digits = 99  # not exact
        p += 1
    cdef bint has_digits = p > first
    if p[0] == c'.':
        p += 1
        first = p
        while is_digit(p[0]):
            if n_digits < 18:
                mantissa = 10 * mantissa + <uint64_t> (p[0] - c'0')
                n_digits += mantissa > 0
                shift -= 1
            else:
                n_digits = 99
            p += 1
        has_digits = has_digits or p > first
    if not has_digits:
        return NULL
    if p[0] == c'e' or p[0] == c'E':
        p += 1
        exponent_is_negative = p[0] == c'-'
        if p[0] == c'-' or p[0] == c'+':
            p += 1
        if not is_digit(p[0]):
            return NULL
        while is_digit(p[0]):
            if exponent < 100000:
                exponent = 10 * exponent + (p[0] - c'0')
            p += 1
        if exponent >= 100000:
            n_digits = 99  # Python counts further
        if exponent_is_negative:
            exponent = -exponent
    exponent += shift
    if n_digits < 99 and mantissa <= LARGEST_EXACT and -22 <= exponent <= 22:
        value[0] = <double> mantissa
        if exponent < 0:
            value[0] /= POWERS[-exponent]
        else:
            value[0] *= POWERS[exponent]
        if is_negative:
            value[0] = -value[0]
        return p
    cdef long double wide
    if LDBL_MANT_DIG >= 64 and n_digits < 99 and -27 <= exponent <= 27:
        wide = <long double> mantissa
        wide = wide / WIDE_POWERS[-exponent] if exponent < 0 else wide * WIDE_POWERS[exponent]
        value[0] = <double> (wide * (1 - SLACK))
        if value[0] == <double> (wide * (1 + SLACK)):
            if is_negative:
                value[0] = -value[0]
            return p
    cdef char *end
    value[0] = PyOS_string_to_double(begin, &end, NULL)
    return p if isfinite(value[0]) else NULL


cdef const char *read_label(const char *p, int64_t *label, Fault *fault) except? NULL:
    """Read a whole number exactly and return its end, or NULL with the fault."""
    cdef const char *begin = p
    cdef bint is_negative = p[0] == c'-', is_large = False
    cdef uint64_t magnitude = 0
    cdef double number
    if p[0] == c'-' or p[0] == c'+':
        p += 1
    cdef const char *first = p
    while is_digit(p[0]):
        if magnitude <= LARGEST_LABEL // 10:
            magnitude = 10 * magnitude + <uint64_t> (p[0] - c'0')
        else:
            is_large = True
        p += 1
    if p > first and ends_token(p[0]):
        if is_large or magnitude > LARGEST_LABEL + is_negative:
            fault[0] = LARGE_LABEL
            return NULL
        label[0] = <int64_t> (0 - magnitude if is_negative else magnitude)
        return p
    # The number has a point or an exponent.
    p = read_number(begin, &number)
    if p == NULL or not ends_token(p[0]):
        fault[0] = LABEL
        return NULL
    if number != floor(number):
        fault[0] = FRACTION
        return NULL
    if fabs(number) >= LARGEST_EXACT:
        fault[0] = LARGE_LABEL
        return NULL
    label[0] = <int64_t> number
    return p


def read_numbers(bytes text not None, Py_ssize_t begin, double[::1] values):
    """Fill `values` with the numbers of a text from `begin`, and return True; False if they are not its words."""
    cdef const char *p = <const char *> text + begin
    cdef const char *end = <const char *> text + len(text)
    cdef Py_ssize_t n
    for n in range(values.shape[0] + 1):
        while p < end and (is_blank(p[0]) or p[0] == c'\n'):
            p += 1
        if p == end or n == values.shape[0]:
            return p == end and n == values.shape[0]
        p = read_number(p, &values[n])
        if p == NULL or not (is_blank(p[0]) or p[0] == c'\n' or p == end):
            return False


def parse(
    bytes text not None, double[::1] values, int32_t[::1] columns, int64_t[::1] starts,
    int64_t[::1] labels, int64_t first, int64_t largest,
):
    """Fill the arrays, and return the numbers of samples, features and values, and the first fault.

    `values` and `columns` need an element for each colon of the text, `labels` one for each line, and
    `starts` one more. Indices are from `first` to `largest`. The fault is one of `FAULTS`, "" if there is
    none; its line counts from 1, its position is that of the faulty token in the text.
    """
    cdef const char *begin = text
    cdef const char *end = begin + len(text)
    cdef const char *p = begin
    cdef const char *token
    cdef const char *after
    cdef int64_t line = 1, m = 0, n = 0, index, last, n_features = 0
    cdef double value
    cdef Fault fault = NONE
    if len(text) >= 3 and text[:3] == b"\xef\xbb\xbf":  # a byte order mark
        p += 3
    token = p
    starts[0] = 0
    while fault == NONE and p < end:
        while is_blank(p[0]):
            p += 1
        if p[0] != c'\n' and p[0] != c'#' and p < end:
            token = p
            after = read_label(p, &labels[m], &fault)
            if after == NULL:
                break
            p = after
            last = first - 1
            while True:
                while is_blank(p[0]):
                    p += 1
                if p[0] == c'\n' or p[0] == c'#' or p >= end:
                    break
                token = p
                if not is_digit(p[0]):
                    fault = INDEX
                    break
                index = 0
                while is_digit(p[0]):
                    if index <= LARGEST_INDEX:
                        index = 10 * index + (p[0] - c'0')
                    p += 1
                if p[0] != c':':
                    fault = COLON
                    break
                if index <= last:
                    fault = BELOW_FIRST if index < first else NOT_ASCENDING
                    break
                if index > largest:
                    fault = TOO_LARGE
                    break
                last = index
                p += 1
                if is_digit(p[0]) and ends_token(p[1]):  # most values of many files
                    value = p[0] - c'0'
                    p += 1
                else:
                    after = read_number(p, &value)
                    if after == NULL or not ends_token(after[0]):
                        token = p
                        fault = VALUE
                        break
                    p = after
                values[n] = value
                columns[n] = <int32_t> (index - first)
                n += 1
            if fault != NONE:
                break
            n_features = max(n_features, last - first + 1)
            m += 1
            starts[m] = n
        while p < end and p[0] != c'\n':
            p += 1
        if p < end:
            p += 1
            line += 1
            if line % SIGNALS_EVERY == 0:
                PyErr_CheckSignals()
    return m, n_features, n, FAULTS[fault], line, token - begin


def add_scores(
    const double[::1] values, const int32_t[::1] columns, const int64_t[::1] starts, const double[::1] weights,
    Py_ssize_t n_columns, double bias, double[::1] scores,
):
    """Add the scores of all samples to `scores`, `n_columns` for each, in the order of LIBLINEAR's `predict`.

    `weights` has `n_columns` numbers for each feature, and if `bias` is not negative as many for one more
    feature of this value. Features without weights are left out.
    """
    cdef Py_ssize_t i, k, column, n_features = weights.shape[0] // n_columns - (bias >= 0)
    cdef const double *row
    cdef double *out
    with nogil:
        for i in range(starts.shape[0] - 1):
            out = &scores[i * n_columns]
            for k in range(starts[i], starts[i + 1]):
                if columns[k] >= n_features:
                    break
                row = &weights[columns[k] * n_columns]
                for column in range(n_columns):
                    out[column] += values[k] * row[column]
            if bias >= 0:
                row = &weights[n_features * n_columns]
                for column in range(n_columns):
                    out[column] += bias * row[column]
