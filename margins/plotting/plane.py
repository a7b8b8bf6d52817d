from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from margins.plotting.curves import MANY
from margins.plotting.style import BAND, COLOURS, Display, legend, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 200  # of the grid, along each axis


class MarginDisplay(Display):
    """The plane of two features: samples, decision, margin, support vectors, and the proven limit.

    With two classes, the line is where the decision function is 0, and the grey band is the margin. With
    ``C=inf`` the band ends at the closest sample, and the dashed lines are at the upper bound of the
    certificate, which no margin exceeds. Margins are distances in the space of the kernel; a penalised
    intercept counts as one more weight. With a finite C the band ends where the decision function is -1
    and 1, and the title states the proven gap of the objective. With more classes, colours show what is
    predicted, and the title states the largest gap.

    Parameters
    ----------
    estimator : classifier
        Fitted to two features; a pipeline that ends with a classifier is drawn in its original features.
        Classifiers of other libraries have no proven limit.
    X : array or data frame of shape (n_samples, 2)
        The samples of the fit, in its order.
    y : array-like of shape (n_samples,)
        Their labels.

    Attributes
    ----------
    level : float or None
        Decision function at the end of the band; None: the classes are not separated by C = inf, or
        there are more than two.
    limit : float or None
        Decision function at the proven limit, for C = inf.
    support : ndarray of int
        Numbers of the support vectors, in rings if there are two classes; empty if the classifier does
        not state them.

    Raises
    ------
    sklearn.exceptions.NotFittedError, AttributeError
        If the estimator is not a fitted classifier.
    ValueError
        If X does not have two features, y has an unknown label, or X are not the samples of the fit.

    See Also
    --------
    CertificateDisplay : How the margin and its limit meet.

    Examples
    --------
    >>> import margins
    >>> from margins.datasets import make_separable
    >>> from margins.plotting import MarginDisplay
    >>> X, y = make_separable(margin=0.2, random_state=0)
    >>> classifier = margins.MarginClassifier(C=np.inf).fit(X, y)
    >>> MarginDisplay.from_estimator(classifier, X, y).figure_.savefig("plane.png")  # doctest: +SKIP
    """

    def __init__(self, estimator: Any, X: Any, y: ArrayLike) -> None:
        check_is_fitted(estimator)
        name, self.estimator, self.columns = type(self).__name__, estimator, getattr(X, "columns", None)
        self._frame = type(X) if hasattr(X, "iloc") else None
        self.X, self.y = np.asarray(X, dtype=float), np.asarray(y)
        if self.X.ndim != 2 or self.X.shape[1] != 2:
            raise ValueError(f"X of {name} must have two features. Got shape {self.X.shape}.")
        check_consistent_length(self.X, self.y)
        unknown = np.setdiff1d(self.y, estimator.classes_).tolist()
        if unknown:
            raise ValueError(f"y of {name} must hold classes of the estimator. Got {unknown[0]!r}.")
        model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        self.support = np.asarray(getattr(model, "support_", ()), dtype=int)
        if self.support.max(initial=-1) >= len(self.X):
            least = f"the samples of the fit, at least {self.support.max() + 1}"
            raise ValueError(f"X of {name} must be {least}. Got {len(self.X)} samples.")
        self.certificates = getattr(model, "certificates_", [])
        self.level: float | None = None
        self.limit: float | None = None
        if len(estimator.classes_) > 2 or hasattr(model, "votes_"):  # votes are no distances
            return
        if np.isfinite(getattr(model, "C_", getattr(model, "C", np.inf))):
            self.level = 1.0
            return
        signs = np.where(self.y == estimator.classes_[1], 1, -1)
        closest = float((signs * self._of(estimator.decision_function, self.X)).min())
        if closest > 0:
            self.level = closest
            if self.certificates and self.certificates[0].fraction > 0:
                self.limit = closest / self.certificates[0].fraction

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, *, ax: "Axes | None" = None) -> Self:
        """Draw a fitted classifier, and return the display.

        Parameters and errors are as for the class; `ax` has the axes to draw on, new ones by default.
        """
        return cls(estimator, X, y).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw, and return the display."""
        ax, classes = self._axes(ax, size=(6.4, 4.8)), self.estimator.classes_
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        widths = np.where(high > low, high - low, 1.0)
        xs, ys = np.linspace(low - 0.1 * widths, high + 0.1 * widths, POINTS).T
        points = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
        if len(classes) == 2:
            scores = self._of(self.estimator.decision_function, points).reshape(POINTS, POINTS)
            self._draw_lines(ax, xs, ys, scores)
        else:
            from matplotlib.colors import to_rgba_array

            codes = np.searchsorted(classes, self._of(self.estimator.predict, points))
            picture = to_rgba_array(COLOURS, BAND)[codes.reshape(POINTS, POINTS) % len(COLOURS)]
            ax.imshow(picture, extent=(*xs[[0, -1]], *ys[[0, -1]]), origin="lower", zorder=0)
        for code, label in enumerate(classes):
            looks = look(code) | {"linestyle": "", "markersize": 4, "label": label}
            ax.plot(*self.X[self.y == label].T, **looks)
        if len(classes) == 2 and len(self.support):
            ring: dict[str, Any] = {"color": "0.5", "fillstyle": "none", "markersize": 7}
            ax.plot(*self.X[self.support].T, "o", label="support vectors", **ring)
        gaps = [certificate.gap for certificate in self.certificates]
        if self.limit is None and gaps and np.isfinite(max(gaps)):
            ax.set_title(f"objective proven within {100 * max(gaps):.2g} % of the optimum")
        if self.columns is not None:
            ax.set(xlabel=self.columns[0], ylabel=self.columns[1])
        is_square = widths.max() < 3 * widths.min()  # otherwise features may have different units
        ax.set(xlim=xs[[0, -1]], ylim=ys[[0, -1]], aspect="equal" if is_square else "auto")
        if len(classes) <= MANY:
            legend(ax, most_inside=0)
        return self

    def _draw_lines(self, ax: "Axes", xs: Any, ys: Any, scores: Any) -> None:
        """Draw where the decision function is 0, the band of the margin, and its proven limit."""
        band, limit = "decision function in [-1, 1]", "_"
        if self.limit is not None:
            band = f"margin {self.certificates[0].margin:.3g}"
            limit = f"no margin exceeds {self.certificates[0].upper_bound:.3g}"
        if self.level is not None:
            ax.contourf(xs, ys, scores, [-self.level, self.level], colors="0.5", alpha=BAND)
            ax.fill_between([], [], color="0.5", alpha=BAND, label=band)
        for level, style, label in ((0.0, "-", "_"), (self.limit, "--", limit)):
            # Matplotlib warns of levels without a line.
            drawn = [] if level is None else sorted({-level, level})
            drawn = [value for value in drawn if scores.min() < value < scores.max()]
            if drawn:
                ax.contour(xs, ys, scores, drawn, colors="0.5", linewidths=1.2, linestyles=style)
                ax.plot([], [], style, color="0.5", linewidth=1.2, label=label)

    def _of(self, function: Any, points: NDArray[np.float64]) -> NDArray[Any]:
        """Return what a function of the estimator says of points, which have the names of the fit."""
        named = points if self._frame is None else self._frame(points, columns=self.columns)
        return np.asarray(function(named))
