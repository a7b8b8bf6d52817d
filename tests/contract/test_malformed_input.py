"""Sparse matrices with invalid indices are rejected before anything reads them, by every algorithm.

No assertion can fail where a kernel reads beyond an array: the process may end.
`scripts/robustness/sanitize.py` runs these tests on a build that reports such a read.
"""

import functools
import itertools

import malformed
import numpy as np
import pytest
from algorithm_groups import ALGORITHMS, each_algorithm, each_representative, quiet
from numpy.testing import assert_array_equal
from problems import make, small
from sample_problems import STORAGES
from scipy import sparse

import margins
from margins.data import structure
from margins.estimators.base import BaseMarginClassifier
from margins.model_selection import double_cross_validation, online_to_pac, parameter_search


def calls_of(name):
    """{method: call with X} of everything that reads X."""
    X, y = small(n_features=4, zeros=True)
    fitted = make(name).fit(X, y)
    calls = {
        "fit": lambda bad: make(name).fit(bad, y),
        "fit, labels in a list": lambda bad: make(name).fit(bad, y.tolist()),
        "predict": fitted.predict,
        "decision_function": fitted.decision_function,
        "score": lambda bad: fitted.score(bad, y),
    }
    if hasattr(make(name), "partial_fit"):
        calls["partial_fit"] = lambda bad: make(name).partial_fit(bad, y, classes=[0, 1])
    if hasattr(fitted, "explain"):
        calls["explain"] = lambda bad: make(name).explain(bad, y)
    return calls


@pytest.fixture(scope="module")
def calls():
    """Those of an algorithm, fitted once for all faults."""
    return functools.cache(calls_of)


@quiet
@each_algorithm
def test_every_algorithm_rejects_every_fault_in_every_method(name, calls):
    sentence = rf"^X of {ALGORITHMS[name].__name__}, CSR of shape \(24, 4\), .*"
    for fault in malformed.COMPRESSED:
        bad = malformed.damaged(sparse.csr_array(small(n_features=4, zeros=True)[0]), fault)
        for call in calls(name).values():
            with pytest.raises(ValueError, match=sentence + malformed.message_of("csr", fault)):
                call(bad)


@quiet
@pytest.mark.parametrize(
    ("storage", "index", "value"),
    [
        ("csr_array", np.int32, np.float64),
        ("csr_array", np.int64, np.float32),
        ("csr_matrix", np.int64, np.int64),
        ("csc_array", np.int32, np.float32),
        ("csc_array", np.int64, np.float64),
        ("csc_matrix", np.int32, np.int64),
    ],
)
def test_every_storage_is_checked(storage, index, value, calls, tmp_path):
    good = malformed.with_indices(
        STORAGES[storage](small(n_features=4, zeros=True)[0].astype(value)), index
    )
    for number, fault in enumerate(malformed.COMPRESSED):
        bad = [malformed.damaged(good, fault)]
        if "no array" not in fault:  # a list has no memory map
            folder = tmp_path / str(number)
            folder.mkdir()
            bad.append(malformed.memory_mapped(bad[0], folder))
        for X, call in itertools.product(bad, calls("mpu").values()):
            with pytest.raises(ValueError, match=malformed.message_of(good.format, fault)):
                call(X)


@quiet
@pytest.mark.parametrize("fault", malformed.OTHERS)
def test_other_formats_are_checked_before_they_are_converted(fault, calls):
    damage, message = malformed.OTHERS[fault]
    for name in ("mpu", "auto", "perceptron"):
        for call in calls(name).values():
            with pytest.raises(ValueError, match=message):
                call(damage(small(n_features=4, zeros=True)[0]))


# Everything else that reads a matrix calls the same check, so few faults are enough.
FEW = ["an index just beyond", "indptr beyond the data", "data that are no array"]
each_of_few_faults = pytest.mark.parametrize("fault", FEW)


@each_of_few_faults
@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed", lambda X, Z: (X @ Z.T).toarray()])
def test_kernels_are_protected(kernel, fault):
    X, y = small(n_features=4, zeros=True)
    if kernel == "precomputed":
        X = X @ X.T
    bad = malformed.damaged(sparse.csr_array(X), fault)
    fitted = make("mpu", kernel=kernel).fit(sparse.csr_array(X), y)
    for call in (fitted.predict, lambda X: make("mpu", kernel=kernel).fit(X, y)):
        with pytest.raises(ValueError, match=malformed.message_of("csr", fault)):
            call(bad)


@each_of_few_faults
def test_a_kernel_that_is_called_is_protected(fault):
    X = sparse.csr_array(small(n_features=4, zeros=True)[0])
    bad = malformed.damaged(X, fault)
    kernel = margins.kernels.RBF(gamma=1.0)
    with pytest.raises(ValueError, match="^X of kernel 'rbf', .*" + malformed.message_of("csr", fault)):
        kernel(bad, X)
    with pytest.raises(ValueError, match="^Z of kernel 'rbf', .*" + malformed.message_of("csr", fault)):
        kernel(X, bad)


@each_of_few_faults
@pytest.mark.parametrize("storage", ["csr_array", "csc_matrix"])
def test_studies_are_protected(storage, fault):
    X, y = small(n_features=4, zeros=True)
    good = STORAGES[storage](X)
    bad = malformed.damaged(good, fault)
    message = malformed.message_of(good.format, fault)
    for study, cv in ((parameter_search, "cv"), (double_cross_validation, "outer")):
        with pytest.raises(ValueError, match=f"^X of {study.__name__}, .*" + message):
            study(make("perceptron"), {"eta": [0.1]}, bad, y, **{cv: 2}, random_state=0)


@each_of_few_faults
def test_the_conversion_to_pac_is_protected(fault):
    X, y = small(n_features=4, zeros=True)
    bad = malformed.damaged(sparse.csr_array(X), fault)
    with pytest.raises(ValueError, match="^X in element 0 of .*" + malformed.message_of("csr", fault)):
        online_to_pac([(bad, 2 * y - 1)], epsilon=0.5, delta=0.5, mistake_bound=1)


@quiet
@pytest.mark.parametrize("shape", [(2**20, 3), (3, 2**20)])
def test_the_place_is_found_in_large_matrices(shape):
    m, d = shape
    X = sparse.random(*shape, density=0.1, random_state=np.random.default_rng(0), format="csr")
    y = np.arange(m) % 2
    for element in (0, 4095, 4096, 8191, 100_000, X.nnz - 1):
        bad = X.copy()
        bad.indices[element] = -7
        row = int(np.searchsorted(X.indptr, element, side="right")) - 1
        with pytest.raises(ValueError, match=rf"Got column -7 in row {row}, element {element} of"):
            make("perceptron").fit(bad, y)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("n_minor", [0, 1, 5, 2**31 - 1, 2**31, 2**31 + 5, 2**40])
def test_the_limits_of_an_index_are_exact(index, n_minor):
    largest = np.iinfo(index).max
    for j in (-(2**31), -2, -1, 0, 1, 4, 5, n_minor - 1, n_minor, n_minor + 1, largest):
        if not np.iinfo(index).min <= j <= largest:
            continue
        for n in (1, 5, 5000):
            indices = np.zeros(n, dtype=index)
            indices[n // 2] = j
            outside = structure.first_outside(indices, n_minor)
            expected = np.flatnonzero((indices < 0) | (indices >= n_minor))
            assert outside == (expected[0] if len(expected) else -1)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("starts", [np.int32, np.int64])
def test_order_and_duplicates_are_found_as_by_scipy(index, starts):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(500):
        m, d = rng.integers(1, 6, 2)
        counts = rng.integers(0, 4, m)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(starts)
        indices = rng.integers(0, d, indptr[-1]).astype(index)
        if rng.random() < 0.7:
            indices = np.concatenate(
                [np.sort(indices[a:b]) for a, b in zip(indptr, indptr[1:], strict=False)]
            )
            indices = indices.astype(index)
        X = sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(m, d))
        outside, is_canonical = structure.scan(indptr, indices, d)
        assert outside == -1
        assert is_canonical == X.has_canonical_format
        assert structure.is_sorted(indptr, indices) == X.has_sorted_indices
        seen.add((X.has_canonical_format, X.has_sorted_indices))
    assert seen == {(True, True), (False, True), (False, False)}


@quiet
@each_representative
def test_a_matrix_altered_between_two_fits_is_checked_again(name):
    X, y = small(n_features=4, zeros=True)
    X = sparse.csr_array(X)
    classifier = make(name).fit(X, y)
    classifier.predict(X)
    X.indices[3] = 99
    for call in (lambda: classifier.fit(X, y), lambda: classifier.predict(X)):
        with pytest.raises(ValueError, match="Got column 99"):
            call()


@pytest.mark.parametrize("name", ["mpu", "auto", "perceptron"])
def test_an_element_stored_twice_since_the_last_fit_is_noticed(name):
    X, y = small(n_features=4, zeros=True)
    X = sparse.csr_array(np.where(X == 0, 0.5, X))
    make(name).fit(X, y)
    assert X.has_canonical_format
    X.indices[1] = X.indices[0]
    X.indices[6], X.indices[7] = X.indices[7], X.indices[6]
    summed = sparse.csr_array(X.toarray())
    one, other = make(name).fit(X, y), make(name).fit(summed, y)
    assert not X.has_canonical_format and not X.has_sorted_indices
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-10)
    assert one.certificates_[0].gap == pytest.approx(other.certificates_[0].gap, abs=1e-6)


@pytest.fixture
def passes(monkeypatch):
    """How often indices have been read by the check."""
    found = []
    scan = structure.scan

    def counted(*args):
        found.append(args)
        return scan(*args)

    monkeypatch.setattr(structure, "scan", counted)
    return found


def test_a_fit_checks_once_for_all_classes(passes):
    X, _ = small(n_features=4, zeros=True)
    y = np.arange(24) % 5
    for given in (y, y.tolist()):
        passes.clear()
        margins.MarginClassifier(random_state=0).fit(sparse.csr_array(X), given)
        assert len(passes) == 1


@quiet
@pytest.mark.parametrize("lockstep", [True, False])
def test_a_study_checks_once_for_all_folds_and_settings(lockstep, passes):
    X, y = small(n_features=4, zeros=True)
    name, parameter = ("perceptron", "eta") if lockstep else ("mpu", "eps")
    grid = {parameter: [0.1, 0.2, 0.3]}
    study = parameter_search(make(name), grid, sparse.csr_array(X), y, cv=3, random_state=0)
    assert study.lockstep == lockstep
    assert len(passes) == 1


def test_a_seal_is_valid_only_for_the_arrays_of_the_matrix(passes):
    whole = sparse.csr_array(small(n_features=4, zeros=True)[0])
    X = structure.sealed(whole[np.arange(20)], whole)
    assert structure.is_sealed(X) and not passes
    assert structure.checked(X, "X") is X and not passes
    with pytest.raises(ValueError, match="read-only"):
        X.indices[0] = 99

    def changed(**parts):
        other = structure.sealed(whole[np.arange(20)], whole)
        assert structure.is_sealed(other)
        for part, value in parts.items():
            setattr(other, part, value)
        return other

    assert not structure.is_sealed(changed(indices=X.indices.copy()))
    assert not structure.is_sealed(changed(indptr=X.indptr.copy()))
    assert not structure.is_sealed(changed(data=X.data[:3]))
    assert not structure.is_sealed(changed(_shape=(20, 2)))
    X.indices.flags.writeable = True
    assert not structure.is_sealed(X)
    assert not structure.is_sealed(X.copy())


def test_a_part_that_shares_arrays_of_the_whole_is_not_sealed():
    X = sparse.csr_array(small(n_features=4, zeros=True)[0])
    part = sparse.csr_array((X.data, X.indices, X.indptr[:5]), shape=(4, 4))
    assert structure.sealed(part, X) is part
    assert not structure.is_sealed(part)
    assert X.indices.flags.writeable and part.indices.flags.writeable
    dense = small(n_features=4, zeros=True)[0]
    assert structure.sealed(dense, dense) is dense and dense.flags.writeable


def test_indices_of_two_dtypes_are_made_one():
    X, y = small(n_features=4, zeros=True)
    X = sparse.csr_array(X)
    for part in ("indices", "indptr"):
        for dtype in (np.int64, np.int16):
            mixed = X.copy()
            setattr(mixed, part, getattr(X, part).astype(dtype))
            classifier = make("mpu").fit(mixed, y)
            assert_array_equal(classifier.coef_, make("mpu").fit(X, y).coef_)
            assert_array_equal(classifier.predict(mixed), classifier.predict(X))


@each_of_few_faults
def test_a_plug_in_never_gets_damaged_rows(fault):
    class PlugIn(BaseMarginClassifier):
        """An algorithm of users, with a loop over rows."""

        def phases(self, run):
            raise AssertionError("the rows of a damaged matrix were passed on")
            yield

    bad = malformed.damaged(sparse.csr_array(small(n_features=4, zeros=True)[0]), fault)
    with pytest.raises(ValueError, match="^X of PlugIn, .*" + malformed.message_of("csr", fault)):
        PlugIn().fit(bad, small(n_features=4, zeros=True)[1])
