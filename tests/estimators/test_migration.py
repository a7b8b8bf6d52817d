"""What users of scikit-learn's classifiers give first, what they are told instead, and what they see."""

import inspect
import pickle

import pytest
from algorithm_groups import ALGORITHMS
from sklearn.base import clone
from sklearn.svm import LinearSVC

import margins
from margins.estimators.declared import SKLEARN_ADVICE

X, Y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]


@pytest.mark.parametrize("kind", [*ALGORITHMS.values(), margins.MarginClassifierCV])
def test_advice_is_about_parameters_that_an_algorithm_lacks_and_names_those_that_it_has(kind):
    parameters = set(inspect.signature(kind).parameters)
    for old, entries in SKLEARN_ADVICE.items():
        advice = next((entry for entry in entries if entry[0] in ("", *parameters)), None)
        if old in parameters:
            kind(**{old: 1})
        elif advice is None:
            with pytest.raises(TypeError, match="unexpected keyword argument"):
                kind(**{old: 1})
        else:
            with pytest.raises(TypeError, match=f"{kind.__name__} has no parameter '{old}'") as error:
                kind(**{old: 1})
            assert advice[1] in str(error.value)


UNTRUE = [
    ("romma", "n_iter_no_change", "max_iter", "eps"),
    ("pegasos", "n_iter_no_change", "max_iter", "eps"),
    ("romma", "dual", "rules of its paper", "solver is chosen"),
    ("auto", "shrinking", "only solver='dcd' shrinks", "no solver"),
    ("perceptron", "penalty", "2-norm soft margin", "'l2'"),
    ("pa-i", "eta0", "use aggressiveness with radius=1", "use eta"),
    ("pa-ii", "learning_rate", "is 'pa2'", "paper"),
    ("auto", "learning_rate", "no learning rate", "paper"),
    ("auto", "eta0", "no learning rate", "use eta"),
    ("auto", "average", "ends at the optimum", "averaging"),
    ("auto", "shuffle", "order of the samples", "use"),
    ("pegasos", "alpha", "use C=1", "omit"),
    ("pdm", "alpha", "use C=1", "omit"),
    ("perceptron", "alpha", "omit it: a finite C", "n_samples"),
]


@pytest.mark.parametrize(("name", "old", "true", "untrue"), UNTRUE)
def test_advice_is_true_of_the_class_that_gives_it(name, old, true, untrue):
    with pytest.raises(TypeError) as error:
        margins.get(name)(**{old: 1})
    assert true in str(error.value) and untrue not in str(error.value)


def test_unknown_parameters_are_refused_and_classifiers_can_be_copied():
    with pytest.raises(TypeError, match=r"MarginClassifier.*'gama'"):
        margins.MarginClassifier(gama=1)
    classifier = margins.MarginClassifier(C=2.0)
    assert clone(classifier).C == pickle.loads(pickle.dumps(classifier)).C == 2.0
    assert "tol" not in inspect.signature(margins.MarginClassifier).parameters


def test_max_iter_of_minus_1_is_refused_with_advice():
    with pytest.raises(ValueError, match="max_iter of .* Got -1. .* no limit. Omit it"):
        margins.MarginClassifier(max_iter=-1).fit(X, Y)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["pa-i", "pa-ii"])
def test_a_finite_c_of_a_passive_aggressive_algorithm_warns_about_the_C_of_the_paper(name):
    with pytest.warns(UserWarning, match="of the paper, .* is `aggressiveness` with radius=1") as caught:
        margins.get(name)(C=0.01).fit(X, Y)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("params", [{}, {"C": 1.0, "aggressiveness": 0.5}])
def test_no_such_warning_if_the_aggressiveness_is_given(params, recwarn):
    margins.get("pa-i")(**params).fit(X, Y)
    assert not any("aggressiveness" in str(warning.message) for warning in recwarn)


OURS = {"decision_function", "densify", "explain", "fit", "geometric_margin", "partial_fit", "predict"}
OURS |= {"score", "set_callbacks", "sparsify", "to_sklearn"}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_tab_completion_shows_parameters_and_methods_for_users(name):
    classifier = ALGORITHMS[name]()
    shown = {name for name in dir(classifier) if not name.startswith("_")}
    of_scikit_learn = {name for name in dir(LinearSVC()) if not name.startswith("_")}
    allowed = OURS | of_scikit_learn | set(classifier.get_params()) | {"set_partial_fit_request"}
    assert shown <= allowed and {"fit", "predict"} <= shown


def test_class_attributes_of_earlier_names_are_errors_also_in_a_mixin():
    class Mixin:
        WEIGHTS = "updates"

    with pytest.raises(TypeError, match="Old has a class attribute WEIGHTS, .* WEIGHTS_MULTIPLY"):

        class Old(Mixin, ALGORITHMS["perceptron"]):
            """As the perceptron."""
