"""Arrays at any address and in any byte order are read right, by every algorithm."""

from itertools import product

import malformed
import numpy as np
import pytest
from algorithm_groups import quiet
from matrices_with_zeros import STORAGES, make, small
from numpy.testing import assert_array_equal
from scipy import sparse
from small_problems import each_representative

from margins.data import validation
from margins.data.binary_data import rows_of

CHANGES = {"not aligned": malformed.unaligned, "other byte order": malformed.swapped}


@quiet
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("value", [np.float64, np.float32])
@each_representative
def test_dense_arrays_at_any_address_are_right(name, value, change):
    X, y = small()
    X = X.astype(value)
    given = CHANGES[change](X)
    classifier, expected = make(name).fit(given, y), make(name).fit(X, y)
    same = expected.decision_function(X)
    if change == "not aligned" or value is np.float64:
        assert_array_equal(classifier.decision_function(X), same)
        assert_array_equal(classifier.decision_function(given), same)
    else:  # scikit-learn makes float64 of it
        np.testing.assert_allclose(classifier.decision_function(given), same, rtol=1e-3, atol=1e-3)
    for given_y in (malformed.unaligned(y), malformed.swapped(y)):
        classifier = make(name).fit(given, given_y, malformed.unaligned(np.ones(24)))
        assert_array_equal(classifier.predict(X), expected.predict(X))


@quiet
@pytest.mark.parametrize("part", ["data", "indices", "indptr"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("storage", STORAGES)
def test_sparse_arrays_at_any_address_are_right(storage, change, part):
    X, y = small()
    for index, name in product(
        (np.int32, np.int64), ("mpu", "auto", "perceptron", "voted-perceptron", "alma")
    ):
        good = malformed.with_indices(STORAGES[storage](X), index)
        given = good.copy()
        setattr(given, part, CHANGES[change](getattr(good, part)))
        expected = make(name).fit(good, y)
        for other in (make(name).fit(given, y), make(name).fit(given, y.tolist())):
            assert_array_equal(other.decision_function(X), expected.decision_function(X))
        assert_array_equal(expected.decision_function(given), expected.decision_function(good))


@pytest.mark.parametrize("change", CHANGES)
def test_kernels_get_arrays_that_they_can_read(change):
    X, y = small()
    classifier = make("mpu")
    for given in (CHANGES[change](X), sparse.csr_array(X)):
        if sparse.issparse(given):
            given.data, given.indices = CHANGES[change](given.data), CHANGES[change](given.indices)
        for y_given in (y, y.tolist()):
            Z = validation.validate_samples(classifier, given, y_given, "fit").X
            parts = (Z.data, Z.indices, Z.indptr) if sparse.issparse(Z) else (Z,)
            assert all(array.flags.aligned and array.dtype.isnative for array in parts)
    assert_array_equal(rows_of(malformed.unaligned(X)).sqnorms(), rows_of(X).sqnorms())
