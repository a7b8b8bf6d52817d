"""Penalties of samples in partitions: the optima in memory, proven, and what does not go with chunks."""

import numpy as np
import pytest
from covering import every_pair
from partitioned_problems import chunks_of
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.data.chunks import Chunks
from margins.regularisers import L1, Bounded, ElasticNet, Prior, Regulariser, Weighted

PENALTIES = [
    L1(),
    ElasticNet(0.5),
    Bounded(0, penalty=L1()),
    Weighted(np.arange(1, 7), Bounded(-0.5, 1)),
    Bounded(0, 0),  # of which no weight moves
]
INTERCEPTS = [{}, {"penalize_intercept": False}, {"fit_intercept": False}]
LOSSES = ["squared_hinge", "hinge"]


def samples(m=300, scale=1.0):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(m, 6)) * [1, 10, 0.1, 1, 1, 1] + [0, 1, 0, 0, 5, 0]
    scores = X[:, 0] + 0.2 * X[:, 1] + 0.5 * rng.normal(size=m)
    return scale * X, np.digitize(scores, [-0.3])


def assert_same_optimum(classifier, chunks, X, y):
    alone = margins.MarginClassifier(**classifier.get_params(deep=False)).fit(X, y)
    classifier.fit(chunks)
    assert classifier.converged_
    for one, other in zip(classifier.certificates_, alone.certificates_, strict=True):
        assert one.dual <= other.primal * (1 + 1e-9) and other.dual <= one.primal * (1 + 1e-9)
    w, scores = classifier.coef_[0], classifier.decision_function(X)
    slacks, regulariser = np.maximum(1 - (2 * y - 1) * scores, 0), classifier.penalty
    value = regulariser.terms(6).value(w)
    if classifier.fit_intercept and classifier.penalize_intercept:
        b = classifier.intercept_[0]
        value += regulariser.ridge * b * b / 2 + regulariser.l1 * abs(b)
    losses = slacks if classifier.loss == "hinge" else slacks**2
    primal = value + classifier.C * losses.sum()
    assert classifier.certificates_[0].primal == pytest.approx(primal, rel=1e-9)


@pytest.mark.parametrize(
    ("penalty", "intercept", "loss"), every_pair(PENALTIES, INTERCEPTS, LOSSES), ids=repr
)
def test_the_optimum_is_that_in_memory(penalty, intercept, loss):
    X, y = samples()
    for C in (0.001, 0.1, 30):
        params = {"C": C, "penalty": penalty, "loss": loss, "eps": 1e-3} | intercept
        assert_same_optimum(margins.MarginClassifier(**params), chunks_of(X, y, 4), X, y)


@pytest.mark.parametrize(("seed", "penalty", "C"), [(0, L1(), 1e-3), (1, L1(), 60), (17, L1(), 600)])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_features_of_all_sizes(seed, penalty, C, intercept):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(150, 6)) * 10.0 ** rng.uniform(-2, 2, 6), np.arange(150) % 2
    for loss in LOSSES:
        params = {"C": C, "penalty": penalty, "loss": loss, "eps": 1e-3} | intercept
        assert_same_optimum(margins.MarginClassifier(**params), chunks_of(X, y, 4), X, y)


@pytest.mark.parametrize("loss", LOSSES)
def test_distant_bounds_change_no_pass(loss):
    X, y = samples()
    penalties = L1(), Bounded(-1e8, 1e8, L1()), Bounded(-0.001, 1e8, L1())
    fits = [margins.MarginClassifier(penalty=penalty, loss=loss, eps=1e-4) for penalty in penalties]
    n_iter = [fit.fit(chunks_of(X, y, 4)).n_iter_ for fit in fits]
    assert n_iter[1] == n_iter[0] and n_iter[2] <= n_iter[0] + 5


@pytest.mark.parametrize("loss", LOSSES)
def test_a_narrow_loss_far_from_the_optimum_ends_no_fit(loss):
    X, y = samples(scale=100)  # a whole step over the kinks makes the objective a thousand times larger
    params = {"C": 1.0, "penalty": L1(), "loss": loss, "eps": 1e-4, "penalize_intercept": False}
    assert_same_optimum(margins.MarginClassifier(**params), chunks_of(X, y, 4), X, y)


def test_paths_of_sparse_chunks_and_certificates():
    X, y = samples()
    chunks = Chunks.of_rows(sparse.csr_array(X), y, n_rows=70)
    path = margins.svm_path(chunks, None, [1, 0.01], penalty="elasticnet", l1_ratio=[0.9, 0], eps=1e-4)
    for C, l1_ratio, [one] in zip(path.Cs, path.l1_ratios, path.certificates, strict=True):
        params = {"C": C, "penalty": "elasticnet", "l1_ratio": l1_ratio, "eps": 1e-4}
        fit = margins.MarginClassifier(**params).fit(X, y)
        assert one.primal == pytest.approx(fit.certificates_[0].primal, rel=3e-4)
        assert margins.certify(fit, chunks).certificates[0].gap < 3e-4
    wrong = margins.MarginClassifier(penalty=Bounded(0)).fit(X, y)
    wrong.coef_ = -1 - wrong.coef_
    with pytest.raises(ValueError, match="coef of certify must be within the bounds of penalty"):
        margins.certify(wrong, chunks)


def test_a_certificate_is_that_of_the_coefficients_however_large_they_are(tuned):
    tuned(newton={"max_steps": 1})  # of the fit that bounds the optimum, which gets nowhere
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=100), np.arange(100) % 2
    X = np.column_stack([x, x + 1e-8 * rng.normal(size=100)])
    fit = margins.MarginClassifier(penalty="l1", loss="hinge", fit_intercept=False).fit(X, y)
    fit.penalty, fit.coef_ = Weighted(1e-12, L1()), np.array([[-1e11, 1e11]])
    [alone], [one] = (
        margins.certify(fit, *data).certificates for data in [(X, y), (Chunks.of_rows(X, y, n_rows=30),)]
    )
    assert one.primal == pytest.approx(alone.primal, rel=1e-14)


def test_nothing_proven_is_a_bound_of_zero():
    X, y = samples(scale=100)
    fit = margins.MarginClassifier(penalty="elasticnet", max_iter=1)
    with pytest.warns(ConvergenceWarning):
        fit.fit(chunks_of(X, y, 4))
    assert fit.certificates_[0].dual == 0 and fit.certificates_[0].gap == np.inf


def test_searches_of_several_l1_ratios_share_the_folds():
    X, y = samples()
    chunks, params = chunks_of(X, y, 4), {"penalty": "elasticnet", "Cs": [1, 0.01], "cv": 3}
    params["random_state"] = 0
    search = margins.MarginClassifierCV(l1_ratio=[0.9, 0], **params).fit(chunks)
    for index, l1_ratio in enumerate([0.9, 0]):
        one = margins.MarginClassifierCV(l1_ratio=l1_ratio, **params).fit(chunks)
        np.testing.assert_array_equal(search.scores_[:, index], one.scores_)
    assert search.estimator_.l1_ratio == search.l1_ratio_ and search.converged_


class Wide(Regulariser):
    """A plug-in that is 0 between bounds."""

    def terms(self, n_features):
        bound = np.ones(n_features)
        return super().terms(n_features)._replace(lower=-bound, upper=bound)


def test_a_plug_in_and_names():
    X, y = samples()
    fit = margins.MarginClassifier(penalty=Wide(), fit_intercept=False, eps=1e-6)
    assert_same_optimum(fit, chunks_of(X, y, 3), X, y)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    chunks = Chunks([(frame[:100], y[:100]), (frame[100:], y[100:])])
    fit = margins.MarginClassifier(penalty=Bounded({"d": 0}, {"a": 0.125})).fit(chunks)
    assert fit.coef_[0, 0] == 0.125 and fit.coef_[0, 3] >= 0


def test_what_does_not_go_with_chunks_is_an_error():
    X, y = samples()
    chunks = chunks_of(X, y, 3)
    with pytest.raises(
        ValueError, match=r"penalty of .*fit must have its minimum at w = 0 .* Got Prior"
    ):
        margins.MarginClassifier(penalty=Prior(1)).fit(chunks)
    wide = Chunks.of_rows(sparse.random_array((30, 10000), format="csr"), np.arange(30) % 2, n_rows=10)
    with pytest.raises(
        ValueError, match=r"penalty of .*fit must be 'l2' with 10000 features of samples"
    ):
        margins.MarginClassifier(penalty="l1").fit(wide)
