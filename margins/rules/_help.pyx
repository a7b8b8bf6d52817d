"""A shorter help() on compiled classes: what users may use, without the names that Cython adds.

In addition to its methods, a type's dictionary holds the table of its C methods and the helpers of its
pickling, under names with double underscores, which pydoc always shows. Modules that cimport a class look the
table up by name, so it must stay. Here these names are replaced by equal names that pydoc considers private.
"""

from cpython.object cimport PyObject

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        PyObject* tp_dict
    void PyType_Modified(PyTypeObject* type)

INTERNAL: tuple[str, ...] = (
    "__pyx_vtable__",
    "__reduce_cython__",
    "__setstate_cython__",
    "__reduce__",
    "__setstate__",
)


class _Private(str):
    """A name that is looked up like any other, but that `pydoc.visiblename` considers private."""

    __slots__ = ()

    def endswith(self, *_):
        return False


def hide_internals(type compiled):
    """Leave the names of `INTERNAL` out of the help on a class.

    Parameters
    ----------
    compiled : type
        An extension type. Only the appearance of its help changes.
    """
    cdef dict names = <dict> (<PyTypeObject*> compiled).tp_dict
    for name in INTERNAL:
        if name in names:
            value = names.pop(name)
            names[_Private(name)] = value
    PyType_Modified(<PyTypeObject*> compiled)
