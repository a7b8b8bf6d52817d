"""Curves: updates and mistakes against epochs, bounds against accesses, and coefficients against C."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.names import display_name
from margins.estimators.path import SVMPath
from margins.parameters import Interval, OneOf, check
from margins.plotting.style import COLOURS, GRID, Display, legend, look, scale_for
from margins.training.schemes import fitted_scheme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.lines import Line2D

    from margins.solvers.driver import Epoch

EPOCHS = {
    "mistakes": "samples misclassified\nor moved together in the epoch",
    "updates": "updates since the start",
}
CERTIFICATES = {
    "margin": "margin (hollow: its upper bound)",
    "gap": "relative duality gap, primal / dual - 1",
}
MANY = 20  # with more curves, all have the same colour and share one name


class _Curves(Display):
    """Lines of several fits or binary problems, with a legend."""

    labels: list[str]
    lines_: "list[Line2D]"

    def _looks(self, index: int) -> dict[str, Any]:
        """Return the looks of a curve; more than `MANY` curves are thin and share one label."""
        n_curves = len(self.labels)
        if n_curves <= MANY:
            return look(index) | {"markersize": 4, "label": self.labels[index]}
        label = "_" if index else f"{n_curves} problems"  # matplotlib omits names with _
        looks = {"linewidth": 0.7, "alpha": 0.5, "marker": ".", "markersize": 3, "label": label}
        return {"color": COLOURS[0]} | looks


@dataclass(eq=False, repr=False)
class EpochsDisplay(_Curves):
    """Updates or mistakes of fits against epochs.

    Parameters
    ----------
    epochs : list of ndarray of int64, shape (n_epochs,)
        Epochs from 1, for each binary problem.
    values : list of ndarray of int64, shape (n_epochs,)
        Values of the quantity, for each binary problem.
    labels : list of str
    quantity : str
        "mistakes": misclassified samples in the epoch; of an epoch that changes many samples at once,
        as a Newton step, their number. "updates": updates since the start.

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D

    See Also
    --------
    CertificateDisplay : The bounds of each epoch.

    Examples
    --------
    >>> from margins.plotting import EpochsDisplay
    >>> display = EpochsDisplay([np.array([1, 2])], [np.array([5, 3])], ["pam"])
    >>> display.plot().figure_.savefig("epochs.png")  # doctest: +SKIP
    """

    epochs: list[NDArray[np.int64]]
    values: list[NDArray[np.int64]]
    labels: list[str]
    quantity: Literal["mistakes", "updates"] = "mistakes"

    @classmethod
    def from_estimator(
        cls,
        *estimators: BaseMarginClassifier,
        quantity: Literal["mistakes", "updates"] = "mistakes",
        names: Sequence[str] | None = None,
        ax: "Axes | None" = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the learning curves of fitted classifiers, and return the display.

        Parameters
        ----------
        *estimators : classifier of margins
            Fitted. With more than two classes, each class has a separate line.
        quantity : str
            "mistakes" or "updates".
        names : list of str, optional
            Names of the estimators. Default: their registered names and classes.
        ax : matplotlib.axes.Axes, optional
        **line_kw
            Keywords of ``Axes.plot``.

        Raises
        ------
        ValueError
            If `quantity` is not allowed, or there is no estimator.
        AttributeError
            If an estimator has no `learning_curve_`.
        """
        check("quantity", "EpochsDisplay", quantity, OneOf(*EPOCHS))
        curves = named_curves(cls.__name__, estimators, names)
        epochs = [np.array([record.epoch for record in curve]) for curve in curves.values()]
        values = [np.array([getattr(record, quantity) for record in curve]) for curve in curves.values()]
        return cls(epochs, values, list(curves), quantity).plot(ax, **line_kw)

    def plot(self, ax: "Axes | None" = None, **line_kw: Any) -> Self:
        """Draw, and return the display."""
        ax, self.lines_ = self._axes(ax), []
        for index, (epochs, values) in enumerate(zip(self.epochs, self.values, strict=True)):
            often = {"markevery": len(epochs) // 20} if len(epochs) > 40 else {}
            self.lines_ += ax.plot(epochs, values, **self._looks(index) | often | line_kw)
        ax.set(xlabel="epoch", ylabel=EPOCHS[self.quantity])
        if self.quantity == "updates" and scale_for(self.values, 100) == "log":
            ax.set_yscale("log")
        else:
            ax.set_ylim(bottom=0)
        count_on(ax.xaxis)
        count_on(ax.yaxis)
        ax.grid(**GRID)
        legend(ax)
        return self


@dataclass(eq=False, repr=False)
class CertificateDisplay(_Curves):
    """Progress of certificates: margin and upper bound, or duality gap, against the work.

    Work is counted in accesses of a sample, which all solvers make; `n_accesses_` counts them, too. A
    problem that was solved at once has a single certificate, and so a single point.

    Parameters
    ----------
    accesses : list of ndarray of int64, shape (n_certificates,)
        Accesses before each certificate, for each binary problem.
    low : list of ndarray of float64, shape (n_certificates,)
        Margins achieved, or gaps.
    high : list of ndarray of float64, shape (n_certificates,), or None
        Upper bounds of the margin.
    labels : list of str
    quantity : str
        "margin" or "gap".

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        For "margin", two lines for each problem, the margin first.

    Notes
    -----
    Bounds and gaps that are not finite, and negative margins of hypotheses that do not separate the
    classes, are not drawn. The axis of margins is linear if they differ little.

    See Also
    --------
    EpochsDisplay : Mistakes and updates of each epoch.

    Examples
    --------
    >>> import margins
    >>> from margins.plotting import CertificateDisplay
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = margins.get("mpu")(C=1, eps=0.1).fit(X / X.max(axis=0), y)
    >>> display = CertificateDisplay.from_estimator(classifier, quantity="gap")  # doctest: +SKIP
    """

    accesses: list[NDArray[np.int64]]
    low: list[NDArray[np.float64]]
    high: list[NDArray[np.float64]] | None
    labels: list[str]
    quantity: Literal["margin", "gap"] = "margin"

    @classmethod
    def from_estimator(
        cls,
        *estimators: BaseMarginClassifier,
        quantity: Literal["margin", "gap"] = "margin",
        names: Sequence[str] | None = None,
        ax: "Axes | None" = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the certificates in the learning curves of fitted classifiers, and return the display.

        Parameters and errors are as for `EpochsDisplay.from_estimator`, but `quantity` is "margin"
        (margin and upper bound) or "gap" (the relative duality gap), and an estimator without
        certificates of epochs, as of an algorithm without a parameter `eps`, raises a ValueError, too.
        """
        check("quantity", "CertificateDisplay", quantity, OneOf(*CERTIFICATES))
        accesses, low, high = [], [], []
        curves = named_curves(cls.__name__, estimators, names)
        for name, curve in curves.items():
            certified = [(epoch, epoch.certificate) for epoch in curve if epoch.certificate is not None]
            if not certified:
                raise ValueError(
                    f"estimators of {cls.__name__} must have certificates in learning_curve_. "
                    f"Got none for {name!r}. Use EpochsDisplay for it."
                )
            accesses.append(np.array([epoch.accesses for epoch, _ in certified]))
            low.append(np.array([getattr(certificate, quantity) for _, certificate in certified]))
            high.append(np.array([certificate.upper_bound for _, certificate in certified]))
        bounds = high if quantity == "margin" else None
        return cls(accesses, low, bounds, list(curves), quantity).plot(ax, **line_kw)

    def plot(self, ax: "Axes | None" = None, **line_kw: Any) -> Self:
        """Draw, and return the display."""
        ax, self.lines_ = self._axes(ax), []
        for index, (accesses, low) in enumerate(zip(self.accesses, self.low, strict=True)):
            looks = self._looks(index) | {"linestyle": "-"}
            self.lines_ += ax.plot(accesses, _drawable(low), **looks | line_kw)
            if self.high is not None:
                looks |= {"linestyle": "--", "fillstyle": "none", "label": "_"}
                self.lines_ += ax.plot(accesses, _drawable(self.high[index]), **looks | line_kw)
        drawn = [line.get_ydata() for line in self.lines_]
        ax.set(xscale=scale_for(self.accesses, 10), xlabel="accesses of a sample")
        ax.set(yscale="log" if self.high is None else scale_for(drawn, 10))
        if ax.get_xscale() == "linear":
            ax.update_datalim([(0, 0)], updatey=False)
        if ax.get_yscale() == "linear":  # or bounds that agree would fill the axis
            ax.update_datalim([(0, 0.9 * ax.dataLim.y1)], updatex=False)
        ax.autoscale_view()
        count_on(ax.xaxis)
        ax.set_ylabel(CERTIFICATES[self.quantity])
        ax.grid(**GRID)
        legend(ax)
        return self


@dataclass(eq=False, repr=False)
class CoefficientPathDisplay(Display):
    """A regularisation path: the coefficients of the features against C.

    Parameters
    ----------
    Cs : ndarray of float64, shape (n_cs,)
    coefs : ndarray of float64, shape (n_cs, n_features)
        Coefficients of one binary problem.
    names : list of str, length n_features
        Names of the features.
    shown : list of int
        Features with a colour and an entry in the legend; the other features are grey.
    chosen : float, optional
        A value of C to mark.

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        One line for each feature, in their order.

    See Also
    --------
    margins.svm_path : Computes a path.
    LandscapeDisplay : Scores against parameters.

    Examples
    --------
    >>> import margins
    >>> from margins.plotting import CoefficientPathDisplay
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = margins.svm_path(X / X.max(axis=0), y, Cs=20)
    >>> display = CoefficientPathDisplay.from_path(path, chosen=1)  # doctest: +SKIP
    """

    Cs: NDArray[np.float64]
    coefs: NDArray[np.float64]
    names: list[str]
    shown: list[int]
    chosen: float | None = None
    lines_: "list[Line2D]" = field(init=False)

    @classmethod
    def from_path(
        cls,
        path: SVMPath,
        *,
        label: Any = None,
        names: Sequence[str] | None = None,
        n_shown: int = 6,
        chosen: float | None = None,
        ax: "Axes | None" = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the coefficients of a path, and return the display.

        Parameters
        ----------
        path : SVMPath
            A path with the linear kernel.
        label : object, optional
            The class whose coefficients are drawn, if there are more than two; None: the first.
        names : list of str, optional
            Names of the features. Default: the names in the data frame, or indices.
        n_shown : int, default=6
            Number of features in the legend, those with the largest coefficients on the path.
        chosen : float, optional
            A value of C to mark, such as ``C_`` of ``MarginClassifierCV``.
        ax : matplotlib.axes.Axes, optional
        **line_kw
            Keywords of ``Axes.plot``.

        Raises
        ------
        ValueError
            If the path has no coefficients, because of a kernel, if it has several `l1_ratio` or no
            such class, or if the number of names differs from the number of features.
        """
        check("n_shown", cls.__name__, n_shown, Interval(0, np.inf, "left", integer=True))
        fitted = path.classifiers[0]
        if not hasattr(fitted, "coef_"):
            raise ValueError(f"path of {cls.__name__} must have the linear kernel. Got {path!r}.")
        if path.l1_ratios is not None:
            raise ValueError(f"path of {cls.__name__} must have one l1_ratio. Got {path!r}.")
        labels = path.classes.tolist()
        if label is not None and label not in labels:
            raise ValueError(
                f"label of {cls.__name__} must be one of the classes, {labels}. Got {label!r}."
            )
        problem = 0 if label is None or len(labels) == 2 else labels.index(label)
        coefs = path.coefs[:, problem]
        n_features = coefs.shape[1]
        if names is None:
            names = [str(name) for name in getattr(fitted, "feature_names_in_", range(n_features))]
        if len(names) != n_features:
            raise ValueError(
                f"names of {cls.__name__} must be {n_features} names, one for each feature. "
                f"Got {len(names)}."
            )
        largest = np.argsort(-np.max(np.abs(coefs), axis=0), kind="stable")
        shown = sorted(largest[:n_shown].tolist())
        order = np.argsort(path.Cs, kind="stable")
        display = cls(path.Cs[order], coefs[order], list(names), shown, chosen)
        return display.plot(ax, **line_kw)

    def plot(self, ax: "Axes | None" = None, **line_kw: Any) -> Self:
        """Draw, and return the display."""
        ax, self.lines_ = self._axes(ax), []
        for feature, coefs in enumerate(self.coefs.T):
            looks: dict[str, Any] = {"color": "0.5", "alpha": 0.5, "linewidth": 0.7, "zorder": 1}
            if feature in self.shown:
                looks = look(self.shown.index(feature)) | {"markersize": 4, "label": self.names[feature]}
            self.lines_ += ax.plot(self.Cs, coefs, **looks | line_kw)
        if self.chosen is not None:
            ax.axvline(self.chosen, color="0.5", linestyle=":", label=f"C = {self.chosen:g}")
        ax.set(xscale="log", xlabel="C", ylabel="coefficient (per unit of the feature)")
        if scale_for([np.abs(self.coefs).max(axis=1)], 100) == "log":
            # Linear up to the median, so that the largest C does not flatten the rest of the path.
            ax.set_yscale("symlog", linthresh=float(np.median(np.abs(self.coefs).max(axis=1))))
        ax.grid(**GRID)
        if self.shown or self.chosen is not None:
            legend(ax, "features" if self.shown else None)
        return self


def _drawable(values: ArrayLike) -> NDArray[np.float64]:
    """Return the values, with nan for values that are not positive and finite."""
    values = np.asarray(values, dtype=float)
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def named_curves(
    caller: str, estimators: Sequence[BaseMarginClassifier], names: Sequence[str] | None
) -> "dict[str, list[Epoch]]":
    """Return learning curves by the labels of their lines: dict of list of Epoch."""
    if not estimators:
        raise ValueError(f"{caller} needs at least 1 estimator. Got none.")
    names = list(names) if names is not None else _names(estimators)
    if len(set(names)) != len(estimators):
        raise ValueError(
            f"names of {caller} must be {len(estimators)} distinct names, one for each estimator. "
            f"Got {names!r}."
        )
    curves: dict[str, list[Epoch]] = {}
    for name, estimator in zip(names, estimators, strict=True):
        if not hasattr(estimator, "learning_curve_"):
            raise AttributeError(
                f"estimator of {caller} must be a fitted classifier of margins with learning_curve_. "
                f"Got {estimator!r}."
            )
        problems = estimator.learning_curve_
        for problem, curve in zip(_problems(estimator), problems, strict=True):
            full_name = f"{name}, {problem}" if len(estimators) > 1 else problem
            curves[name if len(problems) == 1 else full_name] = curve
    return curves


def _problems(estimator: BaseMarginClassifier) -> list[str]:
    """Return names of the binary problems."""
    return [
        f"classes {label[0]} and {label[1]}" if isinstance(label, tuple) else f"class {label}"
        for label in fitted_scheme(estimator).labels(estimator.classes_)
    ]


def _names(estimators: Sequence[object]) -> list[str]:
    """Return the registered names and classes of estimators, numbered if they are not distinct."""
    kinds = [display_name(estimator) for estimator in estimators]
    return [
        kind if kinds.count(kind) == 1 else f"{kind} {kinds[:index].count(kind) + 1}"
        for index, kind in enumerate(kinds)
    ]


def count_on(axis: "Axis") -> None:
    """Label an axis of counts with few ticks at whole numbers, and with k and M for large numbers."""
    from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter

    if axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
    else:
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,), numticks=8))
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(EngFormatter(sep=""))
