"""The online-to-PAC conversion: its arithmetic, its stopping, its guarantee, and its streams."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy import sparse

from margins.model_selection.pac import PacHypothesis, online_to_pac


def separable(seed, n_examples, n_features=5, gamma=0.1):
    """Points of the cube of side 2 with margin gamma from a random hyperplane, and their labels."""
    generator = np.random.default_rng(seed)
    normal = generator.normal(size=n_features)
    normal /= np.linalg.norm(normal)
    X = np.empty((0, n_features))
    while len(X) < n_examples:
        more = generator.uniform(-1, 1, size=(n_examples, n_features))
        X = np.concatenate([X, more[np.abs(more @ normal) >= gamma]])
    X = X[:n_examples]
    return X, np.where(X @ normal > 0, 1, -1)


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


def perceptron(X, y, needed, fit_intercept):
    """The conversion as its text has it: (w, intercept, survived, examples, mistakes)."""
    if fit_intercept:
        X = np.column_stack([X, np.ones(len(X))])
    w, right, mistakes, examples = np.zeros(X.shape[1]), 0, 0, 0
    for x, label in zip(X, y, strict=True):
        examples += 1
        if label * np.sum(w * x) <= 0:
            w, right, mistakes = w + label * x, 0, mistakes + 1
        else:
            right += 1
        if right == needed:
            break
    coef, intercept = (w[:-1], w[-1]) if fit_intercept else (w, 0.0)
    return coef, intercept, right == needed, examples, mistakes


def check_equal(first, second):
    for field in dataclasses.fields(PacHypothesis):
        one, other = getattr(first, field.name), getattr(second, field.name)
        assert np.array_equal(one, other), field.name


# --------------------------------------------------------------------------------------- the constants


@pytest.mark.parametrize(
    "mistake_bound, epsilon, delta, needed",
    [
        (99, 0.1, 0.05, 77),  # ln(2000) = 7.6009
        (1, 0.5, 0.5, 3),  # ln(4) = 1.386
        (9, 0.01, 0.01, 691),  # ln(1000) = 6.9078
    ],
)
def test_constants_are_those_of_all_hypotheses_the_first_included(mistake_bound, epsilon, delta, needed):
    found = online_to_pac([([1.0], 1)], epsilon=epsilon, delta=delta, mistake_bound=mistake_bound)
    assert (found.n_needed, found.n_examples_bound) == (needed, (mistake_bound + 1) * needed)
    assert (found.epsilon, found.delta, found.mistake_bound) == (epsilon, delta, mistake_bound)
    # A hypothesis of error epsilon survives with probability delta / (M + 1) at most.
    assert (1 - epsilon) ** needed <= delta / (mistake_bound + 1)


@pytest.mark.parametrize("given, bound", [(6.25, 6), (np.float32(7.5), 7), (np.int64(8), 8), (1, 1)])
def test_mistake_bound_is_rounded_down(given, bound):
    found = online_to_pac([([1.0], 1)], epsilon=0.1, delta=0.1, mistake_bound=given)
    assert found.mistake_bound == bound and type(found.mistake_bound) is int


@pytest.mark.parametrize(
    "gamma, radius, bound", [(0.5, 10, 400), (2, 5, 6), (3, 3, 1), (0.1, 0.3, 9), (0.1, 0.7, 49)]
)
def test_gamma_and_radius_give_novikoffs_bound_whatever_the_rounding(gamma, radius, bound):
    found = online_to_pac([([1.0], 1)], epsilon=0.1, delta=0.1, gamma=gamma, radius=radius)
    assert found.mistake_bound == bound


def test_constants_beyond_doubles_are_still_numbers():
    found = online_to_pac([([1.0], 1)], epsilon=5e-324, delta=5e-324, mistake_bound=1e308)
    assert found.n_needed > 10**326 and found.n_examples_bound > 10**634
    assert str(found)


# ---------------------------------------------------------------------------------------- the stopping


def slowest(n_mistakes, needed):
    """A stream that errs once more just before every hypothesis but the last would have survived."""
    X = np.eye(n_mistakes)
    for mistake in range(n_mistakes):
        yield X[mistake], 1
        for _ in range(needed - 1):
            yield X[0], 1
    yield X[0], 1


def test_slowest_stream_survives_at_its_last_example_and_within_the_bound():
    found = online_to_pac(slowest(4, 40), epsilon=0.1, delta=0.1, mistake_bound=4)
    assert found.n_needed == 40  # ln(50) = 3.912
    assert found.survived
    assert (found.n_examples, found.n_mistakes) == (4 * 40 + 1, 4)
    assert found.n_examples <= found.n_examples_bound
    assert np.array_equal(found.coef, np.ones(4)) and found.intercept == 0


def test_stream_one_example_shorter_does_not_survive():
    stream = list(slowest(4, 40))[:-1]
    found = online_to_pac(stream, epsilon=0.1, delta=0.1, mistake_bound=4)
    assert not found.survived
    assert (found.n_examples, found.n_mistakes) == (4 * 40, 4)
    assert np.array_equal(found.coef, np.ones(4))


def test_a_score_of_zero_is_a_mistake_for_both_labels():
    examples = [([1.0, 0.0], 1), ([0.0, 1.0], 1), ([0.0, 0.0], -1), ([0.0, 0.0], 1)]
    found = online_to_pac(examples, epsilon=0.1, delta=0.1, mistake_bound=9)
    assert found.n_mistakes == 4


def test_nothing_is_drawn_after_the_survival():
    stream = slowest(2, 40)
    examples = itertools.chain(stream, itertools.repeat((np.ones(2), 1)))  # never ends
    found = online_to_pac(examples, epsilon=0.1, delta=0.1, mistake_bound=4)
    assert found.survived and found.n_examples == 2 * 40 + 1
    assert next(stream, None) is None  # the last of the stream was used
    marker = ("not", "looked", "at")
    remaining = iter([(np.ones(2), 1)] * (1 + found.n_needed) + [marker])
    online_to_pac(remaining, epsilon=0.1, delta=0.1, mistake_bound=4)
    assert next(remaining) is marker


def test_examples_of_a_chunk_after_the_survival_do_not_count():
    X, y = np.ones((500, 1)), np.ones(500)
    y[300:] = -1
    found = online_to_pac([(X, y)], epsilon=0.1, delta=0.1, mistake_bound=4)
    assert found.survived and found.n_examples == 41 and found.coef == [1.0]


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_examples", [30, 3000])
def test_run_is_that_of_the_plain_perceptron(seed, n_examples, fit_intercept):
    X, y = integers(seed, n_examples)
    kept = X.any(axis=1) if not fit_intercept else slice(None)  # 0 has no margin through the origin
    X, y = X[kept], y[kept]
    found = online_to_pac(
        zip(X, y, strict=True), epsilon=0.2, delta=0.1, mistake_bound=5000, fit_intercept=fit_intercept
    )
    coef, intercept, survived, examples, mistakes = perceptron(X, y, found.n_needed, fit_intercept)
    assert np.array_equal(found.coef, coef) and found.intercept == intercept
    assert (found.survived, found.n_examples, found.n_mistakes) == (survived, examples, mistakes)
    assert survived == (n_examples == 3000)


def test_intercept_is_one_constant_feature():
    X, y = integers(0, 2000)
    y = np.where(X[:, 0] > 1.5, 1, -1)
    options = {"epsilon": 0.1, "delta": 0.1, "mistake_bound": 1000}
    found = online_to_pac([(X, y)], fit_intercept=True, **options)
    augmented = online_to_pac([(np.column_stack([X, np.ones(len(X))]), y)], **options)
    assert found.survived and found.intercept < 0
    assert np.array_equal(np.append(found.coef, found.intercept), augmented.coef)
    assert found.n_examples == augmented.n_examples


# --------------------------------------------------------------------------------------- the guarantee


def test_separable_data_survive_within_the_bounds():
    gamma, radius = 0.1, math.sqrt(5)
    for seed in range(10):
        X, y = separable(seed, 20_000, gamma=gamma)
        stream = chunked(X, y, sizes=(100,))
        found = online_to_pac(stream, epsilon=0.1, delta=0.1, gamma=gamma, radius=radius)
        assert found.survived
        assert found.n_mistakes <= found.mistake_bound == 500
        assert found.n_examples <= found.n_examples_bound


def test_error_exceeds_epsilon_no_more_often_than_delta():
    # With a bound that these runs just reach, q is as small as possible: half of it is not enough.
    epsilon, delta, runs, mistake_bound = 0.05, 0.1, 40, 120
    exceeded = exceeded_by_half = 0
    for seed in range(runs):
        X, y = separable(seed, 7000, gamma=0.02)
        (X, fresh_X), (y, fresh_y) = np.split(X, [4000]), np.split(y, [4000])

        def error(coef, X=fresh_X, y=fresh_y):
            return np.mean(y * (X @ coef) <= 0)

        found = online_to_pac([(X, y)], epsilon=epsilon, delta=delta, mistake_bound=mistake_bound)
        assert found.survived
        exceeded += error(found.coef) > epsilon
        by_half = perceptron(X, y, found.n_needed // 2, fit_intercept=False)
        exceeded_by_half += error(by_half[0]) > epsilon
    assert exceeded <= delta * runs < exceeded_by_half


def test_more_mistakes_than_the_given_bound_are_rejected():
    with pytest.raises(ValueError) as error:
        online_to_pac(slowest(5, 10), epsilon=0.1, delta=0.1, mistake_bound=4.5)
    assert str(error.value) == (
        "Mistakes of online_to_pac must be at most 4, as stated by mistake_bound. "
        "Got 5 within 41 examples."
    )
    X, y = separable(0, 5000)
    y[::3] *= -1
    with pytest.raises(ValueError, match="at most 25, as stated by gamma and radius. Got 26 within"):
        online_to_pac([(X, y)], epsilon=0.1, delta=0.1, gamma=1, radius=5)


def test_as_many_mistakes_as_the_given_bound_are_accepted():
    assert online_to_pac(slowest(5, 10), epsilon=0.1, delta=0.1, mistake_bound=5).n_mistakes == 5


def test_hypothesis_says_what_is_proven():
    options = {"epsilon": 0.1, "delta": 1e-9, "mistake_bound": 4}
    found = online_to_pac(itertools.repeat(([1.0], 1)), **options)
    assert str(found) == (
        "With confidence 1 - 1e-09 the error is at most 0.1: right on 224 consecutive examples."
    )
    found = online_to_pac([([1.0], 1)] * 100, **options)
    assert str(found) == (
        "Nothing is proven: the stream ended after 100 examples, before a hypothesis was right on 224 "
        "consecutive ones. 1120 examples suffice."
    )


def test_hypothesis_is_frozen():
    found = online_to_pac([([1.0], 1)], epsilon=0.1, delta=0.1, mistake_bound=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.survived = True


# ----------------------------------------------------------------------------------------- the streams


def in_format(form, X, y):
    if form == "chunks":
        return chunked(X, y)
    if form == "one chunk":
        return [(X, y)]
    if form == "lists":
        return list(zip(X.tolist(), y.tolist(), strict=True))
    if form == "float32 columns":
        return chunked(np.asfortranarray(X, dtype=np.float32), y.astype(np.float32))
    if form == "bytes":
        return chunked(X.astype(np.int8), y.astype(np.int8))
    if form == "sparse rows":
        X = sparse.csr_matrix(X)
        return ((X[[row]], label) for row, label in enumerate(y))
    if form == "rows of a csr array":
        X = sparse.csr_array(X)
        return ((X[row], label) for row, label in enumerate(y))  # of one dimension since SciPy 1.13
    if form == "csr matrices":
        return chunked(sparse.csr_matrix(X), y)
    if form == "csr arrays":
        return chunked(sparse.csr_array(X), y)
    return [(sparse.csc_array(X), y)]


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("n_examples", [50, 800])
@pytest.mark.parametrize(
    "form",
    [
        "chunks",
        "one chunk",
        "lists",
        "float32 columns",
        "bytes",
        "sparse rows",
        "rows of a csr array",
        "csr matrices",
        "csr arrays",
        "csc array",
    ],
)
def test_access_does_not_matter(form, n_examples, fit_intercept):
    X, y = integers(1, n_examples)
    options = {"epsilon": 0.2, "delta": 0.1, "mistake_bound": 5000, "fit_intercept": fit_intercept}
    expected = online_to_pac(zip(X, y, strict=True), **options)
    check_equal(online_to_pac(in_format(form, X, y), **options), expected)


def test_bytes_are_negated_as_numbers():
    for x, label in [(np.array([200, 1], dtype=np.uint8), -1), (np.array([-128], dtype=np.int8), -1)]:
        found = online_to_pac([(x, label)], epsilon=0.1, delta=0.1, mistake_bound=1)
        assert np.array_equal(found.coef, -x.astype(float))


def test_a_feature_stored_twice_counts_twice():
    X = sparse.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2)
    )
    found = online_to_pac([(X, [1])], epsilon=0.1, delta=0.1, mistake_bound=1)
    assert found.coef.tolist() == [4.0, 3.0]


def test_a_big_sparse_chunk_stays_sparse():
    n_examples, width = 1000, 10**7  # 80 GB if it were dense
    columns = np.random.default_rng(0).integers(width, size=n_examples)
    X = sparse.csr_array((np.ones(n_examples), (np.arange(n_examples), columns)), (n_examples, width))
    found = online_to_pac(
        [(X, np.ones(n_examples))], epsilon=0.1, delta=0.1, mistake_bound=10, fit_intercept=True
    )
    assert found.survived and found.coef.shape == (width,)


def test_the_stream_is_left_as_it_was():
    X, y = integers(2, 200)
    X.flags.writeable = y.flags.writeable = False
    options = {"epsilon": 0.1, "delta": 0.1, "mistake_bound": 1000}
    found = online_to_pac([(X, y)], **options)
    assert not np.shares_memory(found.coef, X)
    S = sparse.csr_array(X)
    before = S.copy()
    online_to_pac([(S, y)], **options)
    assert abs(S - before).nnz == 0


# ------------------------------------------------------------------------------------------ the errors


GOOD = {"stream": [([1.0, 2.0], 1)], "epsilon": 0.1, "delta": 0.1, "mistake_bound": 10}
OF = "of online_to_pac must be"


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"epsilon": 0}, f"epsilon {OF} in (0, 1). Got 0."),
        ({"epsilon": 1.5}, f"epsilon {OF} in (0, 1). Got 1.5."),
        ({"epsilon": "small"}, f"epsilon {OF} in (0, 1). Got 'small'."),
        ({"delta": 1}, f"delta {OF} in (0, 1). Got 1."),
        ({"delta": math.nan}, f"delta {OF} in (0, 1). Got nan."),
        ({"fit_intercept": 2}, f"fit_intercept {OF} True or False. Got 2."),
        ({"mistake_bound": 0.5}, f"mistake_bound {OF} in [1, inf). Got 0.5."),
        ({"mistake_bound": math.inf}, f"mistake_bound {OF} in [1, inf). Got inf."),
        ({"mistake_bound": None, "gamma": 0, "radius": 2}, f"gamma {OF} in (0, 2]. Got 0."),
        ({"mistake_bound": None, "gamma": 3, "radius": 2}, f"gamma {OF} in (0, 2]. Got 3."),
        ({"mistake_bound": None, "gamma": 1, "radius": -2}, f"radius {OF} in (0, inf). Got -2."),
        (
            {"mistake_bound": None, "gamma": 1e-300, "radius": 1e300},
            f"(radius / gamma)**2 {OF} in [1, inf). Got inf.",
        ),
    ],
)
def test_parameters_that_are_not_allowed_are_rejected(changes, message):
    with pytest.raises(ValueError) as error:
        online_to_pac(**(GOOD | changes))
    assert str(error.value) == message


@pytest.mark.parametrize(
    "ways",
    [
        {"mistake_bound": None},
        {"gamma": 1},
        {"radius": 1},
        {"gamma": 1, "radius": 2},
        {"mistake_bound": None, "gamma": 1},
        {"mistake_bound": None, "radius": 1},
    ],
)
def test_exactly_one_way_to_give_the_mistake_bound_is_required(ways):
    with pytest.raises(
        ValueError, match="either mistake_bound, or gamma and radius. Got mistake_bound="
    ):
        online_to_pac(**(GOOD | ways))


FIRST = ([1.0, 2.0], 1)


@pytest.mark.parametrize(
    "stream, message",
    [
        (5, "stream of online_to_pac must be iterable. Got int."),
        ([], "stream of online_to_pac must have at least one example. Got none."),
        ([(np.ones((0, 2)), [])], "stream of online_to_pac must have at least one example. Got none."),
        (
            [FIRST, 7],
            "element 1 of stream of online_to_pac must be a pair, (x, label) or (X, y). Got 7.",
        ),
        (
            [FIRST, ([1.0, 2.0, 3.0], 1)],
            "element 1 of stream of online_to_pac must have 2 features. Got 3.",
        ),
        (
            [(np.ones((2, 2, 2)), [1, 1])],
            "X in element 0 of stream of online_to_pac must have shape (d,) or (n, d). Got (2, 2, 2).",
        ),
        (
            [(["a", "b"], 1)],
            "X in element 0 of stream of online_to_pac must be real numbers. Got dtype <U1.",
        ),
        ([FIRST, ([1.0, 2.0], 0)], "y in element 1 of stream of online_to_pac must be -1 or 1. Got 0."),
        (
            [(np.ones((3, 2)), [1, -1, 2.0])],
            "y in element 0 of stream of online_to_pac must be -1 or 1. Got 2.0.",
        ),
        (
            [([1.0, 2.0], "1")],
            "y in element 0 of stream of online_to_pac must be -1 or 1. Got '1'.",
        ),
        (
            [(np.ones((3, 2)), [1, -1])],
            "y in element 0 of stream of online_to_pac must have shape (3,). Got (2,).",
        ),
        (
            [([1.0, 2.0], [1, 1])],
            "y in element 0 of stream of online_to_pac must have shape (1,). Got (2,).",
        ),
        # X and y in place of a stream of them, where X has two rows.
        (
            (np.ones((2, 5)), np.ones(2)),
            "y in element 0 of stream of online_to_pac must have shape (1,). Got (5,).",
        ),
    ],
)
def test_streams_that_are_not_allowed_are_rejected(stream, message):
    with pytest.raises(ValueError) as error:
        online_to_pac(**(GOOD | {"stream": stream}))
    assert str(error.value) == message


@pytest.mark.parametrize("make", [np.array, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_examples_must_be_finite(make, bad):
    stream = [FIRST, (make([[1.0, 2.0], [3.0, bad]]), [1, 1])]
    with pytest.raises(ValueError) as error:
        online_to_pac(**(GOOD | {"stream": stream}))
    assert str(error.value) == f"X in element 1 of stream of online_to_pac must be finite. Got {bad}."


def test_errors_come_before_the_stream_is_touched():
    stream = iter([FIRST])
    with pytest.raises(ValueError, match="epsilon"):
        online_to_pac(stream, epsilon=2, delta=0.1, mistake_bound=1)
    assert next(stream) is FIRST
