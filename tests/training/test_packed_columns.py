"""Wide sparse samples: features that no sample has take no part in a fit, and have the weight 0."""

import numpy as np
import pytest
from scipy import sparse

import margins

D = 1 << 17


@pytest.fixture(scope="module")
def hashed():
    """Samples whose few features are anywhere among many, the same without gaps, and the features."""
    generator = np.random.default_rng(0)
    used = np.sort(generator.choice(D, 200, replace=False))
    narrow = sparse.random(300, 200, density=0.1, format="csr", random_state=0)
    wide = sparse.csr_matrix((narrow.data, used[narrow.indices], narrow.indptr), shape=(300, D))
    labels = np.digitize(narrow @ generator.standard_normal(200), [-0.5, 0.5])
    return wide, narrow, used, labels


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"loss": "hinge", "eps": 1e-4},
        {"penalize_intercept": False, "multi_class": "ovo"},
        {"solver": "dcd", "fit_intercept": False},
    ],
)
def test_a_fit_is_that_of_the_features_that_occur(hashed, n_classes, parameters):
    wide, narrow, used, labels = hashed
    y = np.minimum(labels, n_classes - 1)
    weights = np.where(y == 0, 0.0, 1.0) if n_classes == 3 else None  # a class without samples
    classifier = margins.MarginClassifier(random_state=0, **parameters)
    expected = margins.MarginClassifier(random_state=0, **parameters).fit(narrow, y, weights)
    classifier.fit(wide, y, weights)
    assert classifier.coef_.shape[1] == classifier.n_features_in_ == D
    np.testing.assert_array_equal(classifier.coef_[:, used], expected.coef_)
    assert np.count_nonzero(classifier.coef_) == np.count_nonzero(expected.coef_)
    np.testing.assert_array_equal(classifier.decision_function(wide), expected.decision_function(narrow))
    assert classifier.certificates_ == expected.certificates_


def test_folds_paths_and_certificates_of_wide_samples(hashed):
    wide, narrow, used, labels = hashed
    search = [
        margins.MarginClassifierCV(Cs=3, cv=3, random_state=0).fit(X, labels) for X in (wide, narrow)
    ]
    np.testing.assert_array_equal(search[0].coef_[:, used], search[1].coef_)
    np.testing.assert_array_equal(search[0].scores_, search[1].scores_)
    paths = [margins.svm_path(X, labels == 0, Cs=3, random_state=0) for X in (wide, narrow)]
    np.testing.assert_array_equal(paths[0].coefs[..., used], paths[1].coefs)
    certificates = margins.certify(search[0].estimator_, wide, labels).certificates
    assert max(certificate.gap for certificate in certificates) < 0.1
    left_out = [
        margins.leave_one_out(margins.MarginClassifier(random_state=0), X, labels == 0)
        for X in (wide, narrow)
    ]
    np.testing.assert_allclose(left_out[0].scores, left_out[1].scores, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_samples_without_any_feature_and_arrays_that_are_too_long(hashed, multi_class):
    nothing = sparse.csr_matrix((4, D))
    classifier = margins.MarginClassifier(fit_intercept=False, multi_class=multi_class)
    assert not classifier.fit(nothing, [0, 1, 2, 1]).coef_.any() and classifier.converged_
    wide, _, _, labels = hashed
    expected = margins.MarginClassifier(random_state=0).fit(wide, labels)
    longer = wide.copy()  # SciPy allows what follows the last row
    longer.data = np.append(wide.data, 1.0)
    longer.indices = np.append(wide.indices, D + 7).astype(wide.indices.dtype)
    found = margins.MarginClassifier(random_state=0).fit(longer, labels)
    np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_hooks_and_explanations_see_the_features_of_X(hashed):
    wide, _, used, labels = hashed
    seen = []

    class Watched(margins.MarginClassifier):
        """A classifier that looks at its features."""

        def centre(self, X):
            seen.append(X.shape[1])
            return super().centre(X)

    Watched().fit(wide, labels)
    assert seen == [D]
    np.testing.assert_array_equal(margins.MarginClassifier().training_set(wide, labels).columns, used)
    assert margins.MarginClassifier().explain(wide, labels).n_features == D
