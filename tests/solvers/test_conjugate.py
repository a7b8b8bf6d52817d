"""Conjugate passes: what they compute, and that they never lose what passes have gained."""

import itertools
import math
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sample_problems import LAYOUTS, data_of, problems
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import margins
import margins.solvers.conjugate
from margins._update import WeightVector
from margins.data.permutations import Orders
from margins.estimators.callbacks import Fit
from margins.kernels import Precomputed
from margins.solvers._conjugate import ConjugateSteps, estimated_gap
from margins.solvers.conjugate import ConjugateSolver
from margins.solvers.rounding import Rounding
from margins.tuning import TUNING

Auto = margins.MarginClassifier
RHO = 1.0


def signed(X, y):
    """The augmented samples as rows, labels reflected."""
    return y[:, np.newaxis] * np.column_stack([X, np.full(len(X), RHO)])


def dual_objective(X, y, alpha, delta2, target):
    """What a step is to increase, at a.y_k = target."""
    a = alpha @ signed(X, y)
    return target * alpha.sum() - 0.5 * (a @ a + delta2 * alpha @ alpha)


def weights_of(data, alpha):
    weights = WeightVector(data.rows.n_features, len(data))
    weights.assign(data, alpha)
    return weights


class Oracle:
    """The steps, over all of the kernel matrix."""

    def __init__(self, X, y, delta2, upper, target):
        self.kernel = signed(X, y) @ signed(X, y).T + delta2 * np.eye(len(X))
        self.upper, self.target = upper, target
        self.moves = []  # the last two, the latest first, each with a length that is rounding

    def objective_along(self, alpha, direction):
        """By how much the objective grows at first, and how its slope falls."""
        slope = self.target * direction.sum() - alpha @ self.kernel @ direction
        return slope, direction @ self.kernel @ direction

    def step(self, before, now):
        """The dual variables after a step, a pass having made them `now`."""
        free = (now > 0) & (now < self.upper)
        d = np.where(free, now - before, 0.0)
        directions = [d]
        self.moves = [(np.where(free, move, 0.0), rounding) for move, rounding in self.moves]
        for direction, rounding in self.moves:
            square = direction @ self.kernel @ direction
            if square > rounding and self.left(directions, direction) > 1e-10 * square:
                directions.append(direction)
        change = np.zeros(len(now))
        if d @ self.kernel @ d > 0:
            gram = np.array([[u @ self.kernel @ v for v in directions] for u in directions])
            slopes = np.array([self.objective_along(now, u)[0] for u in directions])
            wanted = now + np.linalg.solve(gram, slopes) @ directions
            within = np.where(free, np.clip(wanted, 0, self.upper), now) - now
            slope, fall = self.objective_along(now, within)
            if slope > 0 and fall > 0:
                change = min(slope / fall, 1) * within
        rounding = 1e-12 * (d @ self.kernel @ d + change @ self.kernel @ change)
        self.moves = [(d + change, rounding), *self.moves[:1]]
        return now + change

    def left(self, directions, direction):
        """The squared length of what a direction has that others, independent, have not."""
        gram = np.array([[u @ self.kernel @ v for v in directions] for u in directions])
        inner = np.array([u @ self.kernel @ direction for u in directions])
        if not gram[0, 0] > 0:
            return 0.0
        return direction @ self.kernel @ direction - inner @ np.linalg.solve(gram, inner)


def follow(data, X, y, history, delta2, upper, target, over_all=(), anew=()):
    """The weight vector after steps, which the oracle replays, passes having added these changes.

    What would leave the bounds stays at them. The first pass is over all samples, and so is the one
    after each whose number is in `over_all`; of the others' changes only those of the working_set count.
    Those whose number is in `anew`, too, are followed by no step, and by no moves.
    """
    weights = weights_of(data, np.array(history[0], dtype=float))
    steps = ConjugateSteps(data, weights, target)
    oracle = Oracle(X, y, delta2, upper, target)
    steps.begin(False)
    before, working_set, is_first = weights.dual, None, False
    for number, change in enumerate(history[1:], start=1):
        now = np.clip(before + change, 0, upper)
        if working_set is not None:
            now = np.where(np.isin(np.arange(len(now)), working_set), now, before)
        weights.assign(data, now)
        if working_set is None:
            working_set = steps.working_set()
        steps.gap()
        goes_on = not is_first
        is_first = False
        if number in over_all:
            working_set = None
            is_first = number in anew
            steps.begin(is_first)  # takes the step
            if is_first:
                goes_on, oracle.moves = False, []
        else:
            steps.step()
        before = oracle.step(before, now) if goes_on else now
        assert_allclose(weights.dual, before, rtol=1e-6, atol=1e-6)
        before = weights.dual
    return weights


def begun(data, alpha, target):
    """Steps after a first pass over all samples, which has made the dual variables these."""
    weights = weights_of(data, np.zeros(len(alpha)))
    steps = ConjugateSteps(data, weights, target)
    steps.begin(False)
    weights.assign(data, np.asarray(alpha, dtype=float))
    steps.working_set()
    return weights, steps


def coordinate_pass(kernel, alpha, target):
    """What a pass of coordinate ascent without bounds changes."""
    after = alpha.copy()
    for k in range(len(alpha)):
        after[k] += (target - kernel[k] @ after) / kernel[k, k]
    return after - alpha


def three():
    X = np.array([[3.0, 1, 0], [2, 2, 1], [3, 0, 1]])
    return X, np.array([1, 1, 1])


@pytest.mark.parametrize("delta2", [0.0, 0.5])
def test_gap_found_is_what_each_sample_lacked(delta2):
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(20, 4)), np.where(generator.random(20) < 0.5, 1, -1)
    upper, target = 1e9 if delta2 else 3.0, 10.0
    data = data_of(X, y, RHO, delta2, upper)
    before, now = generator.integers(0, 4, size=(2, 20)).astype(float)
    weights = weights_of(data, before)
    steps = ConjugateSteps(data, weights, target)
    steps.begin(False)
    weights.assign(data, now)
    steps.working_set()
    lacked = (now - before) * ((signed(X, y) ** 2).sum(axis=1) + delta2)
    # The primal value less the dual one where each alpha_k is as it is and a.y_k lacks so much.
    linear = upper * np.maximum(lacked, 0) - lacked * now
    gaps = lacked**2 / (2 * delta2) if delta2 else linear
    assert estimated_gap(data, weights, before, target) == pytest.approx(gaps.sum() / target**2)
    assert steps.gap() == pytest.approx(estimated_gap(data, weights, before, target), rel=1e-14)


class Content(ConjugateSteps):
    """Finds nothing left to gain."""

    def gap(self):
        super().gap()
        return 0.0


def test_epochs_without_anything_left_to_gain_have_no_passes_of_their_own(monkeypatch):
    monkeypatch.setattr(margins.solvers.conjugate, "ConjugateSteps", Content)
    monkeypatch.setattr("margins.estimators.margin_classifier.gram_pays", lambda X: False)
    X = np.random.default_rng(0).normal(size=(50, 70))
    fit = Auto(solver="conjugate", C=0.01, eps=1e-3, random_state=0).fit(X, np.arange(50) % 2)
    assert fit.converged_
    assert fit.n_accesses_ == 50 * fit.n_iter_


def test_no_epoch_ends_with_a_step(monkeypatch, tuned):
    calls = []

    class Steps(ConjugateSteps):
        def begin(self, anew):
            super().begin(anew)
            calls.append("anew" if anew else "begin")

        def gap(self):
            calls.append("gap")
            return super().gap()

        def step(self):
            calls.append("step")
            super().step()

    monkeypatch.setattr(margins.solvers.conjugate, "ConjugateSteps", Steps)
    tuned(conjugate={"max_passes": 3})
    X = np.random.default_rng(0).normal(size=(60, 10))
    Auto(solver="conjugate", C=1e3, eps=1e-3, random_state=0, max_iter=1000).fit(X, np.arange(60) % 2)
    # A step is followed by a pass, over the working set or all samples; every pass comes after one,
    # but those that begin anew.
    after_steps = {after for before, after in itertools.pairwise(calls) if before == "step"}
    assert after_steps == {"gap", "begin"}
    assert calls[0] == "anew"
    assert calls.count("step") == calls.count("gap") - calls.count("anew")
    assert min(calls.count("begin"), calls.count("anew")) > 3
    assert calls[-1] == "gap"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_steps_find_in_few_passes_where_these_are_heading(layout):
    X, y = np.array([[3.0, 1, 1], [1, 3, 1], [1, 1, 3]]), np.array([1, 1, 1])
    data = data_of(LAYOUTS[layout](X), y, RHO, 0.5)
    kernel = signed(X, y) @ signed(X, y).T + 0.5 * np.eye(3)
    solution = np.linalg.solve(kernel, np.full(3, 10.0))
    assert (solution > 0.2).all()
    weights, steps = begun(data, solution + [0.3, -0.2, 0.1], 10.0)
    alone = weights.dual
    for _ in range(8):
        weights.assign(data, weights.dual + coordinate_pass(kernel, weights.dual, 10.0))
        alone += coordinate_pass(kernel, alone, 10.0)
        steps.gap()
        steps.step()
    assert 100 * np.abs(weights.dual - solution).max() < np.abs(alone - solution).max()


def test_steps_over_a_kernel_are_those_over_the_samples():
    X, y = three()
    history = np.array([[10.0, 10, 10], [-5, 1, -2], [-3, -7, 2], [1, 1, -4]])
    of_features = data_of(X, y, RHO, 0.5)
    of_kernel = of_features.over(Precomputed().rows(X @ X.T, 200.0))
    duals = [
        follow(data, X, y, history, 0.5, np.inf, 10.0, over_all=[1]).dual
        for data in (of_features, of_kernel)
    ]
    assert_allclose(*duals, rtol=1e-10)


@given(data=st.data())
def test_steps_are_those_of_the_oracle(data):
    X, y = data.draw(problems())
    m = len(X)
    delta2, upper = data.draw(st.sampled_from([(0.5, np.inf), (0.25, 3.0)]))
    numbers = st.integers(-8, 8).map(lambda n: n / 4)
    n_passes = data.draw(st.integers(1, 4))
    history = np.array(
        data.draw(st.lists(st.lists(numbers, min_size=m, max_size=m), min_size=n_passes + 1, max_size=6))
    )[: n_passes + 1]
    history[0] = np.abs(history[0])
    over_all, anew = data.draw(st.sets(st.integers(1, 6))), data.draw(st.sets(st.integers(1, 6)))
    history[0] = np.minimum(history[0], upper)
    data = data_of(X, y, RHO, delta2, upper)
    weights = follow(data, X, y, history, delta2, upper, 3.0, over_all, anew)
    alpha = weights.dual
    assert (alpha >= 0).all()
    assert (alpha <= upper).all()
    # Everything else says the same as the dual variables.
    again = weights_of(data, alpha)
    assert_allclose(weights.weights, again.weights, atol=1e-9)
    for name in ("label_sum", "dual_sum", "sqnorm"):
        assert_allclose(getattr(weights, name), getattr(again, name), rtol=1e-9, atol=1e-9)


def test_a_step_never_loses():
    generator = np.random.default_rng(0)
    n_steps = 0
    for upper in (np.inf, 2.0):
        delta2 = 0.5 if np.isinf(upper) else 0.0
        for _ in range(200):
            X, y = generator.normal(size=(6, 3)), generator.choice([-1, 1], 6)
            data = data_of(X, y, RHO, delta2, upper)
            weights, steps = begun(data, np.clip(generator.normal(size=6), 0, upper), 3.0)
            for _ in range(3):
                passed = np.clip(weights.dual + generator.normal(size=6), 0, upper)
                steps.begin(False)
                weights.assign(data, passed)
                steps.working_set()
                steps.gap()
                steps.step()
                gained = dual_objective(X, y, weights.dual, delta2, 3.0)
                gained -= dual_objective(X, y, passed, delta2, 3.0)
                assert gained >= -1e-9
                n_steps += gained > 1e-3
    assert n_steps > 600  # of 1200: the others were at their best, or at bounds


@pytest.mark.parametrize("upper", [np.inf, 3.0])
def test_gap_is_what_the_last_pass_found(upper):
    X, y = three()
    sqnorms = (signed(X, y) ** 2).sum(axis=1)
    delta2 = 0.5 if np.isinf(upper) else 0.0
    data = data_of(X, y, RHO, delta2, upper)
    weights, steps = begun(data, [1.0, 2, 0.25], 4.0)
    steps.gap()
    for change in (np.array([0.5, 0, 0]), np.array([-0.25, 0, 0.5])):
        steps.step()
        now = weights.dual + change
        weights.assign(data, now)
        lack = change * (sqnorms + delta2) / 4
        # C = 1 / (2 Delta^2) = 1: C lack^2
        gaps = lack**2 if np.isinf(upper) else lack * np.where(lack > 0, 3 - now, -now) / 4
        assert_allclose(steps.gap(), gaps.sum())


def test_the_working_set_is_those_between_their_bounds_and_those_that_have_moved():
    X = np.ones((6, 1))
    data = data_of(X, [1, -1, 1, -1, 1, -1], RHO, 0.0, 2.0)
    weights = weights_of(data, np.array([0.0, 1, 1, 2, 1, 2]))
    steps = ConjugateSteps(data, weights, 4.0)
    steps.begin(False)
    weights.assign(data, np.array([0.0, 0, 1, 2, 2, 1]))
    assert_array_equal(steps.working_set(), [1, 2, 4, 5])


def test_without_a_change_nothing_happens():
    X, y = three()
    data = data_of(X, y, RHO, 0.5)
    weights = weights_of(data, np.ones(3))
    steps = ConjugateSteps(data, weights, 4.0)
    steps.begin(False)
    assert len(steps.working_set()) == 3
    for _ in range(2):
        assert steps.gap() == 0
        steps.step()
        assert_array_equal(weights.dual, 1)
        assert weights.t == 1


class Still(ConjugateSteps):
    """Looks on, and goes nowhere."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.arguments = arguments

    def step(self):
        super().__init__(*self.arguments)  # from here
        super().begin(True)
        super().working_set()


def test_steps_settle_what_passes_alone_take_long_for(monkeypatch):
    # The private coordinate is short beside the samples: two that are equal settle in many small steps.
    generator = np.random.default_rng(2)
    X = generator.integers(-3, 4, (12, 300)).astype(float)
    X[4] = X[5]
    y = np.arange(12) % 2
    accesses = {}
    for kind in (ConjugateSteps, Still):
        monkeypatch.setattr(margins.solvers.conjugate, "ConjugateSteps", kind)
        fit = Auto(eps=1e-3, random_state=0).fit(X, y)
        assert fit.converged_
        accesses[kind] = fit.n_accesses_
    assert 10 * accesses[ConjugateSteps] < accesses[Still]


class Watch:
    """Keeps the runs it sees; stops them after so many epochs."""

    def __init__(self, seen=None, until=None):
        self.seen, self.until = [] if seen is None else seen, until

    def begin_epoch(self, number):
        pass

    def end_epoch(self, run):
        self.seen.append(run)
        return run.n_epochs == self.until

    def end(self):
        pass


def sparse_problem(seed, m=300, d=600):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(m, d)) * (generator.random((m, d)) < 0.05)
    return X, X @ generator.normal(size=d) > 0


def test_every_pass_has_an_order_of_its_own(monkeypatch):
    orders = []
    order_of = Orders.of

    def kept(self, some):
        orders.append(order_of(self, some))
        assert_array_equal(np.sort(orders[-1]), some)
        return orders[-1]

    monkeypatch.setattr(Orders, "of", kept)
    assert Auto(eps=1e-4, random_state=0).fit(*sparse_problem(0)).converged_
    assert len(orders) > 4
    assert not any(np.array_equal(*pair) for pair in itertools.pairwise(orders))


def noisy(seed):
    """Two overlapping clouds: with a large C far from separable, and slow."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(200, 6))
    return X, (X @ generator.normal(size=6) > 0) ^ (generator.random(200) < 0.1)


@pytest.mark.parametrize("params", [{"C": 1e4, "eps": 0.5}, {"C": 1e3, "eps": 0.2}])
def test_proofs_that_are_there_are_found_soon(params, tuned):
    # What is left to gain is up to a thousand times the gap, which another scale of the weights closes.
    accesses = {}
    for ratio in (math.inf, TUNING.conjugate.check_ratio):
        tuned(conjugate={"check_ratio": ratio})
        fits = [
            Auto(**params, solver="conjugate", random_state=seed).fit(*noisy(seed)) for seed in range(10)
        ]
        assert all(fit.converged_ for fit in fits)
        accesses[ratio] = sum(fit.n_accesses_ for fit in fits)
    assert accesses[TUNING.conjugate.check_ratio] < 2 * accesses[math.inf]


def test_proofs_are_looked_for_where_they_are_near():
    fit = Auto(eps=1e-4, random_state=0).fit(*sparse_problem(0))
    certificates = [epoch.certificate for epoch in fit.learning_curve_[0]]
    assert fit.converged_
    assert certificates[0] is not None
    assert certificates[-1] == fit.certificates_[0]
    assert 0 < certificates.count(None) < len(certificates) - 1


@pytest.mark.parametrize("eps", [1e-9, 0.9])
def test_who_stops_a_run_where_no_proof_was_looked_for_gets_one(eps, monkeypatch):
    # The first epoch is taken for far from the proof, whatever it has proven.
    monkeypatch.setattr(ConjugateSolver, "_may_be_proven", lambda solver, run: False)
    X, y = noisy(0)
    monkeypatch.setattr(Fit, "watch", lambda fit, index: Watch(until=2))
    classifier = Auto(C=0.1, eps=eps, solver="conjugate", random_state=0)
    with nullcontext() if eps > 0.5 else pytest.warns(ConvergenceWarning, match="a callback stopped it"):
        classifier.fit(X, y)
    first, last = classifier.learning_curve_[0]
    assert first.certificate is None
    assert last.certificate == classifier.certificates_[0]
    assert classifier.converged_ == (last.certificate.fraction >= 1 - eps) == (eps > 0.5)


class Stop(Exception):
    """What a kernel raises."""


def test_what_a_kernel_raises_is_never_lost():
    # Few rows fit into the cache, so that steps ask for rows, and may be the last to do so.
    generator = np.random.default_rng(2)
    X = generator.normal(size=(20, 4))
    y = X[:, 0] + generator.normal(size=20) > 0
    calls = 0

    def fit(last):
        def kernel(A, B):
            nonlocal calls
            calls += 1
            if calls == last:
                raise Stop
            return (A @ B.T + 1) ** 2

        Auto(kernel=kernel, cache_size=1e-4, loss="hinge", eps=0.1, random_state=0).fit(X, y)

    fit(last=None)
    n_calls = calls
    assert n_calls > 50
    for last in range(1, n_calls + 1):
        calls = 0
        with pytest.raises(Stop):
            fit(last)


@pytest.mark.parametrize("seed", [2, 3, 8, 12, 24, 173])
@pytest.mark.parametrize("scale", [1e-4, 1, 1e4])
def test_proofs_do_not_rest_on_rounding_in_sums_of_kernel_rows(seed, scale):
    # The kernel matrix is singular: the objective hardly curves along some moves, which only bounds end.
    generator = np.random.default_rng(seed)
    m, d = generator.integers(4, 12), generator.integers(1, 4)
    X = generator.normal(size=(m, d))
    y = np.where(generator.random(m) < 0.5, 1, -1)
    y[:2] = 1, -1
    matrix, C = scale * X @ X.T, 3 / scale
    fit = Auto(kernel="precomputed", C=C, eps=1e-4, loss="hinge", fit_intercept=False, random_state=1)
    fit.fit(matrix, y)
    coef = np.zeros(m)
    coef[fit.support_] = fit.dual_coef_[0]
    slack = np.maximum(1 - y * (matrix @ coef), 0)
    primal = coef @ matrix @ coef / 2 + C * slack.sum()
    assert_allclose(fit.certificates_[0].primal, primal, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    "classifier",
    [Auto(solver="conjugate", eps=1.0), margins.get("mpu")(eps=1.0), margins.get("mpu")(before_run=1.0)],
)
def test_thresholds_of_zero_are_a_beginning(classifier, kernel):
    X, y = three()
    fit = clone(classifier).set_params(kernel=kernel, random_state=0).fit(X, [0, 1, 1])
    assert fit.converged_


@pytest.mark.parametrize("seed", range(40))
def test_dual_variables_that_have_shrunk_leave_no_rounding_behind(seed):
    # They begin at a bound of 5e7, and end where the margin is hard.
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(3, 17)) * 10.0 ** generator.integers(-2, 3, size=17)
    fit = Auto(loss="hinge", C=5e7, eps=1e-6, solver="conjugate", random_state=0).fit(X, [0, 1, 0])
    assert fit.converged_
    assert fit.n_iter_ < 20


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.1, 1e3, 1e6])
@pytest.mark.parametrize("seed", range(5))
def test_updates_round_off_no_more_than_is_said(seed, C, loss, monkeypatch):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(40, 60)) * 10.0 ** generator.integers(-2, 3, size=(40, 1))
    y = np.where(generator.random(40) < 0.5, 1, -1)
    signed_rows = (y[:, np.newaxis] * X).astype(np.longdouble)
    plain, seen = Rounding.correct, []

    def look(rounding, run):
        run.weights.recompute(run.data)
        lost = run.weights.weights - run.weights.dual.astype(np.longdouble) @ signed_rows
        seen.append((float(np.linalg.norm(lost)), rounding.bound(run) * math.sqrt(run.weights.sqnorm)))
        plain(rounding, run)

    monkeypatch.setattr(Rounding, "correct", look)
    monkeypatch.setattr("margins.estimators.margin_classifier.gram_pays", lambda X: False)
    eps = 1e-4 if loss == "hinge" else 1e-2
    Auto(solver="conjugate", C=C, loss=loss, eps=eps, random_state=0, fit_intercept=False).fit(X, y)
    assert seen and all(lost <= said for lost, said in seen)


@pytest.mark.parametrize(("eps", "sums"), [(1e-3, False), (1e-13, True)])
def test_weights_are_summed_again_where_a_proof_could_tell(eps, sums, monkeypatch):
    monkeypatch.setattr("margins.estimators.margin_classifier.gram_pays", lambda X: False)
    plain, rounding_of_runs = Rounding.correct, []

    def look(rounding, run):
        plain(rounding, run)
        rounding_of_runs.append(rounding)

    monkeypatch.setattr(Rounding, "correct", look)
    X = np.random.default_rng(0).normal(size=(50, 70))
    with pytest.warns(ConvergenceWarning) if sums else nullcontext():
        Auto(solver="conjugate", eps=eps, max_iter=5, random_state=0).fit(X, np.arange(50) % 2)
    assert rounding_of_runs
    assert (rounding_of_runs[-1]._n_accesses_summed > 0) == sums


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("seed", range(12))
def test_contradicting_rows_cancel_to_a_length_that_is_no_number_below_0(seed, loss):
    generator = np.random.default_rng(seed)
    X = np.repeat(generator.integers(-1, 2, size=(seed % 4 + 1, seed % 3 + 1)), 2, axis=0)
    y = np.tile([-1, 1], len(X) // 2)
    classifier = Auto(solver="conjugate", loss=loss, C=10, eps=1e-3, random_state=0).fit(X, y)
    assert classifier.converged_
    assert_allclose(classifier.coef_, 0, atol=1e-9)


@pytest.mark.parametrize(
    ("asked", "now", "before", "times"),
    [
        (1.0, 10.0, 100.0, 1.0),  # ten times less each time
        (1.0, 100.0, 1000.0, 2.0),
        (1.0, 0.5, 100.0, 0.0),  # there already
        (0.0, 10.0, 100.0, 0.0),  # nobody can tell
        (-1.0, 10.0, 100.0, 0.0),
        (math.nan, 10.0, 100.0, 0.0),
        (1.0, 10.0, 10.0, math.inf),  # has not fallen
        (1.0, 20.0, 10.0, math.inf),
        (1.0, math.inf, math.inf, math.inf),
    ],
)
def test_how_often_a_gap_must_fall_as_it_has(asked, now, before, times):
    assert margins.solvers.conjugate._repetitions_to(asked, now, before) == pytest.approx(times)
