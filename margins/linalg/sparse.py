"""What is a sparse matrix, without an import of SciPy."""

import sys


def is_sparse(X):
    """True if X is a sparse matrix or array of SciPy.

    Parameters
    ----------
    X : object
        Nothing is one before `scipy.sparse` is imported.
    """
    module = sys.modules.get("scipy.sparse")
    return module is not None and module.issparse(X)
