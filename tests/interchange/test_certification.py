"""`margins.certify`: certificates of models that other programs, or nobody, trained."""

import math
from fractions import Fraction

import numpy as np
import pytest
from exact_optima import rational_objective
from numpy.testing import assert_allclose
from problems import clouds, integers, tumours
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

import margins
from margins.data.chunks import Chunks
from margins.interchange import dump_libsvm, load_libsvm
from margins.parameters import WrongParameter

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
POWER = {"hinge": 1, "squared_hinge": 2}
# penalize_intercept of each treatment of the intercept; None: there is none.
INTERCEPTS = {"none": None, "penalised": True, "free": False}


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", POWER)
def test_the_gap_brackets_the_true_one(loss, intercept):
    X, y = integers(m=14, d=3)
    penalize, rng = INTERCEPTS[intercept], np.random.default_rng(0)
    parameters = {"loss": loss} | ({} if penalize is None else {"penalize_intercept": penalize})
    optimum = margins.MarginClassifier(
        C=0.5, eps=1e-8, fit_intercept=penalize is not None, random_state=0, **parameters
    ).fit(X, y)
    w, b = optimum.coef_[0], optimum.intercept_[0]
    b = None if penalize is None else b
    least = rational_objective(w, b or 0.0, X, y, 0.5, loss, bool(penalize))
    for size in np.repeat(10.0 ** np.arange(-10, 6), 11):  # about a thousand models in all cases
        moved_w = w + size * rng.normal(size=len(w))
        moved_b = None if b is None else b + size * rng.normal()
        result = margins.certify((moved_w, moved_b), X, y, C=0.5, **parameters)
        (certificate,) = result.certificates
        primal = rational_objective(moved_w, moved_b or 0.0, X, y, 0.5, loss, bool(penalize))
        assert_allclose(certificate.primal, float(primal), rtol=1e-9)
        # The dual value is a bound, and as tight as `accuracy` asks for.
        assert Fraction(certificate.dual) <= least * (1 + Fraction(1, 10**9))
        assert certificate.gap <= 1e-4 or certificate.dual >= float(least) / 1.0001 * (1 - 1e-7)


def scores_of(model, X):
    """Scores of all binary problems, shape (m, n_problems)."""
    scores = X @ model.coef_.T + model.intercept_
    return np.reshape(scores, (len(X), -1))


def objectives(model, X, y, C, penalised, power, weight=1.0):
    """The documented objective of each one-vs-rest problem of a linear model."""
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    values = []
    for scores, w, b, label in zip(
        scores_of(model, X).T, model.coef_, model.intercept_, classes, strict=True
    ):
        slacks = np.maximum(1 - np.where(y == label, 1, -1) * scores, 0)
        values.append(0.5 * (w @ w + penalised * b * b) + C * np.sum(weight * slacks**power))
    return values


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_linear_models_are_compared_with_the_optimum_of_their_own_problem(n_classes, storage):
    X, y = clouds(n_classes, m=90)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 90)
    svc = LinearSVC(C=0.3, random_state=0).fit(storage(X), y, weight)
    result = margins.certify(svc, storage(X), y, sample_weight=weight)
    assert_allclose([c.primal for c in result.certificates], objectives(svc, X, y, 0.3, 1, 2, weight))
    sgd = SGDClassifier(alpha=0.01, random_state=0).fit(storage(X), y, sample_weight=weight)
    result = margins.certify(sgd, storage(X), y, sample_weight=weight)
    expected = objectives(sgd, X, y, 1 / (0.01 * 90), 0, 1, weight)
    assert_allclose([c.primal for c in result.certificates], expected)
    best = margins.MarginClassifier(
        C=1 / (0.01 * 90), loss="hinge", penalize_intercept=False, eps=1e-4, random_state=0
    ).fit(X, y, weight)
    assert result.n_different == np.sum(best.predict(X) != sgd.predict(X))
    for certificate, exact in zip(result.certificates, best.certificates_, strict=True):
        assert certificate.dual == pytest.approx(exact.primal, rel=2e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
def test_svc_proves_itself_by_its_dual_variables(n_classes, kernel, monkeypatch):
    X, y = clouds(n_classes, m=60)
    model = SVC(kernel=kernel, gamma=0.05, tol=1e-9).fit(X, y)
    if kernel == "sigmoid":  # it is indefinite, so that nothing is proven
        assert all(c.dual == 0 for c in margins.certify(model, X, y).certificates)
        return
    monkeypatch.setattr(margins.MarginClassifier, "fit", None)
    result = margins.certify(model, X, y)
    assert len(result.certificates) == len(model.intercept_)
    assert all(c.gap < 1e-6 for c in result.certificates)


def test_a_model_close_to_the_optimum_of_the_squared_hinge_loss_needs_no_fit(monkeypatch):
    X, y = tumours()
    model = LinearSVC(tol=1e-9, max_iter=10**5).fit(X, y)
    fit = margins.MarginClassifier.fit
    monkeypatch.setattr(margins.MarginClassifier, "fit", None)
    result = margins.certify(model, X, y)
    assert result.certificates[0].gap < 1e-9
    assert result.advice == ""
    monkeypatch.setattr(margins.MarginClassifier, "fit", fit)
    assert result.n_different == 0


def test_class_weights_have_the_meaning_of_the_model():
    X, y = clouds(3, m=90)
    y[y == 2] = np.where(np.arange(np.sum(y == 2)) % 3, 1, 2)  # a rare class
    for model in (
        LinearSVC(class_weight="balanced", tol=1e-9, max_iter=10**5),
        LinearSVC(class_weight={0: 1, 1: 0.2, 2: 5}, tol=1e-9, max_iter=10**5),
        SVC(class_weight="balanced", tol=1e-9),
        SVC(class_weight={2: 3.0}, kernel="linear", tol=1e-9),
        OneVsRestClassifier(LinearSVC(class_weight="balanced", tol=1e-9, max_iter=10**5)),
        OneVsOneClassifier(SVC(class_weight={0: 2.0}, tol=1e-9)),
    ):
        result = margins.certify(model.fit(X, y), X, y)
        assert all(c.gap < 1e-5 for c in result.certificates), model
        assert result.n_different == 0
    for model in (LinearSVC, SVC):
        fitted = model(class_weight={0: 1, 1: 4}, tol=1e-9).fit(X, y == 0)
        assert margins.certify(fitted, X, y == 0).certificates[0].gap < 1e-5


def test_frames_lists_and_one_weight_for_all_are_samples_too():
    pandas = pytest.importorskip("pandas")
    X, y = clouds(3, m=60)
    model = OneVsOneClassifier(LinearSVC(random_state=0)).fit(X, y)
    expected = margins.certify(model, X, y)
    for samples, labels in ((pandas.DataFrame(X), pandas.Series(y)), (X.tolist(), y.tolist())):
        result = margins.certify(model, samples, labels, sample_weight=1.0)
        assert result.certificates == expected.certificates
        assert result.n_different == expected.n_different


def test_weights_of_zero_and_balanced_ones_are_those_of_the_model():
    X, y = clouds(2, m=70)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    weight = np.ones(70)
    weight[40:43] = 0  # SVC numbers support vectors without these samples
    for kernel in ("linear", "rbf"):
        model = SVC(kernel=kernel, tol=1e-8).fit(X, y, sample_weight=weight)
        assert margins.certify(model, X, y, sample_weight=weight).certificates[0].gap < 1e-6
    weight = np.random.default_rng(0).uniform(0.1, 3, 70)
    balanced = LinearSVC(class_weight="balanced", tol=1e-10, max_iter=10**6).fit(X, y, weight)
    assert margins.certify(balanced, X, y, sample_weight=weight).certificates[0].gap < 1e-6


def test_pairs_of_two_classes_and_of_precomputed_kernels():
    X, y = clouds(2, m=40)
    result = margins.certify(OneVsOneClassifier(LinearSVC(tol=1e-9, max_iter=10**5)).fit(X, y), X, y)
    assert result.certificates[0].gap < 1e-5 and result.n_different == 0
    X, y = clouds(3, m=45)
    model = OneVsOneClassifier(SVC(kernel="precomputed", tol=1e-9)).fit(X @ X.T, y)
    result = margins.certify(model, X @ X.T, y)
    assert all(c.gap < 1e-5 for c in result.certificates) and result.n_different == 0


def test_models_of_several_steps_are_read_to_the_last():
    X, y = clouds(2, m=80)
    pipeline = make_pipeline(StandardScaler(), LinearSVC(random_state=0))
    grid = GridSearchCV(pipeline, {"linearsvc__C": [0.1, 1.0]}).fit(X, y)
    result = margins.certify(grid, X, y)
    best = grid.best_estimator_
    alone = margins.certify(best[-1], best[:-1].transform(X), y)
    assert result.certificates == alone.certificates
    nested = make_pipeline(make_pipeline(StandardScaler()), make_pipeline(LinearSVC(random_state=0)))
    assert margins.certify(nested.fit(X, y), X, y).certificates[0].gap < 0.01


@pytest.mark.parametrize("name", margins.available())
def test_classifiers_of_margins_have_the_certificates_of_their_fit(name):
    X, y = clouds(2, m=60, distance=3.0)
    model = margins.get(name)(random_state=0).fit(X, y)
    if hasattr(model, "votes_"):
        with pytest.raises(TypeError, match="must have a weight vector"):
            margins.certify(model, X, y)
        return
    (own,), (certificate,) = model.certificates_, margins.certify(model, X, y).certificates
    if math.isinf(model.C):
        assert certificate.margin == pytest.approx(own.margin, rel=1e-9)
    else:
        assert certificate.primal == pytest.approx(own.primal, rel=1e-9)
    assert certificate.dual >= own.dual * (1 - 1e-9)


@pytest.mark.parametrize("parameters", [{"kernel": "rbf"}, {"multi_class": "ovo"}, {"loss": "hinge"}])
def test_arrays_are_as_good_as_the_estimator_that_holds_them(parameters):
    X, y = clouds(3, m=60)
    model = margins.MarginClassifier(C=2, random_state=0, **parameters).fit(X, y)
    if "kernel" in parameters:
        values = np.zeros((3, 60))
        values[:, model.support_] = model.dual_coef_
    else:
        values = model.coef_
    stated = {"C": 2, **parameters}
    result = margins.certify((values, model.intercept_), X, y, **stated)
    expected = margins.certify(model, X, y)
    for one, other in zip(result.certificates, expected.certificates, strict=True):
        assert one.primal == pytest.approx(other.primal, rel=1e-9)
    assert result.n_different == expected.n_different
    if "kernel" not in parameters:
        by_alpha = margins.certify((values, model.intercept_), X, y, alpha=1 / (2 * 60), **parameters)
        assert_allclose(by_alpha.certificates[0].primal, result.certificates[0].primal)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_from_files_of_libsvm_have_the_certificates_of_svc(n_classes, kernel, tmp_path):
    X, y = clouds(n_classes, m=60)
    parameters = {"kernel": kernel, "gamma": 0.1, "loss": "hinge", "penalize_intercept": False}
    model = margins.MarginClassifier(C=3, multi_class="ovo", **parameters).fit(X, y)
    dump_libsvm(model, tmp_path / "model")
    order = np.random.default_rng(0).permutation(60)  # its support vectors are none of the first samples
    loaded = load_libsvm(tmp_path / "model", n_features=4)
    stated = {"C": 3, "loss": "hinge", "penalize_intercept": False}
    result = margins.certify(loaded, X[order], y[order], **stated)
    expected = margins.certify(model, X, y)
    for one, other in zip(result.certificates, expected.certificates, strict=True):
        assert one.primal == pytest.approx(other.primal, rel=1e-9)
        assert one.gap == pytest.approx(other.gap, abs=2e-4)
    assert result.n_different == expected.n_different


@pytest.mark.parametrize("loss", POWER)
def test_chunks_have_the_certificates_of_arrays(loss):
    X, y = clouds(3, m=90)
    model = SGDClassifier(loss=loss, random_state=0).fit(X, y)
    whole = margins.certify(model, X, y)
    parts = margins.certify(model, Chunks.of_rows(X, y, n_rows=20))
    for one, other in zip(parts.certificates, whole.certificates, strict=True):
        assert one.primal == pytest.approx(other.primal, rel=1e-9)
        assert one.dual == pytest.approx(other.dual, rel=2e-4)
    assert parts.n_different == whole.n_different
    for refused in (
        lambda chunks: margins.certify(model, chunks, y),
        lambda chunks: margins.certify(OneVsRestClassifier(LinearSVC()).fit(X, y), chunks),
    ):
        with pytest.raises(ValueError, match="must be"):
            refused(Chunks.of_rows(X, y, n_rows=20))


def test_the_classes_that_a_hard_margin_separates():
    X, y = clouds(2, m=40, distance=6.0)
    model = margins.MarginClassifier(C=math.inf, eps=0.3, random_state=0).fit(X, y)
    for intercept in (model.intercept_, model.intercept_ + 1e3):
        result = margins.certify((model.coef_, intercept), X, y, C=math.inf)
        (certificate,) = result.certificates
        assert certificate.upper_bound >= model.certificates_[0].margin
        w = np.append(model.coef_[0], intercept)
        margin = np.min(np.where(y, 1, -1) * (X @ w[:-1] + w[-1])) / np.linalg.norm(w)
        assert certificate.margin == pytest.approx(min(margin, 0) if margin < 0 else margin)
    assert "not separated" in str(result)


def test_divergence_is_stated():
    X, y = tumours()
    model = SGDClassifier(alpha=1e-4, learning_rate="constant", eta0=1e6, random_state=0).fit(X, y)
    result = margins.certify(model, X, y)
    assert 1e5 < result.certificates[0].gap < math.inf
    assert result.certificates[0].dual > 0
    huge = margins.certify((1e100 * model.coef_, model.intercept_), X, y, C=1)
    assert 1e100 < huge.certificates[0].gap < math.inf
    with pytest.raises(ValueError, match=r"numbers of at most 1e\+150"):
        margins.certify((1e200 * model.coef_, model.intercept_), X, y, C=1)


def test_the_advice_names_what_is_wrong():
    X, y = tumours()
    (near,) = margins.certify(LinearSVC(random_state=0).fit(X, y), X, y).advice.splitlines() or [""]
    assert near == ""
    few = LinearSVC(dual=True, loss="hinge", max_iter=1, random_state=0).fit(X, y)
    assert "iterations" in margins.certify((0 * few.coef_, None), X, y, C=1).advice
    assert "smaller C" in margins.certify((0 * few.coef_, None), X, y, C=1e6).advice
    uneven = X * np.geomspace(1, 1e6, X.shape[1])
    assert "Standardize" in margins.certify((0 * few.coef_, None), uneven, y, C=1).advice


class OnDevice:
    """An array that, as CuPy's, becomes one of NumPy by `get` alone."""

    def __init__(self, array):
        self._array = np.array(array)

    def get(self):
        return self._array

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("is_penalised", [True, False])
def test_attributes_that_cuml_documents_are_enough(n_classes, is_penalised):
    X, y = clouds(n_classes, m=90)
    options = {"C": 2.0, "loss": "hinge", "class_weight": None}
    own = LinearSVC(**options, random_state=0).fit(X, y)
    named = options | {"penalty": "l2", "fit_intercept": True, "penalized_intercept": is_penalised}
    arrays = {name: OnDevice(getattr(own, name)) for name in ("coef_", "intercept_", "classes_")}
    found = margins.certify(type("LinearSVC", (), named | arrays)(), X, y)
    arrays = own.coef_, own.intercept_
    same = margins.certify(arrays, X, y, C=2.0, loss="hinge", penalize_intercept=is_penalised)
    assert found.certificates == same.certificates and found.n_different == same.n_different
    own = SVC(C=2.0).fit(X, y)
    named = dict(C=2.0, class_weight=None, kernel="rbf", gamma="scale", degree=3, coef0=0.0)
    fitted = ("dual_coef_", "intercept_", "classes_", "support_", "support_vectors_", "n_support_")
    arrays = {name: OnDevice(getattr(own, name)) for name in fitted}
    found = margins.certify(type("SVC", (), named | arrays)(), X, y)
    for one, other in zip(found.certificates, margins.certify(own, X, y).certificates, strict=True):
        assert_allclose((one.primal, one.dual), (other.primal, other.dual), rtol=1e-9)


def fitted(model):
    return model.fit(*clouds(2, m=40))


X, Y = clouds(2, m=40)
WRONG = {
    "another class": (LogisticRegression(), {}, TypeError, "Got LogisticRegression"),
    "another problem": (NuSVC(), {}, TypeError, "must be a fitted LinearSVC"),
    "several at once": (LinearSVC(multi_class="crammer_singer"), {}, ValueError, "must be 'ovr'"),
    "another loss": (SGDClassifier(loss="log_loss"), {}, ValueError, "loss of the SGDClassifier"),
    "another penalty": (
        LinearSVC(),
        {"penalty": "l1"},
        ValueError,
        "penalty of certify must be omitted, or 'l2'",
    ),
    "another of ours": (margins.MarginClassifier(), {"penalty": "l1"}, ValueError, "omitted, or 'l2'"),
    "another C": (LinearSVC(C=2.0), {"C": 1}, ValueError, "must be omitted, or 2.0"),
    "alpha of C": (LinearSVC(), {"alpha": 1}, ValueError, "alpha of certify must be omitted"),
    "another loss stated": (SVC(), {"loss": "squared_hinge"}, ValueError, "or 'hinge', which SVC"),
    "arguments of parts": (OneVsRestClassifier(SVC()), {"C": 1}, ValueError, "must be omitted"),
    "a part of the samples": (SGDClassifier(early_stopping=True), {}, ValueError, "early_stopping"),
    "no accuracy": (LinearSVC(), {"accuracy": 0}, ValueError, "accuracy"),
    "no threads": (LinearSVC(), {"n_jobs": 0}, ValueError, "n_jobs of certify must be None"),
    "a useless scaling": (LinearSVC(intercept_scaling=1e70), {}, ValueError, "scaling of certify must"),
}


@pytest.mark.parametrize("case", WRONG)
def test_models_that_have_no_certificate_are_refused(case):
    model, arguments, kind, message = WRONG[case]
    with pytest.raises(kind, match=message):
        margins.certify(fitted(model), X, Y, **arguments)


ARRAYS = np.ones(4), np.zeros(1)
TWO, CHUNKS, OVO = np.column_stack([Y, 1 - Y]), Chunks.of_rows(X, Y, n_rows=20), {"multi_class": "ovo"}


def test_every_fact_of_a_classifier_of_ours_may_be_stated():
    model = fitted(margins.MarginClassifier())
    stated = {"C": 1, "loss": "squared_hinge", "penalty": "l2", "penalize_intercept": True}
    results = (margins.certify(model, X, Y, **arguments) for arguments in ({}, stated))
    assert len({repr(result.certificates) for result in results}) == 1


@pytest.mark.parametrize("arguments", [{"l1_ratio": 0.4}, {"penalty": "l1", "C": np.inf}])
def test_arguments_that_no_samples_allow_are_wrong_parameters(arguments):
    with pytest.raises(WrongParameter, match="of certify must be .* penalty='"):
        margins.certify(ARRAYS, X, Y, **{"C": 1, **arguments})


SAMPLES = {
    "not fitted": (LinearSVC(), X, Y, {}, "must be fitted"),
    "fewer features": (fitted(LinearSVC()), X[:, :3], Y, {}, "3 features"),
    "other classes": (fitted(LinearSVC()), X, Y + 1, {}, r"classes of the model, \[0, 1\]"),
    "three classes": (fitted(LinearSVC()), X, np.arange(40) % 3, {}, "classes of the model"),
    "labels in another order": (fitted(SVC()), X, 1 - Y, {}, "sign of each label"),
    "other samples": (fitted(SVC()), X[:9], Y[:9], {}, "samples that the model was fitted to"),
    "no labels": (fitted(LinearSVC()), X, None, {}, "y of certify must be passed"),
    "neither C nor alpha": (ARRAYS, X, Y, {}, "Exactly one of C and alpha"),
    "both": (ARRAYS, X, Y, {"C": 1, "alpha": 1}, "Exactly one of C and alpha"),
    "a wrong C": (ARRAYS, X, Y, {"C": -1}, "C of certify"),
    "no alpha": (ARRAYS, X, Y, {"alpha": 0}, "alpha of certify"),
    "a text": (ARRAYS, X, Y, {"C": "1"}, "C of certify"),
    "no kernel": (ARRAYS, X, Y, {"C": 1, "gamma": 1}, "gamma of certify must be omitted"),
    "no loss": (ARRAYS, X, Y, {"C": 1, "loss": "x"}, "loss of certify must be one of"),
    "a weight below 0": (
        ARRAYS,
        X,
        Y,
        {"C": 1, "class_weight": {1: -1}},
        r"weight of certify .* \[0, inf\)",
    ),
    "no pairs": (ARRAYS, X, Y, {"C": 1, "multi_class": "ovo"}, "multi_class of certify must be omitted"),
    "no pairs in chunks": (ARRAYS, CHUNKS, None, {"C": 1, **OVO}, "multi_class of certify"),
    "no pairs stated": (fitted(margins.MarginClassifier(**OVO)), X, Y, OVO, "omitted"),
    "not of rbf": (
        (np.ones(40), 0.0),
        X,
        Y,
        {"C": 1, "kernel": "rbf", "degree": 2},
        "degree of certify must be omitted",
    ),
    "several labels": (ARRAYS, X, TWO, {"C": 1}, r"Got shape \(40, 2\)"),
    "several sparse labels": (fitted(LinearSVC()), X, sparse.csr_array(TWO), {}, r"Got shape \(40, 2\)"),
    "NaN in X": (ARRAYS, np.full_like(X, np.nan), Y, {"C": 1}, "Input X contains NaN.$"),
    "no intercept": ((ARRAYS[0], None), X, Y, {"C": 1, "penalize_intercept": True}, "must be omitted"),
    "a longer tuple": ((*ARRAYS, 1), X, Y, {"C": 1}, "tuple of 3"),
    "shape of coef": ((np.ones(5), 0.0), X, Y, {"C": 1}, r"must have shape \(1, 4\)"),
    "shape of intercept": ((np.ones(4), [0.0, 1.0]), X, Y, {"C": 1}, "intercept of certify"),
    "NaN": ((np.full(4, np.nan), 0.0), X, Y, {"C": 1}, "finite numbers"),
    "shape of dual_coef": ((np.ones(9), 0.0), X, Y, {"C": 1, "kernel": "rbf"}, "dual_coef of certify"),
}


@pytest.mark.parametrize("case", SAMPLES)
def test_samples_that_do_not_fit_the_model_are_refused(case):
    model, X, y, arguments, message = SAMPLES[case]
    with pytest.raises(ValueError, match=message):
        margins.certify(model, X, y, **arguments)


def test_columns_in_another_order_are_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = LinearSVC(random_state=0).fit(frame, Y)
    with pytest.raises(ValueError, match="feature names"):
        margins.certify(model, frame[list("bacd")], Y)
    unnamed = LinearSVC(random_state=0).fit(X, Y)
    assert margins.certify(model, frame, Y).certificates == margins.certify(unnamed, X, Y).certificates


def test_warnings_of_the_bound_are_not_warnings_of_the_model(recwarn):
    margins.certify((np.zeros(4), 0.0), X, Y, C=1e9, accuracy=1e-12)
    assert not [w for w in recwarn if issubclass(w.category, ConvergenceWarning)]
