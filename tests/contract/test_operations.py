"""Operations on one estimator in any order, and the successful ones alone on another one, the oracle.

The oracle is never saved, cloned or interrupted, and no invalid call reaches it. After every operation
both have the same attributes, bit for bit. By default few sequences run, always the same ones. With
``-m slow`` there are more, `MARGINS_SEQUENCES` of each algorithm, and others each time.
"""

import contextlib
import copy
import functools
import inspect
import os
import pickle
import sys
import warnings
from operator import methodcaller
from pathlib import Path

import numpy as np
import pytest
from algorithm_groups import ALGORITHMS
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine
from problems import clouds
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.estimators.fitted import LEFT_OUT
from margins.estimators.stream import Stream

# The parameters that each family starts with. Algorithms of other families start with their defaults.
FAMILIES = {
    "auto": {"eps": 0.1},
    "auto, hinge": {"loss": "hinge", "solver": "unlearning"},
    "auto, kernel": {"kernel": "rbf", "gamma": 0.5},
    "perceptron": {},
    "perceptron, averaged": {"averaging": "averaged"},
    "perceptron, kernel": {"kernel": "poly", "degree": 2},
    "lambda-trick": {"lam": 0.5},
    "paum": {},
    "voted-perceptron": {},
    "pocket": {},
    "servedio-average": {},
    "mpu": {"eps": 0.1},
    "mpcs": {"eps": 0.1},
    "pdm-succ": {"eps": 0.1},
    "cramma": {"eps": 0.1},
    "romma": {},
    "pa": {"averaging": "averaged"},
    "norma": {},
    "pegasos": {"lam": 0.01},
    "dcd": {"eps": 0.1},
    "budget-perceptron": {"size": 4},
    "random-budget-perceptron": {"size": 4},
    "alma": {},
    "second-order-perceptron": {},
}


def base_of(algorithm):
    """The first class of `margins.estimators` that an algorithm inherits from."""
    return next(cls for cls in algorithm.__mro__ if cls.__module__.startswith("margins.estimators"))


COVERED = {base_of(ALGORITHMS[family.partition(",")[0]]) for family in FAMILIES}
FAMILIES |= {name: {} for name, algorithm in ALGORITHMS.items() if base_of(algorithm) not in COVERED}
# Values that `set_params` chooses from, where an algorithm has the parameter.
VALUES = {
    "C": [np.inf, 1.0, 0.1],
    "max_iter": [1, 3, 20],
    "warm_start": [True, False],
    "random_state": [0, 1],
    "fit_intercept": [True, False],
    "lam": [0.01, 0.5],
    "alpha_bound": [np.inf, 2.0],
    "loss": ["hinge", "squared_hinge"],
    "class_weight": [None, {0: 2.0}],
}
# Values for one call only: some algorithms, or their streams and warm starts, reject them.
VALUES_OF_ONE_CALL = {
    "averaging": ["last", "averaged", "voted", "longest"],
    "kernel": ["linear", "rbf", "no kernel"],
    "class_weight": ["balanced"],
    "max_iter": [0],
}
SEQUENCES = int(os.environ.get("MARGINS_SEQUENCES", "100"))
PACKAGE = str(Path(margins.__file__).parent)
# What must not be interrupted: contexts while they enter and leave, and what they restore.
# Nor generators, which Python closes where no error can be raised.
GUARDS = {"__enter__", "__exit__", "exclusive", "restored_on_error", "_model_restored_on_error"}
GUARDS |= {"saved", "copies", "restore"}


samples = functools.partial(clouds, m=18, d=3)
MIXED = samples(seed=1, distance=0.3)
DATA = {
    "apart": samples(distance=4.0),
    "mixed": MIXED,
    "CSR": (sparse.csr_array(np.round(MIXED[0])), MIXED[1]),
    "three classes": samples(3, seed=2),
}
names = st.integers(0, 2)
chunks = st.tuples(names, st.integers(0, 12), st.integers(1, 8))
offsets = st.sampled_from([k / 16 for k in range(16)])
FAULTS = ("NaN", "text", "structure", "lengths", "no samples")


def broken(X, y, fault):
    """Samples and labels that no estimator accepts."""
    dense = X.toarray() if sparse.issparse(X) else X.copy()
    if fault == "NaN":
        dense[-1, -1] = np.nan
        return dense, y
    if fault == "text":
        return np.full(X.shape, "a"), y
    if fault == "structure":
        X = sparse.csr_array(dense)
        X.indptr[-1] += 100
        return X, y
    if fault == "lengths":
        return X, y[1:]
    if fault == "label":
        return X, y + 7
    return X[:0], y[:0]


def plain(value):
    """All that an attribute holds, comparable bit for bit, but for seconds and identities."""
    if isinstance(value, np.ndarray):
        content = list(map(plain, value)) if value.dtype == object else value.tobytes()
        return "array", str(value.dtype), value.shape, content
    if sparse.issparse(value):
        return type(value).__name__, value.shape, plain([value.data, value.indices, value.indptr])
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if key != "seconds"}
    if isinstance(value, list | tuple):
        return type(value).__name__, *map(plain, value)
    if isinstance(value, float):
        return "float", value.hex()
    if value is None or isinstance(value, bool | int | str | np.generic | type):
        return type(value).__name__, repr(value)
    if isinstance(value, Stream):
        # Without the caller's arrays, and without what the next chunk forgets.
        averaging = None if value.averaging is None else value.averaging.for_stream()
        return type(value).__name__, plain({**vars(value), "data": None, "averaging": averaging})
    state = value.__getstate__() if hasattr(value, "__dict__") else value.__reduce__()[1:]
    return type(value).__name__, plain(state)


def outcome(call):
    """The error of a call, as text, or None."""
    try:
        call()
    except ValueError as error:
        return f"{type(error).__name__}: {error}"
    return None


@contextlib.contextmanager
def interrupted_after(n_calls):
    """Raise KeyboardInterrupt at call number `n_calls` of a Python function of the package.

    Yields
    ------
    list of str
        The functions called so far.
    """
    called = []

    def watch(frame, event, argument):
        code = frame.f_code
        is_function = event == "call" and not code.co_flags & inspect.CO_GENERATOR
        if not is_function or code.co_name in GUARDS or not code.co_filename.startswith(PACKAGE):
            return
        called.append(code.co_qualname)
        if len(called) == n_calls:
            raise KeyboardInterrupt

    sys.setprofile(watch)
    try:
        yield called
    finally:
        sys.setprofile(None)


class Operations(RuleBasedStateMachine):
    """Operations on an estimator of `family`; `oracle` has the successful ones."""

    family = None

    def __init__(self):
        super().__init__()
        self.algorithm = ALGORITHMS[self.family.partition(",")[0]]

    @initialize(max_iter=st.sampled_from([2, 20]), warm_start=st.sampled_from([True, True, False]))
    def begin(self, max_iter, warm_start):
        known = self.algorithm().get_params()
        params = {"random_state": 0, "max_iter": max_iter, "warm_start": warm_start}
        params = {key: value for key, value in params.items() if key in known}
        self.estimator = self.algorithm(**params, **FAMILIES[self.family])
        self.oracle = self.algorithm(**params, **FAMILIES[self.family])

    def both(self, operate):
        """Operate on the estimator; if it succeeds, on the oracle, which otherwise fails alike."""
        error = outcome(lambda: operate(self.estimator))
        if error is None:
            operate(self.oracle)
        else:
            assert outcome(lambda: operate(copy.deepcopy(self.oracle))) == error

    def interrupted(self, operate, offset):
        """Operate on the estimator, interrupted at some of its Python calls, most of them late ones."""
        other = copy.deepcopy(self.oracle)
        with interrupted_after(0) as called:
            error = outcome(lambda: operate(other))
        if error is not None:
            return
        before = plain(vars(self.estimator))
        for eighth in range(8):
            n_calls = len(called) - int(len(called) * ((eighth + offset) / 8) ** 2)
            try:
                with interrupted_after(n_calls) as called_now:
                    operate(self.estimator)
            except KeyboardInterrupt:
                assert plain(vars(self.estimator)) == before, called_now[-1]
                continue
            # It took fewer calls, since results of some are cached now.
            assert len(called_now) < n_calls, f"The interrupt was lost in {called_now[n_calls - 1]}."
            operate(self.oracle)
            return

    def data(self, index):
        """Samples of the classes of the model, if there is one."""
        classes = getattr(self.oracle, "classes_", [0, 1])
        names = ["three classes"] if len(classes) == 3 else ["apart", "mixed", "CSR"]
        return DATA[names[index % len(names)]]

    @rule(index=names, any_classes=st.booleans())
    def fit(self, index, any_classes=False):
        samples = DATA["three classes"] if any_classes and index else self.data(index)
        self.both(methodcaller("fit", *samples))

    @rule(index=names, offset=offsets)
    def interrupted_fits(self, index, offset):
        for _ in range(2):
            self.interrupted(methodcaller("fit", *self.data(index)), offset)
            self.fit(index)

    @rule(values=st.permutations([np.inf, 1.0, 0.1]))
    def fits_with_other_penalties(self, values):
        for C in values[:2]:
            self.both(methodcaller("set_params", C=C))
            self.fit(0)

    def has_streams(self):
        return hasattr(self.oracle, "partial_fit")

    def chunk(self, index, begin, size):
        X, y = self.data(index)
        return X[begin : begin + size], y[begin : begin + size], np.unique(y)

    @precondition(has_streams)
    @rule(chunk=chunks)
    def partial_fit(self, chunk):
        self.both(methodcaller("partial_fit", *self.chunk(*chunk)))

    @precondition(has_streams)
    @rule(chunk=chunks, offset=offsets)
    def interrupted_chunks(self, chunk, offset):
        for _ in range(2):
            self.interrupted(methodcaller("partial_fit", *self.chunk(*chunk)), offset)
            self.partial_fit(chunk)

    @rule(chunk=chunks)
    def invalid_samples(self, chunk):
        X, y = self.data(chunk[0])
        for fault in FAULTS:
            samples = broken(X, y, fault)
            assert outcome(lambda samples=samples: self.estimator.fit(*samples)) is not None, fault
        if self.has_streams():
            X, y, classes = self.chunk(*chunk)
            for fault in (*FAULTS, "label"):
                call = functools.partial(self.estimator.partial_fit, *broken(X, y, fault), classes)
                assert outcome(call) is not None, fault

    def drawn(self, data, values):
        """A parameter of the algorithm, and a value: dict."""
        key = data.draw(st.sampled_from([key for key in values if key in self.oracle.get_params()]))
        return {key: data.draw(st.sampled_from(values[key]))}

    @rule(data=st.data())
    def set_params(self, data):
        params = self.drawn(data, VALUES)
        self.both(methodcaller("set_params", **params))

    @rule(data=st.data(), chunk=chunks)
    def with_params_of_one_call(self, data, chunk):
        params = self.drawn(data, VALUES_OF_ONE_CALL)
        before = {key: self.oracle.get_params()[key] for key in params}
        self.both(methodcaller("set_params", **params))
        if self.has_streams() and chunk[0]:
            self.partial_fit(chunk)
        else:
            self.fit(0)
        self.both(methodcaller("set_params", **before))

    @rule()
    def pickle(self):
        self.estimator = pickle.loads(pickle.dumps(self.estimator))
        if LEFT_OUT in vars(self.estimator) and vars(self.oracle).pop("dual_coef_", None) is not None:
            vars(self.oracle)[LEFT_OUT] = True

    @rule()
    def clone(self):
        self.estimator = clone(self.estimator)
        self.oracle = self.algorithm(**self.oracle.get_params(deep=False))

    @invariant()
    def attributes_and_scores_are_those_of_the_oracle(self):
        if not hasattr(self, "oracle"):
            return
        assert plain(vars(self.estimator)) == plain(vars(self.oracle))
        if hasattr(self.oracle, "classes_"):
            X, _ = DATA["mixed"]
            scores = self.estimator.decision_function(X)
            np.testing.assert_array_equal(scores, self.oracle.decision_function(X))
            assert np.isfinite(scores).all()


def run(family, **kwargs):
    machine = type("Operations", (Operations,), {"family": family})
    before = plain(DATA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        run_machine(
            machine,
            settings=settings(
                deadline=None,
                report_multiple_bugs=False,
                phases=[Phase.generate, Phase.shrink],
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
                **kwargs,
            ),
        )
    assert plain(DATA) == before


@pytest.mark.parametrize("family", FAMILIES)
def test_failed_operations_leave_no_trace(family):
    run(family, derandomize=True, max_examples=2, stateful_step_count=6, database=None)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_failed_operations_leave_no_trace_in_long_sequences(family):
    run(family, max_examples=SEQUENCES, stateful_step_count=10)


def test_an_interrupt_reaches_the_function_that_it_counts():
    with pytest.raises(KeyboardInterrupt), interrupted_after(3) as called:
        margins.get("perceptron")().fit(*DATA["apart"])
    assert len(called) == 3
    assert sys.getprofile() is None
