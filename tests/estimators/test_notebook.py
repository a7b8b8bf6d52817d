"""Notebooks show what is proven, below scikit-learn's diagram."""

import numpy as np
import pytest
from problems import clouds
from sklearn import config_context

import margins

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(n_classes=2):
    return clouds(n_classes, m=20 * n_classes, d=3, distance=0)


def test_after_a_fit_the_solver_and_the_certificate_are_shown_once():
    classifier = margins.MarginClassifier().fit(*data())
    certificate = classifier.certificates_[0]
    for text in (classifier._repr_html_(), classifier._repr_mimebundle_()["text/html"]):
        assert text.count('class="margins-certificates"') == 1
        assert f"MarginClassifier, solver <b>{classifier.solver_}</b>: converged" in text
        assert f"{certificate.gap:.3g}" in text and f"{certificate.fraction:.6g}" in text
    with config_context(display="text"):
        assert "text/html" not in classifier._repr_mimebundle_()


def test_every_class_has_a_row_and_labels_are_escaped():
    X, y = data(3)
    y = np.array(["<b>", "b&c", "d"])[y]
    text = margins.MarginClassifier().fit(X, y)._repr_html_()
    assert "&lt;b&gt;" in text and "b&amp;c" in text
    assert text[text.index("margins-certificates") :].count("<tr>") == 4


def test_the_largest_gaps_of_many_classes_are_shown():
    classifier = margins.MarginClassifier().fit(*data(14))
    text = classifier._repr_html_()
    worst = int(np.argmax([certificate.gap for certificate in classifier.certificates_]))
    block = text[text.index("margins-certificates") :]
    assert block.count("<tr>") == 12 and "and 4 with smaller gaps" in block
    assert f">{worst}</td>" in block.split("<tr>")[2]


def test_a_fit_without_a_proof_says_so():
    X = np.array([[1.0], [1.0], [2.0]])
    text = margins.MarginClassifier(C=float("inf"), max_iter=3).fit(X, [0, 1, 1])._repr_html_()
    assert "not converged" in text and "∞" in text


def test_the_display_says_which_margin_it_shows():
    def text(**params):
        return margins.MarginClassifier(**params).fit(*data())._repr_html_()

    assert "count the intercept as one more weight" in text()
    assert "The intercept is free" in text(penalize_intercept=False)
    assert "through the origin" in text(fit_intercept=False)
