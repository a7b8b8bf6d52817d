"""Groups of samples: they are never ignored."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold

import margins
from margins.model_selection import parameter_search


@pytest.mark.parametrize("cv", [None, 5])
def test_a_number_of_folds_keeps_groups_together(cv):
    X, y = load_breast_cancer(return_X_y=True)
    X = X / X.max(axis=0)
    groups = (np.arange(len(y)) // 10).astype(str)
    found = margins.MarginClassifierCV(Cs=2, cv=cv).fit(X, y, groups=groups)
    by_splitter = margins.MarginClassifierCV(Cs=2, cv=StratifiedGroupKFold(5))
    assert_array_equal(found.scores_, by_splitter.fit(X, y, groups=groups).scores_)
    without = margins.MarginClassifierCV(Cs=2, cv=cv).fit(X, y)
    assert np.any(without.scores_ != found.scores_)


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
@pytest.mark.parametrize("cv", [StratifiedKFold(3), KFold(3), [(range(9, 99), range(9))]])
def test_folds_that_divide_a_group_are_refused(cv):
    X, y = (part[::5][:99] for part in load_breast_cancer(return_X_y=True))
    groups = np.arange(99) % 40
    match = (
        r"Fold 0 of cv of {} must not train and test on samples of one group, .* Got group \d+ in both"
    )
    with pytest.raises(ValueError, match=match.format("MarginClassifierCV.fit")):
        margins.MarginClassifierCV(Cs=2, cv=cv).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match=match.format("parameter_search")):
        parameter_search(margins.MarginClassifier(), {"C": [1.0]}, X, y, cv=cv, groups=groups)
    for wrong, problem in ((groups[:5], "one label for each"), (groups * 0, "at least 2 groups")):
        with pytest.raises(ValueError, match=f"groups of MarginClassifierCV.fit must .*{problem}"):
            margins.MarginClassifierCV(Cs=2, cv=cv).fit(X, y, groups=wrong)
    alone = [(np.arange(9, 99), np.arange(9))]
    assert margins.MarginClassifierCV(Cs=2, cv=alone).fit(X, y, groups=np.arange(99)).C_ > 0
