"""Rule-based algorithms over samples in partitions: proofs, orders, limits, and fits in memory."""

import functools
import math
import time
import weakref

import numpy as np
import pytest
from algorithm_groups import NOISE_TOLERANT, STOPPING
from partitioned_problems import chunks_of, problem, sparse_problem
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.data.chunks import Chunks
from margins.estimators.partitioned import IN_MEMORY
from margins.partitions import streamed
from margins.partitions.run import PartOrders, StreamedRun
from margins.partitions.streamed import ActiveRows, Part
from margins.rules import Pocket
from margins.solvers import driver
from margins.solvers.base import Phase, Solver

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
WHY_NOT = {name: margins.get(name)().why_not_in_partitions() for name in margins.available()}
NOT_STREAMED = {name for name, why_not in WHY_NOT.items() if why_not is IN_MEMORY}
OTHERS = {"auto", "voted-perceptron", "pocket"}
NAMES = [name for name in margins.available() if name not in NOT_STREAMED | OTHERS]
PROVING = [name for name in STOPPING if name in NAMES]
IN_ORDER = ["perceptron", "pam", "paum", "alpha-bound", "averaged-perceptron", "longest-survivor"]
LEVELS = ["pdm", "mpu", "mpcs", "mpvs", "margitron"]


def estimator(name, **parameters):
    allowed = margins.get(name)().get_params()
    given = {"C": 1.0, "max_iter": 60, "random_state": 0} | parameters
    if name == "dcd":
        given["shrinking"] = False
    if name == "pfm":
        given["gamma"] = 1e-3
    return margins.get(name)(**{key: value for key, value in given.items() if key in allowed})


def assert_proven(classifier, X, y, weight=1.0):
    """The certificate is that of the model, and of the dual variables, on all samples."""
    signs = np.where(y == classifier.classes_[1], 1.0, -1.0)
    w, b = classifier.coef_[0].astype(np.longdouble), np.longdouble(classifier.intercept_[0])
    rows = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=np.longdouble)
    rho = getattr(classifier, "sq_intercept_scaling_", None)
    rho = math.sqrt(rho) if rho is not None else (1.0 if classifier.fit_intercept else 0.0)
    certificate, penalty = classifier.certificates_[0], classifier.C * np.asarray(weight)
    sqnorm = w @ w + (b * b / rho**2 if rho > 0 else 0)
    products = signs * (rows @ w + b)
    is_hinge = classifier.loss == "hinge"
    slack = np.maximum(1 - products, 0)
    primal = 0.5 * sqnorm + (penalty * (slack if is_hinge else slack**2)).sum()
    assert certificate.primal == pytest.approx(float(primal), rel=1e-8)
    if hasattr(classifier, "dual_coef_"):
        alpha = classifier.dual_coef_[0]
        assert (alpha >= 0).all() and (not is_hinge or (alpha <= penalty * (1 + 1e-12)).all())
        total = (alpha * signs) @ rows
        bias = rho * (alpha @ signs)
        dual = alpha.sum() - 0.5 * (total @ total + bias * bias)
        dual -= 0 if is_hinge else 0.25 * float(np.sum(alpha**2 / penalty))
        # The best dual value of all epochs is proven.
        assert float(dual) <= certificate.dual * (1 + 1e-9) <= certificate.primal * (1 + 2e-9)


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_certificates_hold_on_all_samples(name):
    X, y = problem(m=600)
    # Noise-tolerant perceptrons are not scaled to the least objective.
    classifier = estimator(name).fit(chunks_of(X, y, 5))
    direct = estimator(name).fit(X, y)
    one, other = classifier.certificates_[0], direct.certificates_[0]
    assert one.dual <= other.primal * (1 + 1e-9) and other.dual <= one.primal * (1 + 1e-9)
    if name in PROVING:
        assert classifier.converged_ and one.fraction >= 1 - classifier.eps
    if classifier.loss == "squared_hinge" and name not in (*NOISE_TOLERANT, "servedio-average"):
        assert_proven(classifier, X, y)
    assert classifier.score(X, y) == classifier.score(chunks_of(X, y, 7)) > 0.7
    assert len(classifier.learning_curve_[0]) == classifier.n_iter_
    assert classifier.n_accesses_ >= 600 * classifier.n_iter_


@pytest.mark.parametrize(
    ("name", "n_chunks"), [*((name, 3) for name in IN_ORDER), ("pam", 1), ("averaged-perceptron", 64)]
)
@quiet
def test_in_the_order_of_the_samples_partitions_change_nothing(name, n_chunks):
    X, y = problem(m=300)
    parameters = {"shuffle": "never", "max_iter": 20, "C": 0.5}
    direct = estimator(name, **parameters).fit(X, y)
    streamed = estimator(name, **parameters).fit(chunks_of(X, y, n_chunks))
    assert (streamed.coef_ == direct.coef_).all() and (streamed.intercept_ == direct.intercept_).all()
    assert streamed.certificates_ == direct.certificates_
    assert streamed.learning_curve_ == direct.learning_curve_
    assert streamed.n_accesses_ == direct.n_accesses_


@pytest.mark.parametrize("name", [*LEVELS, "pdm-succ", "cramma", "dcd"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_in_the_order_of_partitions_a_fit_in_memory_is_the_same(name, kind, monkeypatch):
    X, y = problem(m=700)
    X, rule = kind(X), {"eps": 0.02, "max_iter": 1000}
    streamed_fit = estimator(name, **rule).fit(chunks_of(X, y, 6))
    bounds_of_parts = np.cumsum([0, *map(len, np.array_split(np.arange(700), 6))]).tolist()
    ranges = zip(bounds_of_parts, bounds_of_parts[1:], strict=False)
    parts = [Part(index, end - begin, begin, end, None) for index, (begin, end) in enumerate(ranges)]

    class Orders(PartOrders):
        def __init__(self, n, seed, proven, shuffle, **options):
            super().__init__(parts, seed, shuffle)

        def next(self, size=None):
            orders = super().next()
            return np.concatenate([order for _, order in orders])

    monkeypatch.setattr(driver, "Orders", Orders)
    direct = estimator(name, **rule).fit(X, y)
    assert (streamed_fit.coef_ == direct.coef_).all()
    assert (streamed_fit.dual_coef_ == direct.dual_coef_).all()
    assert streamed_fit.certificates_ == direct.certificates_
    assert streamed_fit.n_iter_ == direct.n_iter_ and streamed_fit.n_accesses_ == direct.n_accesses_


@pytest.mark.parametrize("storage", ["float32", "csr", "csr float32", "mixed"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_storage_loss_and_weights(storage, loss):
    X, y = sparse_problem(m=300, d=60)
    weight = np.random.default_rng(1).integers(0, 4, 300).astype(float)
    X = X.astype(np.float32) if "float32" in storage else X
    X = X if "csr" in storage else X.toarray()
    chunks = chunks_of(X, y, 5, weight)
    if storage == "mixed":
        X[60:120] = X[60:120].astype(np.float32)
        _, *labels = chunks.parts[1]
        chunks.parts[1] = (np.asfortranarray(X[60:120].astype(np.float32)), *labels)
        rows, *labels = chunks.parts[2]
        chunks.parts[2] = (sparse.csr_matrix(rows), *labels)
    balanced = 300 / (2 * np.bincount((y > 0).astype(int), weights=weight)) * weight.mean()
    for class_weight, factors in ((None, (1, 1)), ({-1: 2, 1: 0.5}, (2, 0.5)), ("balanced", balanced)):
        classifier = estimator("mpu", loss=loss, class_weight=class_weight, max_iter=1000, eps=0.02)
        classifier.fit(chunks)
        total = weight * np.where(y > 0, factors[1], factors[0])
        kept = weight > 0
        assert classifier.converged_ and classifier.dual_coef_.shape == (1, 300)
        assert (classifier.dual_coef_[0, ~kept] == 0).all()
        classifier.dual_coef_ = classifier.dual_coef_[:, kept]
        assert_proven(classifier, X[kept], y[kept], total[kept])


@pytest.mark.parametrize("name", LEVELS)
def test_an_active_set_beyond_the_limit_is_cut_and_the_proof_holds(name, monkeypatch):
    X, y = problem(m=1500)
    sizes = []

    class Small(ActiveRows):
        def rows(self):
            sizes.append(len(self))
            return super().rows()

    monkeypatch.setattr(streamed, "ActiveRows", functools.partial(Small, max_bytes=100 * 8 * 8))
    classifier = estimator(name, eps=0.02, max_iter=1000).fit(chunks_of(X, y, 6))
    assert classifier.converged_ and classifier.certificates_[0].fraction >= 0.98
    assert max(sizes) == 100
    assert_proven(classifier, X, y)
    # Estimates save certificates, but never five in a row.
    is_certified = [epoch.certificate is not None for epoch in classifier.learning_curve_[0]]
    assert all(any(is_certified[k : k + 5]) for k in range(len(is_certified) - 4))
    assert len(is_certified) < 4 or not all(is_certified)


@quiet
@pytest.mark.parametrize("name", [*LEVELS, "cramma", "micra", "mpu of hinge"])
@pytest.mark.parametrize("is_large", [False, True])
def test_certificates_that_would_not_prove_the_accuracy_are_left_out(name, is_large, monkeypatch):
    X, y = problem(m=600)
    parameters = {"eps": 0.01, "max_iter": 40}
    name, _, loss = name.partition(" of ")
    parameters |= {"loss": loss} if loss else {}
    if is_large:
        X += 0.5 * np.where(y == "a", 1, -1)[:, np.newaxis] * np.ones(8) / np.sqrt(8)
        parameters |= {"C": 1e3}
    found = estimator(name, **parameters).fit(chunks_of(X, y, 4))
    monkeypatch.setattr(StreamedRun, "may_be_proven", lambda run, tuning=None: True)
    always = estimator(name, **parameters).fit(chunks_of(X, y, 4))
    assert (found.coef_ == always.coef_).all() and found.n_iter_ == always.n_iter_
    assert found.certificates_ == always.certificates_
    curves = found.learning_curve_[0], always.learning_curve_[0]
    assert [epoch.updates for epoch in curves[0]] == [epoch.updates for epoch in curves[1]]
    assert curves[0][-1].certificate is not None
    if found.n_iter_ > 2:
        assert any(epoch.certificate is None for epoch in curves[0])


def test_one_partition_is_in_memory_at_a_time():
    X, y = problem(m=800)
    parts, alive, most = np.array_split(np.arange(800), 8), [], []

    class Matrix(np.ndarray):
        """An array to which weak references exist."""

    def n_alive():
        return sum(reference() is not None for reference in alive)

    def read(part):
        matrix = X[part].view(Matrix)
        alive.append(weakref.ref(matrix))
        most.append(n_alive())
        return matrix, y[part]

    chunks = Chunks([functools.partial(read, part) for part in parts])
    classifier = estimator("pdm", eps=0.05).fit(chunks)
    n_certified = sum(epoch.certificate is not None for epoch in classifier.learning_curve_[0])
    assert len(most) == 8 * (1 + classifier.n_iter_ + n_certified)
    assert max(most) == 1 and n_alive() == 0


def test_several_classes_are_trained_by_any_number_of_threads():
    X, y = problem(m=600, n_classes=4)
    one, two = (estimator("pdm", n_jobs=n, eps=0.05).fit(chunks_of(X, y, 3)) for n in (1, 2))
    assert (one.coef_ == two.coef_).all() and one.coef_.shape == (4, 8) and one.converged_
    other = estimator("pdm", eps=0.05, random_state=1).fit(chunks_of(X, y, 3))
    assert (one.coef_ != other.coef_).any()
    averaged = estimator("averaged-perceptron").fit(chunks_of(X, y, 3))
    assert averaged.score(X, y) > 0.6


def test_orders_are_permutations_of_each_partition():
    parts = [Part(0, 3, 0, 3, None), Part(2, 9, 3, 8, None), Part(3, 40, 8, 40, None)]

    def epochs(shuffle, n=3):
        orders = PartOrders(parts, 0, shuffle)
        return [list(orders.next()) for _ in range(n)]

    for shuffle in ("epochs", "once", "never"):
        found = epochs(shuffle)
        for epoch in found:
            assert sorted(part.begin for part, _ in epoch) == [0, 3, 8]
            for part, order in epoch:
                assert sorted(order.tolist()) == list(range(part.begin, part.end))
        flat = [[order.tolist() for _, order in epoch] for epoch in found]
        assert (flat[0] == flat[1]) == (shuffle != "epochs")
        again = [[order.tolist() for _, order in epoch] for epoch in epochs(shuffle)]
        assert flat == again
    assert [part.begin for part, _ in found[0]] == [0, 3, 8] and flat[0][2] == list(range(8, 40))
    with pytest.raises(ValueError, match="must be 'epochs', 'once' or 'never'. Got 'draws'"):
        PartOrders(parts, 0, "draws")


def test_a_time_limit_ends_a_pass_between_partitions():
    X, y = problem(m=400)
    n_read = []

    def read(part):
        n_read.append(part)
        time.sleep(0.02)
        return X[part], y[part]

    parts = np.array_split(np.arange(400), 10)
    chunks = Chunks([functools.partial(read, part) for part in parts])
    with pytest.warns(ConvergenceWarning, match="max_time=0.05 seconds came first") as caught:
        classifier = estimator("pdm", eps=1e-6, max_time=0.05).fit(chunks)
    assert caught[0].filename == __file__
    assert not classifier.converged_ and classifier.n_iter_ == 1
    assert 20 < len(n_read) < 30  # the first reading, a part of an epoch, and the certificate
    assert_proven(classifier, X, y)


def test_progress_is_reported_and_a_stream_continues_from_the_model(capsys):
    X, y = problem(m=400)
    classifier = estimator("pdm", eps=0.05, verbose=1).fit(chunks_of(X, y, 3))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == classifier.n_iter_ and "proven fraction" in lines[-1]
    before = classifier.n_updates_
    classifier.partial_fit(-X, y)
    assert classifier.n_updates_ > before


@quiet
@pytest.mark.parametrize("name", ["pdm", "aggressive-romma"])
def test_a_hard_margin_needs_rows_that_are_not_zero(name):
    X, y = problem(m=60)
    X[7] = 0
    with pytest.raises(ValueError, match="Row 7 of X is zero"):
        estimator(name, C=np.inf, fit_intercept=False).fit(chunks_of(X, y, 3))


def test_algorithms_with_separate_loops_need_samples_in_memory():
    assert NOT_STREAMED
    for name in NOT_STREAMED:
        with pytest.raises(ValueError, match=rf"X of {name} .*fit.* must be in memory here. Got Chunks"):
            margins.get(name)().fit(chunks_of(*problem(m=60), 2))


class OwnSolver(Solver):
    name = "own"

    def epoch(self, run):
        raise AssertionError("no epoch runs")


class OwnPhases(margins.get("pdm")):
    """An algorithm whose phase has a solver of its own."""

    def phases(self, run):
        yield Phase(solver=OwnSolver())


def test_a_solver_without_rules_is_rejected():
    with pytest.raises(ValueError, match=r"processed by a rule-based solver. Got OwnSolver\(\)"):
        OwnPhases().fit(chunks_of(*problem(m=60), 2))


def test_an_average_that_may_read_any_sample_is_rejected():
    class Counted(margins.get("pdm")):
        """An algorithm with a pocket of its own."""

        def phases(self, run):
            for phase in super().phases(run):
                yield phase._replace(averaging=lambda weights: Pocket(weights, 0.0))

    message = "averaging over samples in partitions must be one of Average, .*Got .*Pocket"
    with pytest.raises(ValueError, match=message):
        Counted().fit(chunks_of(*problem(m=60), 2))
