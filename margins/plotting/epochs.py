"""Updates and mistakes against epochs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from margins.estimators.names import display_name
from margins.parameters import OneOf, check
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
from margins.training.schemes import fitted_scheme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from margins.solvers.driver import Epoch

QUANTITIES = {
    "mistakes": "samples that caused an update in the epoch",
    "updates": "updates since the start",
}


class Fitted(Protocol):
    """A fitted classifier of margins."""

    @property
    def classes_(self) -> NDArray[Any]: ...

    @property
    def learning_curve_(self) -> "list[list[Epoch]]": ...


@dataclass(eq=False, repr=False)
class EpochsDisplay(Display):
    """Updates or mistakes of fits against epochs.

    Parameters
    ----------
    epochs : list of ndarray of int64, shape (n_epochs,)
        Epochs from 1, for each binary problem.
    values : list of ndarray of int64, shape (n_epochs,)
        Values of the quantity, for each binary problem.
    labels : list of str
    quantity : str
        "mistakes": misclassified samples in the epoch. "updates": updates since the start.

    Attributes
    ----------
    ax_, figure_ : matplotlib.axes.Axes, matplotlib.figure.Figure
        Set by `plot`.
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
    lines_: "list[Line2D]" = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        *estimators: Fitted,
        quantity: Literal["mistakes", "updates"] = "mistakes",
        names: Sequence[str] | None = None,
        ax: "Axes | None" = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the learning curves of fitted classifiers.

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

        Returns
        -------
        EpochsDisplay

        Raises
        ------
        ValueError
            If `quantity` is not allowed, or there is no estimator.
        AttributeError
            If an estimator has no `learning_curve_`.
        """
        check("quantity", "EpochsDisplay", quantity, OneOf(*QUANTITIES))
        curves = named_curves(cls.__name__, estimators, names)
        epochs = [np.array([record.epoch for record in curve]) for curve in curves.values()]
        values = [np.array([getattr(record, quantity) for record in curve]) for curve in curves.values()]
        return cls(epochs, values, list(curves), quantity).plot(ax, **line_kw)

    def plot(self, ax: "Axes | None" = None, **line_kw: Any) -> Self:
        """Draw, and return the display."""
        ax = self._axes(ax)
        self.lines_ = []
        n_curves = len(self.labels)
        for index, (epochs, values, label) in enumerate(
            zip(self.epochs, self.values, labels_of(self.labels), strict=True)
        ):
            looks = look_among(index, n_curves) | {"label": label, "markersize": 4}
            if len(epochs) > 40:
                looks["markevery"] = len(epochs) // 20
            self.lines_ += ax.plot(epochs, values, **with_defaults(looks, line_kw))
        ax.set(xlabel="epoch", ylabel=QUANTITIES[self.quantity])
        if self.quantity == "updates" and scale_for(self.values, 100) == "log":
            ax.set_yscale("log")
        else:
            ax.set_ylim(bottom=0)
        count_on(ax.xaxis)
        count_on(ax.yaxis)
        ax.grid(**GRID)
        legend(ax)
        return self


def named_curves(
    caller: str, estimators: Sequence[Fitted], names: Sequence[str] | None = None
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


def _problems(estimator: Fitted) -> list[str]:
    """Return names of the binary problems."""
    labels = fitted_scheme(estimator).labels(estimator.classes_)
    return [
        f"classes {label[0]} and {label[1]}" if isinstance(label, tuple) else f"class {label}"
        for label in labels
    ]


def _names(estimators: Sequence[object]) -> list[str]:
    """Return the registered names and classes of estimators, numbered if they are not distinct."""
    kinds = [display_name(estimator) for estimator in estimators]
    return [
        kind if kinds.count(kind) == 1 else f"{kind} {kinds[:index].count(kind) + 1}"
        for index, kind in enumerate(kinds)
    ]
