"""Proven bounds of certificates against updates."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margins.parameters import OneOf, check
from margins.plotting.epochs import Fitted, named_curves
from margins.plotting.style import (
    GRID,
    Display,
    count_on,
    labels_of,
    legend,
    look_among,
    scale_for,
    with_defaults,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

QUANTITIES = {
    "margin": "margin (dashed: its upper bound)",
    "gap": "relative duality gap, primal / dual - 1",
}


@dataclass(eq=False, repr=False)
class CertificateDisplay(Display):
    """Progress of certificates: margin and upper bound, or duality gap, against updates.

    Parameters
    ----------
    updates : list of ndarray of int64, shape (n_certificates,)
        Updates before each certificate, for each binary problem.
    low : list of ndarray of float64, shape (n_certificates,)
        Margins achieved, or gaps.
    high : list of ndarray of float64, shape (n_certificates,), or None
        Upper bounds of the margin.
    labels : list of str
    quantity : str
        "margin" or "gap".

    Attributes
    ----------
    ax_, figure_ : matplotlib.axes.Axes, matplotlib.figure.Figure
        Set by `plot`.
    lines_ : list of matplotlib.lines.Line2D
        For "margin", two lines for each problem, the margin first.

    Notes
    -----
    Bounds and gaps that are not finite, and negative margins of hypotheses that do not separate the
    classes, are not drawn. The axis is linear if margins differ little.

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

    updates: list[NDArray[np.int64]]
    low: list[NDArray[np.float64]]
    high: list[NDArray[np.float64]] | None
    labels: list[str]
    quantity: Literal["margin", "gap"] = "margin"
    lines_: "list[Line2D]" = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        *estimators: Fitted,
        quantity: Literal["margin", "gap"] = "margin",
        names: Sequence[str] | None = None,
        ax: "Axes | None" = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the certificates in the learning curves of fitted classifiers.

        Parameters
        ----------
        *estimators : classifier of margins
            Fitted. With more than two classes, each class has separate lines.
        quantity : str
            "margin": margin and upper bound. "gap": the relative duality gap.
        names : list of str, optional
            Names of the estimators. Default: their registered names and classes.
        ax : matplotlib.axes.Axes, optional
        **line_kw
            Keywords of ``Axes.plot``.

        Returns
        -------
        CertificateDisplay

        Raises
        ------
        ValueError
            If `quantity` is not allowed, there is no estimator, or an estimator has no certificates of
            epochs, as algorithms without a parameter `eps`.
        AttributeError
            If an estimator has no `learning_curve_`.
        """
        check("quantity", "CertificateDisplay", quantity, OneOf(*QUANTITIES))
        updates: list[NDArray[np.int64]] = []
        low: list[NDArray[np.float64]] = []
        high: list[NDArray[np.float64]] = []
        curves = named_curves(cls.__name__, estimators, names)
        for name, curve in curves.items():
            certified = [epoch for epoch in curve if epoch.certificate is not None]
            certificates = [epoch.certificate for epoch in curve if epoch.certificate is not None]
            if not certified:
                raise ValueError(
                    f"estimators of {cls.__name__} must have certificates in learning_curve_. "
                    f"Got none for {name!r}. Use EpochsDisplay for it."
                )
            updates.append(np.array([epoch.updates for epoch in certified]))
            low.append(np.array([getattr(certificate, quantity) for certificate in certificates]))
            high.append(np.array([certificate.upper_bound for certificate in certificates]))
        bounds = high if quantity == "margin" else None
        return cls(updates, low, bounds, list(curves), quantity).plot(ax, **line_kw)

    def plot(self, ax: "Axes | None" = None, **line_kw: Any) -> Self:
        """Draw, and return the display."""
        ax = self._axes(ax)
        self.lines_ = []
        n_curves = len(self.labels)
        for index, (updates, low, label) in enumerate(
            zip(self.updates, self.low, labels_of(self.labels), strict=True)
        ):
            looks = look_among(index, n_curves) | {"linestyle": "-", "markersize": 4}
            below = looks | {"label": label}
            self.lines_ += ax.plot(updates, _drawable(low), **with_defaults(below, line_kw))
            if self.high is not None:
                above = looks | {"linestyle": "--", "label": "_"}
                high = _drawable(self.high[index])
                self.lines_ += ax.plot(updates, high, **with_defaults(above, line_kw))
        drawn = [line.get_ydata() for line in self.lines_]
        ax.set(xscale=scale_for(self.updates, 10), yscale=scale_for(drawn, 10))
        count_on(ax.xaxis)
        ax.set(xlabel="updates", ylabel=QUANTITIES[self.quantity])
        ax.grid(**GRID)
        legend(ax)
        return self


def _drawable(values: ArrayLike) -> NDArray[np.float64]:
    """Return the values, with nan for values that are not positive and finite."""
    values = np.asarray(values, dtype=float)
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)
