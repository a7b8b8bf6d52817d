"""The plane of two features: margins, support vectors and limits are where the fit has them."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import margins
from margins.datasets import make_noisy_ring, make_separable
from margins.plotting import MarginDisplay

BAND = "decision function in [-1, 1]"


def legend_of(display):
    display.figure_.canvas.draw()  # warnings are errors
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def rings_of(display):
    """Samples in rings: ndarray of shape (n, 2)."""
    rings = [dots for dots in display.ax_.lines if dots.get_label() == "support vectors"]
    return rings[0].get_xydata() if rings else np.empty((0, 2))


@pytest.mark.parametrize("name", ["pdm-succ", "pam", "auto"])
def test_band_and_limit_are_as_wide_as_the_certificate_says(name):
    X, y = make_separable(margin=0.3, random_state=0)
    classifier = margins.get(name)(C=np.inf, fit_intercept=False, random_state=0).fit(X, y)
    display = MarginDisplay.from_estimator(classifier, X, y)
    (certificate,), length = classifier.certificates_, np.linalg.norm(classifier.coef_)
    assert display.level / length == pytest.approx(certificate.margin)
    assert display.limit / length == pytest.approx(certificate.upper_bound)
    texts = legend_of(display)
    bound = f"no margin exceeds {certificate.upper_bound:.3g}"
    assert texts[:2] == [f"margin {certificate.margin:.3g}", bound]
    levels = [lines.levels.tolist() for lines in display.ax_.collections if hasattr(lines, "levels")]
    assert levels == [[-display.level, display.level], [0], [-display.limit, display.limit]]
    assert display.plot().ax_ is not display.from_estimator(classifier, X, y).ax_


def test_a_soft_margin_states_its_gap_and_its_support_vectors():
    X, y = make_noisy_ring(random_state=0)
    classifier = margins.MarginClassifier(loss="hinge", kernel="rbf", gamma=1).fit(X, y)
    display = MarginDisplay.from_estimator(classifier, X, y)
    assert (display.level, display.limit) == (1, None)
    assert legend_of(display) == [BAND, "-1", "1", "support vectors"]
    np.testing.assert_array_equal(rings_of(display), X[classifier.support_])
    gap = classifier.certificates_[0].gap
    assert display.ax_.get_title() == f"objective proven within {100 * gap:.2g} % of the optimum"
    other = MarginDisplay.from_estimator(SVC(gamma=1).fit(X, y), X, y)
    assert legend_of(other)[0] == BAND and other.ax_.get_title() == ""


def test_classes_that_are_not_separated_have_no_band():
    X, y = make_noisy_ring(random_state=0)
    voted = margins.get("voted-perceptron")(C=np.inf).fit(*make_separable(random_state=0))
    hard = margins.get("pam")(C=np.inf, max_iter=2).fit(X, y)
    for display in MarginDisplay(hard, X, y), MarginDisplay(voted, *make_separable(random_state=0)):
        assert display.level is None and display.limit is None
        assert legend_of(display.plot())[:2] == ["-1", "1"]


def test_a_pipeline_is_drawn_in_the_columns_of_its_frame():
    pandas = pytest.importorskip("pandas")
    X, y = make_blobs(80, centers=[[0, 0], [1, 20]], random_state=0)
    frame = pandas.DataFrame(X, columns=["length", "width"])
    model = make_pipeline(StandardScaler(), margins.MarginClassifier(C=1)).fit(frame, y)
    display = MarginDisplay.from_estimator(model, frame, y)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length", "width")
    np.testing.assert_array_equal(rings_of(display), X[model[-1].support_])
    assert display.ax_.get_aspect() == "auto" and len(legend_of(display)) == 4


@pytest.mark.parametrize("n_classes", [3, 30])
def test_colours_show_the_classes_that_are_predicted(n_classes):
    X, y = make_blobs(10 * n_classes, centers=n_classes, random_state=0)
    classifier = margins.MarginClassifier(C=1).fit(X, y)
    display = MarginDisplay.from_estimator(classifier, X, y)
    (image,) = display.ax_.images
    left, right, bottom, top = image.get_extent()
    picture = image.get_array()
    n = len(picture)
    corners = classifier.predict([[left, bottom], [right, top]])
    for pixel, code in zip((picture[0, 0], picture[n - 1, n - 1]), corners, strict=True):
        assert to_hex(pixel) == display.ax_.lines[code].get_color().lower()
    assert len(rings_of(display)) == 0
    assert (display.ax_.get_legend() is None) == (n_classes == 30)
    largest = max(certificate.gap for certificate in classifier.certificates_)
    assert f"{100 * largest:.2g} %" in display.ax_.get_title()


def test_what_cannot_be_drawn_is_an_error():
    X, y = make_separable(random_state=0)
    classifier = margins.MarginClassifier(C=1).fit(X, y)
    for arguments, error, message in (
        ((margins.MarginClassifier(), X, y), NotFittedError, "not fitted"),
        ((classifier, X[:, :1], y), ValueError, r"X .* must have two features. Got shape \(100, 1\)"),
        ((classifier, X, y + 1), ValueError, "y of MarginDisplay must hold classes .* Got 0"),
        ((classifier, X[:2], y[:2]), ValueError, "must be the samples of the fit, at least .* Got 2"),
        ((classifier, X, y[:2]), ValueError, "inconsistent numbers"),
    ):
        with pytest.raises(error, match=message):
            MarginDisplay.from_estimator(*arguments)
