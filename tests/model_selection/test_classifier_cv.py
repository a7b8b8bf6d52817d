"""MarginClassifierCV: the scores of fits to each fold, the C that they select, and their proofs."""

import linecache
import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import few_tumours, irises
from scikit_learn_checks import EQUIVALENCE, assert_passes_scikit_learn
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss, make_scorer, recall_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import margins
from margins.data.chunks import Chunks
from margins.losses import Hinge
from margins.model_selection import parameter_search
from margins.model_selection.scoring import Scoring
from margins.training.along_c import AlongC

CS = [200.0, 0.01, 1.0]
SETTINGS = [
    {},
    {"loss": "hinge"},
    {"solver": "conjugate"},
    {"class_weight": "balanced"},
    {"penalize_intercept": False},
    {"loss": "hinge", "penalize_intercept": False},
    {"kernel": "rbf", "gamma": 0.5},
    {"kernel": "rbf", "gamma": 0.5, "loss": "hinge", "class_weight": "balanced"},
    {"kernel": "poly", "gamma": 0.2, "loss": "hinge", "penalize_intercept": False},
]
IDS = ["-".join(map(str, params.values())) or "default" for params in SETTINGS]


each_data = pytest.mark.parametrize("load", [few_tumours, irises])


def assert_same_optimum(fits, alone):
    for fit, other in zip(fits, alone.certificates_, strict=True):
        assert fit.certificate.dual <= other.primal * (1 + 1e-9)
        assert other.dual <= fit.certificate.primal * (1 + 1e-9)


@pytest.mark.parametrize(
    ("load", "params"),
    [((few_tumours, irises)[k % 2], params) for k, params in enumerate(SETTINGS)] + [(irises, {})],
    ids=[*IDS, "three classes"],
)
def test_scores_and_certificates_match_fits_to_each_fold(load, params):
    X, y = load()
    params = {"eps": 1e-4, "random_state": 0} | params
    found = margins.MarginClassifierCV(Cs=CS, cv=3, **params).fit(X, y)
    assert found.scores_.shape == (3, 3) and found.Cs_.tolist() == CS
    for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        for i, C in enumerate(CS):
            alone = margins.MarginClassifier(C=C, **params).fit(X[train], y[train])
            score = alone.score(X[test], y[test])
            assert abs(found.scores_[fold, i] - score) <= 1.01 / len(test)  # up to eps
            fits = found.fold_fits_[fold][i]
            assert all(fit.converged and fit.certificate.gap <= 2.1e-4 for fit in fits)
            assert_same_optimum(fits, alone)
    best = CS[int(np.argmax(found.scores_.mean(axis=0)))]
    assert best == found.C_ == found.estimator_.C
    refitted = margins.MarginClassifier(C=best, **params).fit(X, y)
    assert_array_equal(found.predict(X), refitted.predict(X))
    assert_array_equal(found.decision_function(X), refitted.decision_function(X))
    assert found.certificates_ == refitted.certificates_
    assert found.get_params().keys() >= params.keys() and "C" not in found.get_params()


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, np.float32, np.asfortranarray])
def test_the_layout_of_X_does_not_matter(make):
    X, y = few_tumours()
    X = np.float32(X).astype(float)
    expected = margins.MarginClassifierCV(Cs=4, cv=4, random_state=0).fit(X, y)
    found = margins.MarginClassifierCV(Cs=4, cv=4, random_state=0).fit(make(X), y)
    assert_allclose(found.scores_, expected.scores_, atol=2 / 60)
    assert found.C_ in expected.Cs_


def test_samples_of_many_features_share_a_gram_matrix():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2000)), np.arange(40) % 2
    X[:, 0] += 3 * y
    found = margins.MarginClassifierCV(Cs=3, cv=4, eps=1e-3, random_state=0).fit(X, y)
    for fold, (train, test) in enumerate(StratifiedKFold(4).split(X, y)):
        for i, C in enumerate(found.Cs_):
            alone = margins.MarginClassifier(C=C, eps=1e-3, random_state=0).fit(X[train], y[train])
            assert found.scores_[fold, i] == pytest.approx(alone.score(X[test], y[test]), abs=0.11)
            assert_same_optimum(found.fold_fits_[fold][i], alone)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    "scoring",
    ["roc_auc", "balanced_accuracy", make_scorer(recall_score, pos_label="malign"), "callable"],
)
def test_any_metric_scores_the_test_sets(scoring, kernel):
    X, y = few_tumours()

    def support(estimator, X, y):  # it needs more than scores
        assert estimator.converged_ and len(estimator.predict(X)) == len(y)
        return float(estimator.C == 1.0) + 0.1 * estimator.score(X, y)

    scoring = support if scoring == "callable" else scoring
    params = {"eps": 1e-4, "kernel": kernel, "gamma": 0.5, "random_state": 0}
    found = margins.MarginClassifierCV(Cs=CS, cv=3, scoring=scoring, **params).fit(X, y)
    grid = {"C": CS}
    search = GridSearchCV(margins.MarginClassifier(**params), grid, scoring=scoring, cv=3).fit(X, y)
    assert_allclose(found.scores_.mean(axis=0), search.cv_results_["mean_test_score"], atol=0.01)
    assert search.best_params_["C"] == found.C_


def test_metrics_and_splitters_see_the_columns_of_data_frames():
    pandas, (X, y) = pytest.importorskip("pandas"), few_tumours()
    frame = pandas.DataFrame(X).add_prefix("f")

    class Sizes(StratifiedKFold):
        def split(self, X, y=None, groups=None):
            return super().split(X, X["f0"] > X["f0"].median(), groups)

    def small(estimator, X, y):
        return float(estimator.score(X[X["f0"] < 0.5], y[X["f0"] < 0.5]))

    found = margins.MarginClassifierCV(Cs=CS, cv=Sizes(3), scoring=small, eps=1e-4).fit(frame, y)
    search = GridSearchCV(margins.MarginClassifier(eps=1e-4), {"C": CS}, cv=Sizes(3), scoring=small)
    expected = search.fit(frame, y).cv_results_["mean_test_score"]
    assert_allclose(found.scores_.mean(axis=0), expected, atol=0.01)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_folds_may_overlap_repeat_and_leave_out_samples(kernel):
    X, y = few_tumours()
    folds = [([*range(0, 200, 2), 4, 4], range(1, 100, 2)), (np.arange(250) > 20, np.arange(20))]
    params = {"eps": 1e-4, "kernel": kernel, "gamma": 0.5, "random_state": 0}
    found = margins.MarginClassifierCV(Cs=CS, cv=folds, **params).fit(X, y)
    for fold, (train, test) in enumerate(folds):
        train, test = np.arange(250)[np.asarray(train)], np.asarray(test)
        alone = margins.MarginClassifier(C=CS[0], **params).fit(X[train], y[train])
        assert_same_optimum(found.fold_fits_[fold][0], alone)
        assert found.scores_[fold, 0] == pytest.approx(alone.score(X[test], y[test]), abs=0.03)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weights_of_0_leave_samples_out_of_every_fold(kernel):
    X, y = few_tumours()
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))
    params = {"eps": 1e-4, "kernel": kernel, "gamma": 0.5, "random_state": 0}
    found = margins.MarginClassifierCV(Cs=CS, cv=3, **params).fit(X, y, weight)
    for fold, (train, _) in enumerate(StratifiedKFold(3).split(X, y)):
        alone = margins.MarginClassifier(C=1.0, **params).fit(X[train], y[train], weight[train])
        assert_same_optimum(found.fold_fits_[fold][CS.index(1.0)], alone)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_class_that_a_fold_lacks_is_not_trained_there(kernel):
    X, y = irises()
    train = np.flatnonzero(y != 2)
    folds = [(train, np.arange(0, 150, 3)), (np.arange(0, 150, 2), np.arange(1, 150, 2))]
    found = margins.MarginClassifierCV(Cs=[1.0], cv=folds, kernel=kernel, eps=1e-4, gamma=0.5).fit(X, y)
    assert [len(fold[0]) for fold in found.fold_fits_] == [1, 3]
    alone = margins.MarginClassifier(eps=1e-4, kernel=kernel, gamma=0.5).fit(X[train], y[train])
    assert found.scores_[0, 0] == pytest.approx(alone.score(X[::3], y[::3]), abs=0.03)


@each_data
def test_results_do_not_depend_on_threads(load):
    X, y = load()
    one, two = (
        margins.MarginClassifierCV(Cs=4, cv=3, n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (1, 2)
    )
    assert_array_equal(one.scores_, two.scores_)
    assert one.fold_fits_ == two.fold_fits_ and one.certificates_ == two.certificates_


def test_no_row_is_copied_for_a_fold(monkeypatch):
    X, y = few_tumours()
    X = sparse.csr_matrix(X)

    def refuse(self, *_):
        raise AssertionError("rows were copied")

    monkeypatch.setattr(sparse.csr_matrix, "__getitem__", refuse)
    margins.MarginClassifierCV(Cs=3, cv=3, refit=False).fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_precomputed_kernel_matrix_is_split_by_rows_and_columns(loss):
    X, y = few_tumours()
    params = {"loss": loss, "eps": 1e-4, "kernel": "precomputed", "random_state": 0}
    K = X @ X.T
    found = margins.MarginClassifierCV(Cs=CS, cv=3, **params).fit(K, y)
    search = GridSearchCV(margins.MarginClassifier(**params), {"C": CS}, cv=3).fit(K, y)
    assert_allclose(found.scores_.mean(axis=0), search.cv_results_["mean_test_score"], atol=0.01)


def test_losses_of_plug_ins_need_a_linear_kernel():
    class Own(Hinge):
        name = "own"

    X, y = few_tumours()
    found = margins.MarginClassifierCV(Cs=[1.0], cv=3, loss=Own).fit(X, y)
    assert all(problem.converged for fold in found.fold_fits_ for [problem] in fold)
    with pytest.raises(ValueError, match="must be 'squared_hinge' or 'hinge' with a kernel other than"):
        margins.MarginClassifierCV(Cs=[1.0], cv=3, loss=Own, kernel="rbf").fit(X, y)


def test_without_refit_C_is_selected_and_nothing_predicts():
    X, y = few_tumours()
    classifier = margins.MarginClassifierCV(Cs=2, cv=3).fit(X, y)
    assert hasattr(classifier, "coef_")
    classifier.set_params(refit=False).fit(X, y)
    assert classifier.C_ in classifier.Cs_
    assert not hasattr(classifier, "coef_") and not hasattr(classifier, "estimator_")
    for predict in (classifier.predict, classifier.decision_function, lambda X: classifier.score(X, y)):
        with pytest.raises(NotFittedError, match="needs a fit with refit=True to predict"):
            predict(X)


@pytest.mark.parametrize("in_memory", [True, False])
def test_one_warning_names_folds_and_the_refit_at_the_line_of_the_caller(in_memory):
    X, y = few_tumours()
    classifier = margins.MarginClassifierCV(Cs=[1e3], cv=3, loss="hinge", max_iter=1, eps=1e-9)
    with pytest.warns() as caught:
        classifier.fit(*((X, y) if in_memory else (Chunks.of_rows(X, y, n_rows=200),)))
    assert [each.category for each in caught] == [ConvergenceWarning]
    message = (
        r"did not converge in 3 fits of folds: .*, with \d.* % of the possible improvement over a "
        r"constant classifier, in fold \d.* MarginClassifier did not converge: "
    )
    assert re.search(message, str(caught[0].message))
    assert caught[0].filename == __file__
    assert "classifier.fit" in linecache.getline(__file__, caught[0].lineno)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"Cs": []}, "Cs of MarginClassifierCV"),
        ({"cv": 1}, "cv of MarginClassifierCV must be None, an integer >= 2"),
        ({"cv": "all"}, "cv of MarginClassifierCV must be None, an integer >= 2"),
        ({"cv": [1]}, "Fold 0 of cv of MarginClassifierCV.fit must be a pair"),
        ({"scoring": ["accuracy"]}, "scoring of MarginClassifierCV must be None, the name of a metric"),
        ({"scoring": {"a": "accuracy"}}, "scoring of MarginClassifierCV must be None, the name"),
        ({"class_weight": {7: 1}}, "class_weight of MarginClassifierCV.fit must name classes of y"),
        ({"scoring": "acuracy"}, "scoring of MarginClassifierCV.fit must be"),
        ({"eps": 2}, "eps of MarginClassifierCV must be in"),
        ({"refit": "yes"}, "refit of MarginClassifierCV must be"),
    ],
)
def test_bad_parameters_are_errors(params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        margins.MarginClassifierCV(**params).fit(*few_tumours())


def without_training(monkeypatch):
    def train(*arguments):
        raise AssertionError("trained")

    monkeypatch.setattr(AlongC, "train", train)


@pytest.mark.parametrize(
    "scoring", ["neg_log_loss", "roc_auc_ovr", make_scorer(log_loss, response_method="predict_proba")]
)
def test_metrics_of_probabilities_are_rejected_before_training(monkeypatch, scoring):
    without_training(monkeypatch)
    message = "scoring of MarginClassifierCV.fit must be a metric of predicted labels or"
    with pytest.raises(ValueError, match=message) as caught:
        margins.MarginClassifierCV(scoring=scoring).fit(*few_tumours())
    assert "Decided" not in str(caught.value) and "predict_proba" in str(caught.value)
    with pytest.raises(ValueError, match="scoring of parameter_search must be a metric of predicted"):
        parameter_search(margins.get("pam")(), {}, *few_tumours(), scoring=scoring)


def test_metrics_that_do_not_suit_the_labels_are_rejected_before_training(monkeypatch):
    without_training(monkeypatch)
    X, y = few_tumours()
    for scoring, labels in (("f1", y), ("roc_auc", np.arange(len(y)) % 3)):
        with pytest.raises(ValueError, match=f"scoring of MarginClassifierCV.fit .* Got '{scoring}': "):
            margins.MarginClassifierCV(scoring=scoring).fit(X, labels)


def test_the_check_of_metrics_takes_no_memory_for_many_classes():
    Scoring("f1_macro", None, "study").check(margins.MarginClassifier(), np.arange(400_000), "study")


def test_the_metric_of_a_user_is_only_computed_for_predicted_labels():
    def metric(y, predicted):
        calls.append(len(y))
        return np.mean(y == predicted)

    for response in ("predict", "decision_function"):
        calls = []
        scoring = make_scorer(metric, response_method=response)
        X, y = irises() if response == "predict" else few_tumours()
        margins.MarginClassifierCV(Cs=[0.01, 1], scoring=scoring, cv=2, refit=False).fit(X, y)
        assert len(calls) == 4 and max(calls) < len(y)


@pytest.mark.parametrize("refit", [True, False])
def test_weights_outside_of_training_sets_are_checked_before_training(monkeypatch, refit):
    without_training(monkeypatch)
    X, y = few_tumours()
    weight = np.ones(len(y))
    weight[-1] = -1
    folds = [(np.arange(200), np.arange(200, 250))]
    classifier = margins.MarginClassifierCV(Cs=2, cv=folds, refit=refit)
    message = f"sample_weight of MarginClassifierCV.fit must be in .* Got -1.0 for sample {len(y) - 1}"
    with pytest.raises(ValueError, match=message):
        classifier.fit(X, y, weight)
    weight[-1], weight[:200] = 1.0, y[:200] == y[0]
    with pytest.raises(ValueError, match=r"At least 2 classes of MarginClassifierCV.fit must"):
        classifier.fit(X, y, weight)


@pytest.mark.parametrize("C", [1e-320, 1e300])
def test_penalties_out_of_range_are_found_before_training(monkeypatch, C):
    without_training(monkeypatch)
    with pytest.raises(ValueError, match="C of MarginClassifierCV, times the weight of a sample, must"):
        margins.MarginClassifierCV(Cs=[1, C]).fit(*few_tumours())
    with pytest.raises(ValueError, match="times the weight of a sample, must be in"):
        margins.svm_path(*few_tumours(), Cs=[1, C])


def test_a_metric_that_gives_no_number_is_an_error():
    with warnings.catch_warnings(), pytest.raises(ValueError, match="Got nan for every C"):
        warnings.simplefilter("ignore")
        scoring = lambda estimator, X, y: np.nan  # noqa: E731
        margins.MarginClassifierCV(Cs=2, cv=3, scoring=scoring).fit(*few_tumours())


TO_ACCURACY = "Objectives agree to eps; the check wants 1e-7 of coefficients."


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"Cs": 2}, ()),
        pytest.param({"Cs": [0.5, 5], "kernel": "rbf"}, EQUIVALENCE, marks=pytest.mark.slow),
    ],
)
def test_scikit_learn_contract(params, expected):
    classifier = margins.MarginClassifierCV(cv=2, random_state=0, max_iter=100, **params)
    assert_passes_scikit_learn(classifier, dict.fromkeys(expected, TO_ACCURACY))


@pytest.mark.parametrize("intercept", [{}, {"penalize_intercept": False}])
def test_several_l1_ratios_are_searches_with_one_each(intercept):
    X, y = few_tumours()
    ratios, params = [0.5, 0, 0.95], {"penalty": "elasticnet", "Cs": [0.1, 0.01], "cv": 3} | intercept
    search = margins.MarginClassifierCV(l1_ratio=ratios, calibration="sigmoid", **params).fit(X, y)
    for index, ratio in enumerate(ratios):
        one = margins.MarginClassifierCV(l1_ratio=ratio, calibration="sigmoid", **params).fit(X, y)
        alone, [fit] = one.fold_fits_[2][1][0], search.fold_fits_[2][index][1]
        assert one.l1_ratio_ == ratio and fit.certificate.gap < 0.021
        assert_allclose(fit.certificate.primal, alone.certificate.primal, rtol=1e-6)
        assert_array_equal(search.scores_[:, index], one.scores_)
        if ratio == search.l1_ratio_:
            assert_allclose(search.predict_proba(X), one.predict_proba(X), atol=1e-6)
    best = search.scores_.mean(axis=0)[ratios.index(search.l1_ratio_), params["Cs"].index(search.C_)]
    assert best == search.scores_.mean(axis=0).max()
    assert search.estimator_.l1_ratio == search.l1_ratio_


def test_a_fit_that_proves_nothing_names_its_l1_ratio():
    search = margins.MarginClassifierCV(
        Cs=[1.0], l1_ratio=[0.5, 0.9], penalty="elasticnet", eps=1e-15, max_iter=1
    )
    with pytest.warns(ConvergenceWarning, match=r"in \d+ fits of folds: .* l1_ratio=0.[59], C=1\."):
        search.fit(*few_tumours())


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"l1_ratio": []}, "l1_ratio of MarginClassifierCV.fit must be a number in [0, 1], or an array"),
        ({"l1_ratio": [0.5, 2]}, "array of at least one. Got [0.5, 2]."),
        ({"l1_ratio": "0.5"}, "l1_ratio of MarginClassifierCV must be None or in [0, 1]. Got '0.5'."),
        ({"l1_ratio": [0.5, 0.9], "penalty": "l1"}, "must be None unless penalty='elasticnet'. Got 0.9"),
        (
            {"l1_ratio": [0, 0.9], "cv": "loo"},
            "penalty of MarginClassifierCV.fit must be 'l2'. Got 'ela",
        ),
    ],
)
def test_wrong_l1_ratios_are_errors(params, message):
    with pytest.raises(ValueError) as error:
        margins.MarginClassifierCV(**{"penalty": "elasticnet"} | params).fit(*few_tumours())
    assert message in str(error.value)
