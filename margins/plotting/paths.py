"""Coefficients against C."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margins.estimators.path import SVMPath
from margins.parameters import Interval, check
from margins.plotting.style import GRID, Display, legend, look, scale_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


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
            If the path has no coefficients, because of a kernel, if it has no such class, or if the
            number of names differs from the number of features.
        """
        check("n_shown", cls.__name__, n_shown, Interval(0, np.inf, "left", integer=True))
        fitted = path.classifiers[0]
        if not hasattr(fitted, "coef_"):
            raise ValueError(f"path of {cls.__name__} must have the linear kernel. Got {path!r}.")
        coefs = path.coefs[:, _problem_of(label, path, cls.__name__)]
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
            looks: dict[str, Any] = {"color": "0.75", "linewidth": 0.8, "zorder": 1}
            if feature in self.shown:
                looks = look(self.shown.index(feature)) | {"markersize": 4, "label": self.names[feature]}
            self.lines_ += ax.plot(self.Cs, coefs, **looks | line_kw)
        if self.chosen is not None:
            ax.axvline(self.chosen, color="0.3", linestyle=":", label=f"C = {self.chosen:g}")
        ax.set(xscale="log", xlabel="C", ylabel="coefficient (per unit of the feature)")
        if scale_for([np.abs(self.coefs).max(axis=1)], 100) == "log":
            # Linear up to the median, so that the largest C does not flatten the rest of the path.
            ax.set_yscale("symlog", linthresh=float(np.median(np.abs(self.coefs).max(axis=1))))
        ax.grid(**GRID)
        if self.shown or self.chosen is not None:
            legend(ax, "features" if self.shown else None)
        return self


def _problem_of(label: Any, path: SVMPath, caller: str) -> int:
    """Return the index of the binary problem of a class."""
    labels: list[ArrayLike] = path.classes.tolist()
    if label is None:
        return 0
    if label not in labels:
        raise ValueError(f"label of {caller} must be one of the classes, {labels}. Got {label!r}.")
    return 0 if len(labels) == 2 else labels.index(label)
