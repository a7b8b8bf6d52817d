"""The online-to-PAC conversion: its arithmetic, its stopping, its guarantee, and its streams."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy import sparse

from margins.model_selection.pac import PacHypothesis, online_to_pac

OPTIONS = {"epsilon": 0.1, "delta": 0.1, "mistake_bound": 1000}
ONE, FIRST = [([1.0], 1)], ([1.0, 2.0], 1)


def integers(seed, n_examples, n_features=6):
    """Small-integer examples, many zeros, labelled by a halfspace: every sum is exact."""
    generator = np.random.default_rng(seed)
    X = generator.integers(-3, 4, size=(n_examples, n_features)).astype(float)
    X *= generator.random(X.shape) < 0.5
    return X, np.where(X @ np.arange(1, n_features + 1) > 0.5, 1, -1)


def chunked(X, y, sizes=(1, 7, 0, 40)):
    start = 0
    for size in itertools.cycle(sizes):
        yield X[start : start + size], y[start : start + size]
        start += size
        if start >= X.shape[0]:
            return


def perceptron(X, y, needed, fit_intercept=False):
    """The conversion as its text has it: (w, intercept, survived, examples, mistakes)."""
    X = np.column_stack([X, np.full(len(X), float(fit_intercept))])
    w, right, mistakes, examples = np.zeros(X.shape[1]), 0, 0, 0
    while right < needed and examples < len(X):
        x, label = X[examples], y[examples]
        examples += 1
        if label * np.sum(w * x) <= 0:
            w, right, mistakes = w + label * x, 0, mistakes + 1
        else:
            right += 1
    return w[:-1], w[-1], right == needed, examples, mistakes


def slowest(n_mistakes, needed):
    """A stream that errs once more just before every hypothesis but the last would have survived."""
    X = np.eye(n_mistakes)
    for mistake in range(n_mistakes):
        yield X[mistake], 1
        yield from itertools.repeat((X[0], 1), needed - 1)
    yield X[0], 1


@pytest.mark.parametrize(
    ("mistake_bound", "epsilon", "delta", "needed"),
    # ln(2000) = 7.6009, ln(4) = 1.386, ln(1000) = 6.9078
    [(99, 0.1, 0.05, 77), (1, 0.5, 0.5, 3), (9, 0.01, 0.01, 691)],
)
def test_constants_count_all_hypotheses_including_the_first(mistake_bound, epsilon, delta, needed):
    found = online_to_pac(ONE, epsilon=epsilon, delta=delta, mistake_bound=mistake_bound)
    assert (found.n_needed, found.n_examples_bound) == (needed, (mistake_bound + 1) * needed)
    assert (found.epsilon, found.delta, found.mistake_bound) == (epsilon, delta, mistake_bound)
    # A hypothesis of error epsilon survives with probability delta / (M + 1) at most.
    assert (1 - epsilon) ** needed <= delta / (mistake_bound + 1)


ROUNDED = [({"mistake_bound": M}, int(M)) for M in (6.25, np.float32(7.5), np.int64(8), 1)]
NOVIKOFF = [(0.5, 10, 400), (2, 5, 6), (3, 3, 1), (0.1, 0.3, 9), (0.1, 0.7, 49)]
ROUNDED += [({"gamma": gamma, "radius": radius}, M) for gamma, radius, M in NOVIKOFF]


@pytest.mark.parametrize(("assumption", "bound"), ROUNDED)
def test_mistake_bounds_are_rounded_down_exactly(assumption, bound):
    found = online_to_pac(ONE, epsilon=0.1, delta=0.1, **assumption)
    assert found.mistake_bound == bound and type(found.mistake_bound) is int


def test_constants_beyond_doubles_are_still_numbers():
    found = online_to_pac(ONE, epsilon=5e-324, delta=5e-324, mistake_bound=1e308)
    assert found.n_needed > 10**326 and found.n_examples_bound > 10**634
    assert str(found)


def test_slowest_stream_survives_at_its_last_example_and_no_earlier():
    options = {"epsilon": 0.1, "delta": 0.1, "mistake_bound": 4}  # q = 40: ln(50) = 3.912
    for left_out in (0, 1):
        found = online_to_pac(list(slowest(4, 40))[: 4 * 40 + 1 - left_out], **options)
        assert (found.n_needed, found.survived) == (40, not left_out)
        assert (found.n_examples, found.n_mistakes) == (4 * 40 + 1 - left_out, 4)
        assert found.n_examples <= found.n_examples_bound
        assert np.array_equal(found.coef, np.ones(4)) and found.intercept == 0


def test_nothing_is_drawn_after_the_survival():
    q = online_to_pac(ONE, **OPTIONS).n_needed
    rest = itertools.repeat((np.ones(2), 1))
    stream = itertools.chain(slowest(2, q), [marker := object()], rest)
    found = online_to_pac(stream, **OPTIONS)
    assert found.survived and found.n_examples == 2 * q + 1 and next(stream) is marker


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(("seed", "n_examples"), [(0, 30), (1, 30), (2, 1500)])
def test_the_run_matches_the_plain_perceptron_in_any_storage(seed, n_examples, fit_intercept):
    X, y = integers(seed, n_examples)
    kept = X.any(axis=1) if not fit_intercept else slice(None)  # 0 has no margin through the origin
    X, y = X[kept], y[kept]
    X.flags.writeable = y.flags.writeable = False  # the stream is left as it was
    S, A = sparse.csr_matrix(X), sparse.csr_array(X)
    streams = {
        "chunks": chunked(X, y),
        "one chunk": [(X, y)],
        "lists": list(zip(X.tolist(), y.tolist(), strict=True)),
        "float32 columns": chunked(np.asfortranarray(X, dtype=np.float32), y.astype(np.float32)),
        "bytes": chunked(X.astype(np.int8), y.astype(np.int8)),
        "sparse rows": ((S[[row]], label) for row, label in enumerate(y)),
        "rows of a csr array": ((A[row], label) for row, label in enumerate(y)),  # of one dimension
        "csr matrices": chunked(S, y),
        "csr arrays": chunked(A, y),
        "csc array": [(sparse.csc_array(X), y)],
    }
    options = {"epsilon": 0.2, "delta": 0.1, "mistake_bound": 5000, "fit_intercept": fit_intercept}
    for storage, stream in streams.items():
        found = online_to_pac(stream, **options)
        coef, *rest = perceptron(X, y, found.n_needed, fit_intercept)
        assert np.array_equal(found.coef, coef) and not np.shares_memory(found.coef, X), storage
        assert [found.intercept, found.survived, found.n_examples, found.n_mistakes] == rest, storage
        assert found.survived == (n_examples == 1500)


def test_stored_numbers_are_added_as_they_are():
    twice = sparse.csr_array((np.array([1.0, 2, 4]), np.array([1, 1, 0]), np.array([0, 3])), (1, 2))
    for x, label, expected in [
        (np.array([200, 1], dtype=np.uint8), -1, [-200, -1]),
        (np.array([-128], dtype=np.int8), -1, [128]),
        (twice, 1, [4, 3]),
    ]:
        assert online_to_pac([(x, label)], **OPTIONS).coef.tolist() == expected


def test_a_wide_sparse_chunk_stays_sparse():
    width, n = 2**22, 2000  # 64 gigabytes if dense
    columns = np.random.default_rng(0).integers(width, size=n)
    X = sparse.csr_array((np.ones(n), (np.arange(n), columns)), (n, width))
    found = online_to_pac([(X, np.ones(n))], fit_intercept=True, **OPTIONS)
    assert found.survived and found.coef.shape == (width,)


def test_more_mistakes_than_the_given_bound_are_rejected():
    options = {"epsilon": 0.1, "delta": 0.1}
    assert online_to_pac(slowest(5, 10), mistake_bound=5, **options).n_mistakes == 5
    X, y = map(np.array, zip(*slowest(5, 10), strict=True))
    for stream in (slowest(5, 10), [(X, y)]):
        with pytest.raises(ValueError) as error:
            online_to_pac(stream, mistake_bound=4.5, **options)
        assert str(error.value) == (
            "Mistakes of online_to_pac must be at most 4, as stated by mistake_bound. "
            "Got 5 within 41 examples."
        )
    with pytest.raises(ValueError, match="at most 4, as stated by gamma and radius. Got 5 within 41 "):
        online_to_pac([(X, y)], gamma=1, radius=2, **options)


def test_hypothesis_says_what_is_proven_and_is_frozen():
    options = {"epsilon": 0.1, "delta": 1e-9, "mistake_bound": 4}
    found = online_to_pac(itertools.repeat(ONE[0]), **options)
    assert str(found) == (
        "With confidence 1 - 1e-09 the error is at most 0.1: right on 224 consecutive examples."
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.survived = False
    assert isinstance(found, PacHypothesis)
    assert str(online_to_pac(ONE * 100, **options)) == (
        "Nothing is proven: the stream ended after 100 examples, before a hypothesis was right on 224 "
        "consecutive ones. 1120 examples suffice."
    )


MARGIN = {"mistake_bound": None, "gamma": 1, "radius": 2}
EITHER = "online_to_pac must be given either mistake_bound, or gamma and radius. Got mistake_bound="


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": 0}, "epsilon {} in (0, 1). Got 0."),
        ({"epsilon": "small"}, "epsilon {} in (0, 1). Got 'small'."),
        ({"delta": math.nan}, "delta {} in (0, 1). Got nan."),
        ({"fit_intercept": 2}, "fit_intercept {} True or False. Got 2."),
        ({"mistake_bound": 0.5}, "mistake_bound {} in [1, inf). Got 0.5."),
        ({"mistake_bound": math.inf}, "mistake_bound {} in [1, inf). Got inf."),
        (MARGIN | {"gamma": 3}, "gamma {} in (0, 2]. Got 3."),
        (MARGIN | {"radius": -2}, "radius {} in (0, inf). Got -2."),
        (MARGIN | {"gamma": 1e-300, "radius": 1e300}, "(radius / gamma)**2 {} in [1, inf). Got inf."),
        *[(MARGIN | {left_out: None}, EITHER) for left_out in ("gamma", "radius")],
        *[(more, EITHER) for more in (dict.fromkeys(MARGIN), {"gamma": 1}, {"radius": 1})],
        (MARGIN | {"mistake_bound": 1}, EITHER),
    ],
)
def test_parameters_that_are_not_allowed_are_rejected_before_the_stream_is_touched(changes, message):
    stream = iter([FIRST])
    with pytest.raises(ValueError) as error:
        online_to_pac(stream, **(OPTIONS | changes))
    assert str(error.value).startswith(message.format("of online_to_pac must be"))
    assert next(stream) is FIRST


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (5, "{} must be iterable. Got int."),
        ([], "{} must have at least one example. Got none."),
        ([(np.ones((0, 2)), [])], "{} must have at least one example. Got none."),
        ([FIRST, 7], "element 1 of {} must be a pair, (x, label) or (X, y). Got 7."),
        ([FIRST, ([1.0, 2.0, 3.0], 1)], "element 1 of {} must have 2 features. Got 3."),
        ([(np.ones((2, 2, 2)), [1, 1])], "X in element 0 of {}: Found array with dim 3"),
        ([(["a", "b"], 1)], "X in element 0 of {}: could not convert string to float"),
        ([FIRST, ([1.0, math.nan], 1)], "X in element 1 of {}: Input X contains NaN"),
        ([(sparse.csr_array([[math.inf]]), 1)], "X in element 0 of {}: Input X contains infinity"),
        ([FIRST, ([1.0, 2.0], 0)], "y in element 1 of {} must be -1 or 1. Got 0."),
        ([(np.ones((3, 2)), [1, -1, 2.0])], "y in element 0 of {} must be -1 or 1. Got 2.0."),
        ([([1.0, 2.0], "1")], "y in element 0 of {} must be -1 or 1. Got '1'."),
        ([(np.ones((3, 2)), [1, -1])], "y in element 0 of {} must have shape (3,). Got (2,)."),
        # X and y instead of a stream of them, where X has two rows.
        ((np.ones((2, 5)), np.ones(2)), "y in element 0 of {} must have shape (1,). Got (5,)."),
    ],
)
def test_streams_that_are_not_allowed_are_rejected(stream, message):
    with pytest.raises(ValueError) as error:
        online_to_pac(stream, **OPTIONS)
    assert str(error.value).startswith(message.format("stream of online_to_pac"))
