"""Coefficients against C."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margins.estimators.path import SVMPath
from margins.parameters import Interval, check
from margins.plotting.style import GRID, Display, legend, look, scale_for, with_defaults

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
        Of one binary problem.
    names : list of str, length n_features
        Of the features.
    shown : list of int
        Features with a colour and a place in the legend; the others are grey.
    chosen : float, optional
        A value of C to be marked.

    Attributes
    ----------
    ax_, figure_ : matplotlib.axes.Axes, matplotlib.figure.Figure
        After `plot`.
    lines_ : list of matplotlib.lines.Line2D
        One for each feature, in their order.

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
        """Draw the coefficients of a path.

        Parameters
        ----------
        path : SVMPath
            With a linear kernel.
        label : object, optional
            Of more than two classes, the one whose coefficients are drawn; None: the first.
        names : list of str, optional
            Of the features, by default those of the data frame, or their indices.
        n_shown : int, default=6
            Features in the legend: those of the largest coefficients anywhere on the path.
        chosen : float, optional
            A value of C to be marked, such as ``MarginClassifierCV``'s ``C_``.
        ax : matplotlib.axes.Axes, optional
        **line_kw
            Keywords of ``Axes.plot``.

        Returns
        -------
        CoefficientPathDisplay

        Raises
        ------
        ValueError
            If the path has no coefficients (a kernel), no such class, or another number of features
            than there are names.
        """
        check("n_shown", cls.__name__, n_shown, Interval(0, np.inf, "left", integer=True))
        fitted = path.classifiers[0]
        if not hasattr(fitted, "coef_"):
            raise ValueError(f"path of {cls.__name__} must be one of a linear kernel. Got {path!r}.")
        coefs = path.coefs[:, _problem_of(label, path, cls.__name__)]
        n_features = coefs.shape[1]
        if names is None:
            names = [str(name) for name in getattr(fitted, "feature_names_in_", range(n_features))]
        if len(names) != n_features:
            raise ValueError(
                f"names of {cls.__name__} must be as many as features, {n_features}. Got {len(names)}."
            )
        largest = np.argsort(-np.max(np.abs(coefs), axis=0), kind="stable")
        shown = sorted(largest[:n_shown].tolist())
        order = np.argsort(path.Cs, kind="stable")
        display = cls(path.Cs[order], coefs[order], list(names), shown, chosen)
        return display.plot(ax, **line_kw)

    def plot(self, ax: "Axes | None" = None, **line_kw: Any) -> Self:
        """Draw: the display itself."""
        ax = self._axes(ax)
        self.lines_ = []
        for feature, coefs in enumerate(self.coefs.T):
            looks: dict[str, Any] = {"color": "0.75", "linewidth": 0.8, "zorder": 1}
            if feature in self.shown:
                looks = look(self.shown.index(feature)) | {"markersize": 4, "label": self.names[feature]}
            self.lines_ += ax.plot(self.Cs, coefs, **with_defaults(looks, line_kw))
        if self.chosen is not None:
            ax.axvline(self.chosen, color="0.3", linestyle=":", label=f"C = {self.chosen:g}")
        ax.set(xscale="log", xlabel="C", ylabel="coefficient (per unit of the feature)")
        if scale_for([np.abs(self.coefs).max(axis=1)], 100) == "log":
            # Linear up to the median, so that the largest C does not flatten all others.
            ax.set_yscale("symlog", linthresh=float(np.median(np.abs(self.coefs).max(axis=1))))
        ax.grid(**GRID)
        if self.shown or self.chosen is not None:
            legend(ax, "features" if self.shown else None)
        return self


def _problem_of(label: Any, path: SVMPath, caller: str) -> int:
    """The index of the binary problem of a class: int."""
    labels: list[ArrayLike] = path.classes.tolist()
    if label is None:
        return 0
    if label not in labels:
        raise ValueError(f"label of {caller} must be one of the classes, {labels}. Got {label!r}.")
    return 0 if len(labels) == 2 else labels.index(label)
