"""One-vs-one: the same problems, votes and layouts as SVC's, with a certificate for each pair."""

import math
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut, cross_val_score
from sklearn.multiclass import OneVsOneClassifier
from sklearn.preprocessing import scale
from sklearn.svm import SVC

import margins
from margins.callbacks import EarlyStopping
from margins.data.chunks import Chunks
from margins.interchange import to_sklearn
from margins.model_selection import parameter_search
from margins.persistence import dump, load
from margins.training.schemes import OneVsRest, scheme_of

AS_SVC = {"loss": "hinge", "penalize_intercept": False, "multi_class": "ovo", "max_iter": 100_000}
KERNELS = [{"kernel": "linear"}, {"kernel": "rbf"}, {"kernel": "poly", "coef0": 1.0}]


def data(loader=load_iris):
    X, y = loader(return_X_y=True)
    return scale(X), y


def pairs_of(X, y):
    """The samples of each pair of classes, and which are of the first one."""
    classes = np.unique(y)
    for i, first in enumerate(classes):
        for second in classes[i + 1 :]:
            chosen = (y == first) | (y == second)
            yield X[chosen], y[chosen] == first


# The same model as SVC's.


@pytest.mark.parametrize("params", KERNELS, ids=lambda params: params["kernel"])
@pytest.mark.parametrize(("loader", "storage"), [(load_iris, np.asarray), (load_wine, sparse.csr_array)])
def test_scores_labels_and_coefficients_equal_those_of_svc(params, loader, storage):
    X, y = data(loader)
    X = storage(X)
    ours = margins.MarginClassifier(eps=1e-7, **AS_SVC, **params).fit(X, y)
    svc = SVC(tol=1e-7, **params).fit(X, y)
    assert ours.converged_ and len(ours.certificates_) == 3
    assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=1e-5)
    assert_array_equal(ours.predict(X), svc.predict(X))
    assert_allclose(ours.intercept_, svc.intercept_, atol=1e-5)
    if params["kernel"] == "linear":
        coef = svc.coef_.toarray() if sparse.issparse(svc.coef_) else svc.coef_
        assert_allclose(ours.coef_, coef, atol=1e-5)
        return
    # Of equal rows of X, which have a dual variable in common, a solution has any.
    assert ours.dual_coef_.shape == (2, len(ours.support_))
    assert_allclose(ours.dual_coef_.sum(), svc.dual_coef_.sum(), atol=1e-4)
    assert_allclose(np.abs(ours.dual_coef_).sum(), np.abs(svc.dual_coef_).sum(), rtol=1e-4)
    assert_array_equal(np.bincount(y[ours.support_]), ours.n_support_)


@pytest.mark.parametrize("params", KERNELS[:2], ids=lambda params: params["kernel"])
def test_class_weights_work_as_in_svc(params):
    X, y = data(load_wine)
    X, y = X[20:], y[20:]
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    ours = margins.MarginClassifier(eps=1e-7, class_weight="balanced", **AS_SVC, **params)
    svc = SVC(tol=1e-7, class_weight="balanced", gamma="auto", **params)
    ours.set_params(gamma="auto").fit(X, y)
    assert_allclose(ours.decision_function(X), svc.fit(X, y).decision_function(X), atol=1e-5)
    ours.set_params(class_weight=None).fit(X, y, weight)
    svc.set_params(class_weight=None).fit(X, y, weight)
    assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=1e-4)


# Every pair is a problem with a certificate.


@pytest.mark.parametrize("params", KERNELS, ids=lambda params: params["kernel"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_certificate_of_a_pair_holds_for_its_samples_alone(params, loss):
    X, y = data(load_wine)
    params = {**AS_SVC, **params, "loss": loss, "gamma": 0.1, "eps": 1e-3}
    fit = margins.MarginClassifier(**params).fit(X, y)
    assert fit.pairs_.tolist() == [[0, 1], [0, 2], [1, 2]]
    for certificate, (of_pair, is_first) in zip(fit.certificates_, pairs_of(X, y), strict=True):
        alone = margins.MarginClassifier(**{**params, "eps": 1e-6}).fit(of_pair, is_first)
        [optimum] = alone.certificates_
        assert certificate.dual <= optimum.primal * (1 + 1e-9)
        assert certificate.primal >= optimum.dual * (1 - 1e-9)
        assert certificate.gap < 3e-3


def test_separable_classes_have_a_hard_margin_for_each_pair():
    X, y = data()
    X, y = X[:, 2:], np.where(y == 2, 1, y)
    X, y = np.vstack([X, X[:20] - 9]), np.append(y, [2] * 20)
    fit = margins.MarginClassifier(C=math.inf, multi_class="ovo", penalize_intercept=False, eps=1e-4)
    fit.fit(X, y)
    distances = fit.geometric_margin(X, y)
    assert_allclose(distances, [each.margin for each in fit.certificates_], rtol=1e-3)
    only = y < 2
    assert math.isinf(fit.geometric_margin(X[y == 0], y[y == 0])[2])
    assert_allclose(fit.geometric_margin(X[only], y[only])[0], distances[0])


def test_two_classes_are_one_problem():
    X, y = data()
    X, y = X[50:], y[50:]
    fits = [margins.MarginClassifier(multi_class=each).fit(X, y) for each in ("ovr", "ovo")]
    assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert not hasattr(fits[1], "pairs_")
    assert isinstance(scheme_of("ovo", 2), OneVsRest)


def test_a_fit_that_is_not_proven_names_the_pair():
    X, y = data()
    labels = np.array(["a", "b", "c"])[y]
    classifier = margins.MarginClassifier(C=1e6, eps=1e-6, max_iter=1, solver="dcd", random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        classifier.set_params(multi_class="ovo").fit(X, labels)
    assert "did not converge for classes 'b' and 'c': " in str(caught[-1].message)


def test_support_vectors_of_linear_fits_are_of_all_pairs():
    X, y = data()
    fit = margins.MarginClassifier(eps=1e-6, **AS_SVC).fit(X, y)
    assert fit.dual_coef_.shape == (2, 150)
    sums = np.zeros((3, 4))
    for index, (first, second) in enumerate(fit.pairs_):
        row = np.where(y == first, second - 1, first)
        chosen = np.isin(y, (first, second))
        signed = np.where(y == first, 1, -1) * fit.dual_coef_[row, np.arange(150)] * chosen
        sums[index] = signed @ X
    assert_allclose(sums, fit.coef_, atol=0.05 * np.abs(fit.coef_).max())
    assert set(SVC(kernel="linear", tol=1e-6).fit(X, y).support_) <= set(fit.support_)


# What is made of fits.


@pytest.mark.parametrize("params", KERNELS[:2], ids=lambda params: params["kernel"])
def test_a_selection_of_C_trains_and_scores_pairs(params):
    X, y = data(load_wine)
    Cs, params = [0.01, 1.0, 100.0], {**AS_SVC, **params, "eps": 1e-5, "gamma": 0.1}
    selection = margins.MarginClassifierCV(Cs=Cs, cv=3, **params).fit(X, y)
    for column, C in enumerate(Cs):
        single = cross_val_score(margins.MarginClassifier(C=C, **params), X, y, cv=3)
        assert_allclose(selection.scores_[:, column], single, atol=1e-9)
    assert len(selection.fold_fits_[0][0]) == 3
    assert all(each.converged for fold in selection.fold_fits_ for fits in fold for each in fits)
    assert_array_equal(selection.predict(X), selection.estimator_.predict(X))
    assert_array_equal(selection.decision_function(X), selection.estimator_.decision_function(X))


def test_a_fold_without_a_class_has_the_pairs_of_the_others():
    X, y = data()
    groups = np.where(y == 2, 1, np.arange(len(y)) % 2 * 2)
    selection = margins.MarginClassifierCV(Cs=[1.0], cv=LeaveOneGroupOut(), multi_class="ovo")
    selection.fit(X, y, groups=groups)
    assert sorted(len(fold[0]) for fold in selection.fold_fits_) == [1, 3, 3]


def test_studies_and_paths_fit_pairs():
    X, y = data(load_wine)
    path = margins.svm_path(X, y, [0.1, 1.0], multi_class="ovo", loss="hinge", eps=1e-5)
    for C, classifier in zip((0.1, 1.0), path.classifiers, strict=True):
        single = margins.MarginClassifier(C=C, multi_class="ovo", loss="hinge", eps=1e-5).fit(X, y)
        assert_allclose(classifier.decision_function(X), single.decision_function(X), atol=0.02)
    search = parameter_search(
        margins.MarginClassifier(multi_class="ovo"), {"C": [1e-5, 0.1]}, X, y, cv=3
    )
    grid = GridSearchCV(margins.MarginClassifier(multi_class="ovo"), {"C": [1e-5, 0.1]}, cv=3).fit(X, y)
    assert search.best_params == grid.best_params_


@pytest.mark.parametrize("params", KERNELS, ids=lambda params: params["kernel"])
def test_a_warm_start_begins_from_the_dual_variables_of_pairs(params):
    X, y = data(load_wine)
    fit = margins.MarginClassifier(warm_start=True, eps=1e-4, **AS_SVC, **params).fit(X, y)
    first = fit.n_accesses_
    fit.fit(X, y)
    assert fit.converged_ and fit.n_accesses_ < first
    with pytest.raises(
        ValueError, match="multi_class of .* must be the same as in the last fit.*Got 'ovr'"
    ):
        fit.set_params(multi_class="ovr").fit(X, y)
    fit.set_params(multi_class="ovr", warm_start=False).fit(X, y)
    assert not hasattr(fit, "pairs_")


def test_early_stopping_scores_a_pair_on_its_classes():
    X, y = data()
    classifier = margins.MarginClassifier(multi_class="ovo", solver="dcd", eps=1e-9, random_state=0)
    if not hasattr(classifier, "set_callbacks"):
        pytest.skip("needs the callbacks of scikit-learn 1.9")
    stopping = EarlyStopping(X, y, patience=2)
    with pytest.warns(ConvergenceWarning):
        classifier.set_callbacks(stopping).fit(X, y)
    assert list(stopping.scores_) == [(0, 1), (0, 2), (1, 2)]
    assert stopping.scores_[0, 1][-1] == 1.0


@pytest.mark.parametrize(
    ("params", "storage"), list(zip(KERNELS, [np.asarray, sparse.csr_array, np.asarray], strict=True))
)
def test_pickles_files_and_exports_give_the_same_scores(params, storage, tmp_path):
    X, y = data(load_wine)
    X, labels = storage(X), np.array(["red", "white", "rosé"])[y]
    fit = margins.MarginClassifier(**AS_SVC, **params).fit(X, labels)
    scores = fit.decision_function(X)
    assert_array_equal(pickle.loads(pickle.dumps(fit)).decision_function(X), scores)
    dump(fit, tmp_path / "model.skops")
    assert_array_equal(load(tmp_path / "model.skops").decision_function(X), scores)
    exported = to_sklearn(fit)
    assert isinstance(exported, OneVsOneClassifier if params["kernel"] == "linear" else SVC)
    assert_allclose(exported.decision_function(X), scores, atol=1e-9)
    assert_array_equal(exported.predict(X), fit.predict(X))


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_precomputed_models_are_exported_as_svc_from_any_storage(multi_class, storage):
    X, y = data(load_wine)
    K = X @ X.T
    fit = margins.MarginClassifier(kernel="precomputed", multi_class=multi_class).fit(storage(K), y)
    assert_allclose(to_sklearn(fit).decision_function(K), fit.decision_function(K), atol=1e-8)


def test_chunks_with_one_vs_one_are_an_error():
    X, y = data()
    chunks = Chunks([lambda: (X[::2], y[::2]), lambda: (X[1::2], y[1::2])])
    with pytest.raises(ValueError, match="multi_class of .*'ovr'.* Got 'ovo'"):
        margins.MarginClassifier(multi_class="ovo").fit(chunks)


def test_explain_plans_for_a_pair():
    X, y = data()
    explanation = margins.MarginClassifier(multi_class="ovo").explain(X, y)
    assert explanation.n_problems == 3
    assert "0 or 1" in margins.MarginClassifier(multi_class="ovo").fit(X, y)._repr_html_()


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_pairs_of_few_samples_with_many_features_have_a_proof(loss):
    """Their Gram matrix is read in place of X, which shares no values between pairs."""
    X, y = np.random.default_rng(0).normal(size=(12, 100)), np.arange(12) % 3
    classifier = margins.MarginClassifier(loss=loss, multi_class="ovo").fit(X, y)
    assert classifier.converged_ and len(classifier.certificates_) == 3
    assert (classifier.predict(X) == y).all()
