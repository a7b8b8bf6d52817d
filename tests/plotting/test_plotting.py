"""Pictures: what is drawn is what was found, and is said in labels and legends."""

import math
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from sklearn.datasets import load_iris
from sklearn.linear_model import Perceptron

import margins
from margins.datasets.generators import make_noisy_halfspace
from margins.model_selection import Stages, compare, double_cross_validation, parameter_search
from margins.plotting import CertificateDisplay, ComparisonDisplay, EpochsDisplay, LandscapeDisplay
from margins.plotting.curves import EPOCHS
from margins.plotting.landscape import Places
from margins.plotting.style import COLOURS, look, metric_label, scale_for

TAUS = [0, 0.125, 0.5, 2]
BOUNDS = [math.inf, 20, 5]


@pytest.fixture(scope="module")
def noisy():
    return make_noisy_halfspace(5, noise=0.1, n_samples=90, random_state=0)


@pytest.fixture(scope="module")
def pam():
    return margins.get("pam")(tau=0.0, max_iter=5)


@pytest.fixture(scope="module")
def search(pam, noisy):
    return parameter_search(pam, {"tau": TAUS}, *noisy, cv=4, random_state=0)


@pytest.fixture(scope="module")
def grid_search(pam, noisy):
    grid = {"tau": TAUS, "alpha_bound": BOUNDS}
    return parameter_search(pam, grid, *noisy, cv=3, random_state=0)


@pytest.fixture(scope="module")
def double(pam, noisy):
    return double_cross_validation(pam, {"tau": TAUS}, *noisy, outer=3, inner=3, random_state=0)


@pytest.fixture(scope="module")
def pdm():
    X, y = make_noisy_halfspace(5, margin=0.5, n_samples=60, random_state=0)
    return margins.get("pdm")(eps=0.001, C=math.inf).fit(X, y)


@pytest.fixture(scope="module")
def three_classes(pam):
    return margins.get("pam")(max_iter=7).fit(*load_iris(return_X_y=True))


def legend_of(display):
    """Texts of the legend."""
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def ticks_of(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def drawn(display):
    """Have the figure drawn, as saving does: warnings are errors."""
    display.figure_.canvas.draw()
    return display


def test_without_matplotlib_the_error_says_what_to_install(search, pdm, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    draw = {
        "LandscapeDisplay": lambda: LandscapeDisplay.from_study(search),
        "ComparisonDisplay": lambda: ComparisonDisplay.from_studies([search, search]),
        "EpochsDisplay": lambda: EpochsDisplay.from_estimator(pdm),
        "CertificateDisplay": lambda: CertificateDisplay.from_estimator(pdm),
    }
    for name, call in draw.items():
        message = f"plot of {name} needs matplotlib, which is not installed: pip install matplotlib"
        with pytest.raises(ImportError, match=message):
            call()


def test_epochs_come_from_the_learning_curve(pdm):
    (curve,) = pdm.learning_curve_
    for quantity in ("mistakes", "updates"):
        display = drawn(EpochsDisplay.from_estimator(pdm, quantity=quantity))
        (line,) = display.lines_
        assert line.get_xdata().tolist() == [each.epoch for each in curve]
        assert line.get_ydata().tolist() == [getattr(each, quantity) for each in curve]
        assert display.ax_.get_xlabel() == "epoch" and display.ax_.get_ylabel() == EPOCHS[quantity]
        assert legend_of(display) == ["pdm (DynamicMarginPerceptron)"]


def test_each_class_and_each_estimator_has_its_line(three_classes, pdm):
    display = drawn(EpochsDisplay.from_estimator(three_classes))
    assert legend_of(display) == ["class 0", "class 1", "class 2"]
    for line, curve in zip(display.lines_, three_classes.learning_curve_, strict=True):
        assert line.get_ydata().tolist() == [each.mistakes for each in curve]
    display = EpochsDisplay.from_estimator(pdm, three_classes, pdm)
    kind = "pdm (DynamicMarginPerceptron)"
    middle = [f"pam (PerceptronWithMargin), class {label}" for label in range(3)]
    assert legend_of(display) == [f"{kind} 1", *middle, f"{kind} 2"]
    assert legend_of(EpochsDisplay.from_estimator(pdm, pdm, names=["a", "b"])) == ["a", "b"]


def test_many_curves_share_a_look_and_one_entry_of_the_legend():
    names = [f"class {number}" for number in range(30)]
    values = [np.array([3, 1]) for _ in names]
    display = drawn(EpochsDisplay([np.array([1, 2]) for _ in names], values, names).plot())
    assert legend_of(display) == ["30 problems"] and len(display.lines_) == 30
    assert len({line.get_color() for line in display.lines_}) == 1


@pytest.mark.parametrize("accesses", [[1, 10**7], [10, 125_000, 180_000], [3_000_000, 3_500_000], [569]])
def test_large_counts_are_short_and_do_not_collide(accesses):
    values = [np.linspace(1, 2, len(accesses))]
    display = drawn(CertificateDisplay([np.array(accesses)], values, None, ["pdm"]).plot())
    renderer = display.figure_.canvas.get_renderer()
    labels = [label for label in display.ax_.get_xticklabels() if label.get_text()]
    assert labels and all(len(label.get_text()) <= 6 for label in labels)
    boxes = sorted((label.get_window_extent(renderer) for label in labels), key=lambda box: box.x0)
    assert all(left.x1 < right.x0 for left, right in zip(boxes, boxes[1:], strict=False))


def test_certificates_come_from_the_learning_curve(pdm):
    certified = [each for each in pdm.learning_curve_[0] if each.certificate is not None]
    display = drawn(CertificateDisplay.from_estimator(pdm, names=["pdm"]))
    low, high = display.lines_
    assert low.get_xdata().tolist() == [each.accesses for each in certified]
    assert certified[-1].accesses == pdm.n_accesses_
    margins_ = [each.certificate.margin for each in certified]
    kept = [margin if margin > 0 else math.nan for margin in margins_]
    np.testing.assert_array_equal(low.get_ydata(), kept)
    bounds = [each.certificate.upper_bound for each in certified]
    np.testing.assert_array_equal(high.get_ydata(), bounds)
    assert legend_of(display) == ["pdm"]
    assert display.ax_.get_xlabel() == "accesses of a sample"
    assert display.ax_.get_ylabel() == "margin (hollow: its upper bound)"
    assert low.get_color() == high.get_color() and low.get_linestyle() != high.get_linestyle()


@pytest.mark.parametrize("settings", [{}, {"kernel": "rbf"}, {"solver": "newton", "max_time": 60}])
def test_a_problem_solved_at_once_is_a_point_at_its_accesses_in_plain_view(noisy, settings):
    classifier = margins.MarginClassifier(**settings).fit(*noisy)
    display = drawn(CertificateDisplay.from_estimator(classifier))
    (low, high), ((x0, x1), (y0, y1)) = display.lines_, (display.ax_.get_xlim(), display.ax_.get_ylim())
    assert low.get_xdata()[-1] == classifier.n_accesses_ and x0 <= 0 < classifier.n_accesses_ < x1
    assert y1 - y0 > 0.08 * y1 and y0 < low.get_ydata()[-1] <= high.get_ydata()[-1] < y1
    display = drawn(EpochsDisplay.from_estimator(classifier))
    assert all("." not in label and "m" not in label for label in ticks_of(display.ax_.xaxis))


def test_gaps_are_drawn_alone():
    X, y = make_noisy_halfspace(5, noise=0.1, n_samples=60, random_state=0)
    mpu = margins.get("mpu")(eps=0.01, C=0.01).fit(X, y)
    display = drawn(CertificateDisplay.from_estimator(mpu, quantity="gap"))
    (line,) = display.lines_
    assert line.get_ydata()[-1] == mpu.learning_curve_[0][-1].certificate.gap
    assert "gap" in display.ax_.get_ylabel() and display.high is None


def test_estimators_that_cannot_be_drawn_are_rejected(three_classes, pam):
    with pytest.raises(ValueError, match="must have certificates in learning_curve_. Got none for 'cl"):
        CertificateDisplay.from_estimator(three_classes)
    for kind in (CertificateDisplay, EpochsDisplay):
        with pytest.raises(AttributeError, match=rf"estimator of {kind.__name__} must be a fitted"):
            kind.from_estimator(Perceptron())
        with pytest.raises(ValueError, match="quantity of .* must be one of .* Got 'x'"):
            kind.from_estimator(three_classes, quantity="x")
        with pytest.raises(ValueError, match="needs at least 1 estimator. Got none"):
            kind.from_estimator()
        with pytest.raises(ValueError, match="must be 1 distinct names, one for each estimator. Got"):
            kind.from_estimator(three_classes, names=["a", "b"])


def test_inactive_values_have_their_own_place():
    tau = Places("tau", [0.5, 0, 2, 0.125, 0])
    assert tau.values == [0, 0.125, 0.5, 2]
    assert tau.inactive == [True, False, False, False]
    assert tau.places.tolist() == pytest.approx([-3 - 1.6 * 2, -3, -1, 1])
    assert [tau.label(index) for index in range(4)] == ["0\n(off)", "0.125", "0.5", "2"]
    assert tau.runs() == [slice(0, 1), slice(1, 4)]
    assert tau.borders() == pytest.approx([-4.6])
    bound = Places("alpha_bound", BOUNDS)
    assert bound.values == [5, 20, math.inf] and bound.label(2) == "∞\n(off)"
    assert bound.places[2] - bound.places[1] == pytest.approx(1.6 * 2)


def test_values_without_a_logarithm_stand_at_equal_distances():
    assert Places("averaging", ["last", "voted", "last"]).values == ["last", "voted"]
    assert Places("averaging", ["last", "voted"]).places.tolist() == [0, 1]
    assert Places("shift", [1, -1]).places.tolist() == [0, 1]
    assert Places("shuffle", [True, False]).label(0) == "True"
    only = Places("C", [math.inf])
    assert only.places.tolist() == [0] and only.borders() == []


def test_a_line_goes_through_the_means_of_a_search(search):
    display = drawn(LandscapeDisplay.from_study(search))
    means = search.tables[0].mean_scores()
    ((off, on),) = display.lines_
    assert off.get_ydata().tolist() == [means[0]] and on.get_ydata().tolist() == means[1:].tolist()
    assert on.get_xdata().tolist() == [-3, -1, 1]
    assert ticks_of(display.ax_.xaxis) == ["0\n(off)", "0.125", "0.5", "2"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("tau", "accuracy (share)")
    assert legend_of(display) == ["mean", "95 % corrected interval", "best mean"]
    (star,) = [each for each in display.ax_.collections if each.get_label() == "best mean"]
    ((place, score),) = star.get_offsets()
    assert score == search.tables[0].best_score
    assert display.x.values[display.x.places.tolist().index(place)] == search.best_params["tau"]


def test_tables_of_outer_folds_are_averaged(double):
    display = drawn(LandscapeDisplay.from_study(double))
    means = np.array([table.mean_scores() for table in double.tables])
    np.testing.assert_array_equal(display.scores[0], means.mean(axis=0))
    np.testing.assert_array_equal(display.low[0], means.min(axis=0))
    np.testing.assert_array_equal(display.high[0], means.max(axis=0))
    assert "smallest to largest of the outer folds" in legend_of(display)
    assert "chosen most often" in legend_of(display)


def test_two_parameters_with_numbers_make_a_map(grid_search):
    display = drawn(LandscapeDisplay.from_study(grid_search, x="tau"))
    table = grid_search.tables[0]
    assert display.mesh_.get_array().shape == (len(BOUNDS), len(TAUS))
    for setting, score in zip(table.settings, table.mean_scores(), strict=True):
        row = display.y.values.index(setting["alpha_bound"])
        assert display.scores[row, display.x.values.index(setting["tau"])] == score
    assert ticks_of(display.ax_.yaxis) == ["5", "20", "∞\n(off)"]
    assert display.ax_.get_ylabel() == "alpha_bound"
    assert display.colorbar_.ax.get_ylabel() == "mean accuracy (share)"
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == [f"{score:#.3g}" for score in display.scores.flat]
    borders = [line for line in display.ax_.lines if line.get_linestyle() == ":"]
    assert sorted(line.get_xdata()[0] for line in borders) == [0, 0.5]  # across, and down behind 0
    assert display.mesh_.get_cmap().name == "cividis"


def test_a_star_marks_a_setting_that_is_better_than_all_others(search, grid_search, pam, noisy):
    assert LandscapeDisplay.from_study(search).best is not None
    tied = LandscapeDisplay.from_study(grid_search)  # alpha_bound has no effect
    assert tied.best is None and tied.ax_.get_legend() is None
    assert list(tied.ax_.collections) == [tied.mesh_]
    settings = {"tau": [0, 0.5], "alpha_bound": [1, 50]}
    best = LandscapeDisplay.from_study(parameter_search(pam, settings, *noisy, cv=3, random_state=1))
    assert (best.scores == best.scores[best.best]).sum() == 1 and legend_of(best) == ["best mean"]
    twice = double_cross_validation(pam, {"tau": TAUS}, *noisy, outer=2, inner=2, random_state=3)
    assert [share for _, share in twice.selection_frequencies] == [0.5, 0.5]
    assert LandscapeDisplay.from_study(twice).best is None


def test_many_values_are_written_upwards(pam, noisy):
    study = parameter_search(pam, {"tau": np.logspace(-3, 3, 12)}, *noisy, cv=2, random_state=0)
    display = drawn(LandscapeDisplay.from_study(study))
    assert {label.get_rotation() for label in display.ax_.get_xticklabels()} == {90}
    assert ticks_of(display.ax_.xaxis)[1] == "0.003511"


def test_names_make_lines(pam, noisy):
    grid = {"tau": TAUS, "averaging": ["last", "voted"]}
    study = parameter_search(pam, grid, *noisy, cv=3, random_state=0)
    display = drawn(LandscapeDisplay.from_study(study))
    assert display.x.name == "tau" and len(display.lines_) == 2
    names = ["averaging = last", "averaging = voted"]
    assert legend_of(display) == [*names, "95 % corrected interval", "best mean"]
    bars = [each for each in display.ax_.collections if hasattr(each, "get_segments")]
    ends = [segment[:, 1].tolist() for each in bars for segment in each.get_segments()]
    assert len(ends) == 8  # one for each setting
    assert sorted(ends) == sorted(np.stack([display.low, display.high], axis=-1).reshape(-1, 2).tolist())
    first, second = (pieces[0] for pieces in display.lines_)
    assert first.get_color() != second.get_color() and first.get_marker() != second.get_marker()


def test_of_settings_at_one_place_the_best_is_drawn(pam, noisy):
    grid = {"tau": TAUS, "alpha_bound": BOUNDS, "averaging": ["last", "voted"]}
    study = parameter_search(pam, grid, *noisy, cv=3, random_state=0)
    display = LandscapeDisplay.from_study(study, x="tau")
    table = study.tables[0]
    means = dict.fromkeys(TAUS, 0)
    for setting, score in zip(table.settings, table.mean_scores(), strict=True):
        means[setting["tau"]] = max(means[setting["tau"]], score)
    assert display.scores.tolist() == [list(means.values())]


def test_a_stage_is_drawn_alone(pam, noisy):
    stages = Stages({"tau": TAUS}, {"alpha_bound": BOUNDS})
    study = double_cross_validation(pam, stages, *noisy, outer=3, inner=3, random_state=0)
    assert LandscapeDisplay.from_study(study).x.name == "alpha_bound"
    first = drawn(LandscapeDisplay.from_study(study, stage=0))
    assert first.x.name == "tau" and first.best is None


def test_a_study_that_has_no_landscape_is_rejected(search, pam, noisy):
    with pytest.raises(ValueError, match="x of LandscapeDisplay must be .* one of 'tau'. Got 'lam'"):
        LandscapeDisplay.from_study(search, x="lam")
    with pytest.raises(ValueError, match="kind of LandscapeDisplay must be .* Got 'map'"):
        LandscapeDisplay.from_study(search, kind="map")
    alone = parameter_search(pam, {}, *noisy, cv=3, random_state=0)
    with pytest.raises(ValueError, match="must vary a parameter. Got only one setting"):
        LandscapeDisplay.from_study(alone)


@pytest.fixture(scope="module")
def pair(double, noisy):
    voted = margins.get("voted-perceptron")(max_iter=5)
    other = double_cross_validation(voted, {"tau": TAUS}, *noisy, outer=3, inner=3, random_state=0)
    return {"last": double, "voted": other}


@pytest.mark.parametrize("interval", ["t", "corrected"])
def test_studies_stand_with_their_intervals(pair, interval):
    display = drawn(ComparisonDisplay.from_studies(pair, interval=interval))
    line, _, (bars,) = display.errorbar_.lines
    assert line.get_xdata().tolist() == [study.mean() for study in pair.values()]
    name = "interval" if interval == "t" else "corrected_interval"
    for segment, study in zip(bars.get_segments(), pair.values(), strict=True):
        assert segment[:, 0].tolist() == pytest.approx(list(getattr(study, name)()))
    assert ticks_of(display.ax_.yaxis) == ["last", "voted"]
    assert display.ax_.get_xlabel() == "accuracy (share)"
    word = "T" if interval == "t" else "corrected"
    assert legend_of(display) == [f"mean and 95 % {word} interval"]
    low, high = display.ax_.get_ylim()
    assert low > high  # the first is on top


def test_differences_come_from_compare(pair):
    comparison = compare(pair, confidence=0.9)
    display = drawn(ComparisonDisplay.from_studies(comparison, kind="differences"))
    (difference,) = comparison.differences
    line, _, (bars,) = display.errorbar_.lines
    assert line.get_xdata().tolist() == [difference.mean]
    assert bars.get_segments()[0][:, 0].tolist() == pytest.approx(list(difference.corrected_interval))
    assert ticks_of(display.ax_.yaxis) == ["last - voted"]
    assert display.ax_.get_xlabel() == "difference in accuracy (share)"
    assert legend_of(display) == ["mean and 90 % corrected interval"]


def test_comparisons_reject_unknown_options(pair):
    with pytest.raises(ValueError, match="kind of ComparisonDisplay must be one of .* Got 'ratios'"):
        ComparisonDisplay.from_studies(pair, kind="ratios")
    with pytest.raises(ValueError, match="interval of ComparisonDisplay must be one of .* Got 'z'"):
        ComparisonDisplay.from_studies(pair, interval="z")


def test_axes_may_be_given(search, pdm, pair):
    figure, axes = plt.subplots(2, 2)
    displays = [
        LandscapeDisplay.from_study(search, ax=axes[0, 0], linewidth=3),
        ComparisonDisplay.from_studies(pair, ax=axes[0, 1]),
        EpochsDisplay.from_estimator(pdm, ax=axes[1, 0], color="black"),
        CertificateDisplay.from_estimator(pdm, ax=axes[1, 1]),
    ]
    for display, ax in zip(displays, axes.flat, strict=True):
        assert display.ax_ is ax and display.figure_ is figure
    assert displays[0].lines_[0][0].get_linewidth() == 3
    assert displays[2].lines_[0].get_color() == "black"
    before = len(plt.get_fignums())
    again = displays[0].plot()
    assert again is displays[0] and again.figure_ is not figure
    assert len(plt.get_fignums()) == before + 1


def test_lines_differ_by_more_than_colour():
    looks = [tuple(look(index).values()) for index in range(21)]
    assert len(set(looks)) == 21
    assert len({(marker, dash) for _, marker, dash in looks}) == 21  # also in black and white
    assert {to_hex(colour) for colour in COLOURS} == {colour.lower() for colour in COLOURS}


def test_scales_and_units():
    assert scale_for([np.array([1, 100])], 100) == "log"
    assert scale_for([np.array([1, 99])], 100) == "linear"
    assert scale_for([np.array([0, 100])], 100) == "linear"
    assert scale_for([np.array([np.nan])], 10) == "linear"
    assert metric_label("accuracy") == "accuracy (share)"
    assert metric_label("neg_log_loss") == "neg_log_loss"
