"""What users see of a classifier."""

import pytest
from algorithm_groups import ALGORITHMS
from sklearn.svm import LinearSVC

OURS = {"decision_function", "densify", "explain", "fit", "geometric_margin", "partial_fit", "predict"}
OURS |= {"score", "set_callbacks", "sparsify", "to_sklearn"}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_tab_completion_shows_parameters_and_methods_for_users(name):
    classifier = ALGORITHMS[name]()
    shown = {name for name in dir(classifier) if not name.startswith("_")}
    of_scikit_learn = {name for name in dir(LinearSVC()) if not name.startswith("_")}
    allowed = OURS | of_scikit_learn | set(classifier.get_params()) | {"set_partial_fit_request"}
    assert shown <= allowed and {"fit", "predict"} <= shown
