"""The interface of regularisers, and everything that follows from it alone.

The problem: with the weight vector w and samples y_k = l_k [x_k, rho],

    primal   min   r(w) + sum_k h_k(w.y_k)
    dual     max   sum_k alpha_k - sum_k D_k alpha_k^2 / 2 - r*(a),   0 <= alpha_k <= U_k

where a = sum_k alpha_k y_k, and r* is the conjugate of r. Its gradient gives the weights. A regulariser
is a sum over the weights, and regularisers differ in five numbers for each weight:

    r_j(w) = ridge_j (w - centre_j)^2 / 2 + l1_j |w - centre_j|   if lower_j <= w <= upper_j, else inf

    regulariser         ridge       l1
    L2                  1           0
    L1                  0           1
    ElasticNet(s)       1 - s       s

`Weighted` multiplies ridge and l1, `Prior` sets the centres, `Bounded` sets the bounds. To add a
regulariser, write a subclass of `Regulariser` with `ridge`, `l1` and, unless all weights have the same
numbers, `terms`.

A free intercept has no regulariser; a penalised one has the numbers ridge and l1 of the class.
"""

import copy
import difflib
import functools
import inspect
import math
import reprlib
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margins.parameters import Interval

Floats = NDArray[np.float64]
Numbers = ArrayLike | Mapping[str, float]  # one, one for each feature, or some by the feature's name


class Terms(NamedTuple):
    """The five numbers of each weight, and what follows from them.

    Attributes
    ----------
    ridge, l1 : ndarray of float64, shape (n,)
        At least 0. At least one of the two is positive, unless both bounds are finite.
    centre, lower, upper : ndarray of float64, shape (n,)

    See Also
    --------
    Regulariser.terms : Makes them.

    Examples
    --------
    >>> import numpy as np
    >>> terms = ElasticNet(0.5).terms(2)
    >>> w, a = np.array([0.0, 3.0]), np.array([0.4, 2.0])
    >>> terms.weights(a).tolist()
    [0.0, 3.0]
    >>> float(terms.value(w) + terms.conjugate(a) - a @ w)
    0.0
    """

    ridge: Floats
    l1: Floats
    centre: Floats
    lower: Floats
    upper: Floats

    def values(self, w: Floats) -> Floats:
        """Return r_j(w_j), an ndarray of float64 of shape (n,); inf out of bounds."""
        from_centre = w - self.centre
        values = 0.5 * self.ridge * from_centre * from_centre + self.l1 * np.abs(from_centre)
        return np.where((w < self.lower) | (w > self.upper), np.inf, values)

    def value(self, w: Floats) -> float:
        """Return r(w) (float); inf if a weight is out of bounds."""
        return float(self.values(w).sum())

    def slopes(self, w: Floats) -> tuple[Floats, Floats]:
        """Return the left and right derivatives of r at w (ndarrays); -inf and inf at bounds."""
        from_centre = w - self.centre
        slope = self.ridge * from_centre
        left = slope + np.where(from_centre > 0, self.l1, -self.l1)
        right = slope + np.where(from_centre >= 0, self.l1, -self.l1)
        return np.where(w <= self.lower, -np.inf, left), np.where(w >= self.upper, np.inf, right)

    def weights(self, a: Floats) -> Floats:
        """Return the gradient of r* (ndarray): the w with the largest a.w - r(w); inf: there is none."""
        excess = a - np.clip(a, -self.l1, self.l1)
        with np.errstate(divide="ignore", invalid="ignore"):
            w = self.centre + np.where(excess == 0, 0.0, excess / self.ridge)
        return np.clip(w, self.lower, self.upper)

    def conjugate(self, a: Floats) -> float:
        """Return r*(a) = max over w of a.w - r(w) (float); inf if it has no bound."""
        return float(self.conjugates(a).sum())

    def conjugates(self, a: Floats) -> Floats:
        """Return r_j*(a_j), an ndarray of float64 of shape (n,)."""
        w = self.weights(a)
        with np.errstate(invalid="ignore"):
            values = a * w - self.values(w)
        return np.where(np.isfinite(w), values, np.inf)


class Regulariser:
    """A separable regulariser of the weights.

    Attributes
    ----------
    ridge : float
        Factor of w^2 / 2.
    l1 : float
        Factor of |w|.

    See Also
    --------
    L2, L1, ElasticNet, Bounded, Weighted, Prior : The regularisers of this package.

    Examples
    --------
    A regulariser that trusts some features more than others:

    >>> import numpy as np
    >>> class Doubting(Regulariser):
    ...     ridge = 1.0
    ...
    ...     def terms(self, n_features: int) -> Terms:
    ...         terms = super().terms(n_features)
    ...         return terms._replace(ridge=np.linspace(1, 2, n_features))
    >>> Doubting().terms(3).ridge.tolist()
    [1.0, 1.5, 2.0]
    """

    ridge: float = 0.0
    l1: float = 0.0

    def terms(self, n_features: int) -> Terms:
        """Return the five numbers of each weight (Terms).

        Parameters
        ----------
        n_features : int

        Raises
        ------
        ValueError
            If the regulariser has numbers for another number of features.
        """
        shared = self.ridge, self.l1, 0.0, -math.inf, math.inf
        return Terms(*(np.full(n_features, value, dtype=float) for value in shared))

    def for_features(self, names: Sequence[str]) -> "Regulariser":
        """Return the regulariser with a number for each feature in the place of numbers by name.

        Parameters
        ----------
        names : sequence of str, length n_features
            Fits pass the feature names of X, if it has any.

        Raises
        ------
        ValueError
            If the regulariser has a name that is none of these.

        Examples
        --------
        >>> Bounded(lower={"age": 0}).for_features(["age", "income"])
        Bounded(lower=[  0., -inf], upper=inf, penalty=L2())
        """
        return self

    @classmethod
    @functools.cache
    def _parameters(cls) -> Mapping[str, inspect.Parameter]:
        """Return the parameters of the constructor by name; every fit asks for them."""
        return inspect.signature(cls).parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name (dict); deep: those of `penalty` as penalty__NAME, too."""
        names = self._parameters()
        params = {name: getattr(self, name) for name in names if hasattr(self, name)}
        if deep and isinstance(inner := params.get("penalty"), Regulariser):
            params |= {f"penalty__{name}": value for name, value in inner.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of `penalty` as penalty__NAME; return the regulariser.

        Raises
        ------
        TypeError, ValueError
            If the constructor does not have a parameter (ValueError), or does not allow the values.
        """
        changed, valid = self.get_params(deep=False), self._parameters()
        unknown = valid.keys() - changed.keys() - params.keys()
        if unknown:
            names = ", ".join(sorted(unknown))
            raise TypeError(
                f"{type(self).__name__} must have its parameters as attributes. Got no {names}."
            )
        nested = [name for name in params if "penalty" in changed and name.startswith("penalty__")]
        inner = {name.removeprefix("penalty__"): params.pop(name) for name in nested}
        wrong = [name for name in params if name not in valid]
        if wrong:
            raise ValueError(
                f"Invalid parameter {wrong[0]!r} of {type(self).__name__}. "
                f"Valid parameters are: {', '.join(valid) or 'none'}."
            )
        changed |= params
        if inner:  # of the penalty that the constructor makes of None
            changed["penalty"] = copy.copy(type(self)(**changed).get_params()["penalty"]).set_params(
                **inner
            )
        vars(self).update(vars(type(self)(**changed)))
        return self

    def __sklearn_clone__(self) -> Self:
        return copy.deepcopy(self)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        pairs = ((value, vars(other)[name]) for name, value in vars(self).items())
        return all(np.array_equal(one, another) for one, another in pairs)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        params = (f"{name}={value!r}" for name, value in self.get_params(deep=False).items())
        return f"{type(self).__name__}({', '.join(params)})"


class L2(Regulariser):
    """The squared length, |w|^2 / 2, which makes the margin large.

    Examples
    --------
    >>> L2().terms(2).ridge.tolist()
    [1.0, 1.0]
    """

    ridge = 1.0


class L1(Regulariser):
    """The sum of |w_j|, which makes most weights 0, as ``penalty="l1"`` of LinearSVC.

    Examples
    --------
    >>> L1().terms(2).l1.tolist()
    [1.0, 1.0]

    **Source**: Bradley & Mangasarian (1998), Feature selection via concave minimization and support
    vector machines.
    """

    l1 = 1.0


class ElasticNet(Regulariser):
    """A mixture of both, ``l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2``.

    Parameters
    ----------
    l1_ratio : float in [0, 1], default=0.5

    Raises
    ------
    ValueError
        If `l1_ratio` is not in [0, 1].

    Examples
    --------
    >>> ElasticNet(0.25).terms(1).ridge.tolist()
    [0.75]

    **Source**: Zou & Hastie (2005), Regularization and variable selection via the elastic net.
    """

    def __init__(self, l1_ratio: float = 0.5) -> None:
        if not Interval(0, 1).contains(l1_ratio):
            raise ValueError(f"l1_ratio of ElasticNet must be in [0, 1]. Got {l1_ratio!r}.")
        self.ridge, self.l1 = 1 - float(l1_ratio), float(l1_ratio)
        self.l1_ratio = self.l1

    def __repr__(self) -> str:
        return f"ElasticNet({self.l1!r})"


class _Changed(Regulariser):
    """A regulariser that changes some numbers of another one."""

    # Parameters, and the Terms that have the numbers of features without a name in them; None: 1.
    NAMES: ClassVar[dict[str, str | None]]

    def __init__(self, penalty: Regulariser) -> None:
        if not isinstance(penalty, Regulariser):
            raise TypeError(
                f"penalty of {type(self).__name__} must be a Regulariser, as L1(). Got {penalty!r}."
            )
        self.penalty, self.ridge, self.l1 = penalty, penalty.ridge, penalty.l1

    def _numbers(
        self, name: str, values: Any, check: Callable[[Any], Any], allowed: str
    ) -> float | Floats | dict[str, float]:
        """Return a number, an array with one for each feature, or a dict, of which `check` is true."""
        index: Any = getattr(values, "index", None)
        if hasattr(index, "tolist") and (np.ndim(values) > 1 or index.tolist() != [*range(len(index))]):
            values = dict(values)  # a Series with names; of data frames the dict is refused
        is_named = isinstance(values, Mapping)
        array = np.asarray([*values.values()] if is_named else values, dtype=object)
        got = reprlib.repr(values)
        if array.ndim > 1 and not is_named:
            got = f"an array of shape {array.shape}"
            array = array[0] if len(array) == 1 else array  # coef_ has one row
        kinds = set(map(type, array.flat))
        if array.ndim < 2 and bool not in kinds and all(issubclass(kind, Real) for kind in kinds):
            array = array.astype(np.float64)
            wrong = np.flatnonzero(~check(array))
            if not len(wrong):
                if is_named:
                    return dict(zip(values, array.tolist(), strict=True))
                return array if array.ndim else float(array)
            if array.ndim and not is_named:
                got = f"{float(array[wrong[0]])!r} for feature {wrong[0]}"
        owner = type(self).__name__
        raise ValueError(f"{name} of {owner} must be {allowed}, or one for each feature. Got {got}.")

    def for_features(self, names: Sequence[str]) -> Self:
        """See `Regulariser.for_features`."""
        changed, known = copy.copy(self), {*names, None}  # None: all others, in the shell
        changed.penalty = self.penalty.for_features(names)
        for name, term in self.NAMES.items():
            numbers = getattr(self, name)
            if not isinstance(numbers, dict):
                continue
            unknown = next((key for key in numbers if key not in known), None)
            if unknown is not None:
                close = difflib.get_close_matches(str(unknown), names, n=1)
                hint = f"Did you mean {close[0]!r}?" if close else f"X has {reprlib.repr(list(names))}."
                raise ValueError(
                    f"{name} of {type(self).__name__} must have names of features of X as keys. "
                    f"Got {unknown!r}. {hint}"
                )
            others = getattr(changed.penalty.terms(len(names)), term) if term else np.ones(len(names))
            others = np.broadcast_to(numbers.get(None, others), len(names))
            values = [numbers.get(feature, other) for feature, other in zip(names, others, strict=True)]
            setattr(changed, name, np.array(values, dtype=np.float64))
        return changed

    def _spread(self, name: str, n_features: int) -> Floats:
        """Return one number for each feature (ndarray of float64, shape (n_features,))."""
        values = getattr(self, name)
        if isinstance(values, dict):
            raise ValueError(
                f"{name} of {type(self).__name__} has names of features, so X must have them, too, as "
                "data frames do. Got X without names."
            )
        if np.ndim(values) and len(values) != n_features:
            raise ValueError(
                f"{name} of {type(self).__name__} must have one number for each of the {n_features} "
                f"features of X. Got {len(values)} numbers."
            )
        return np.broadcast_to(np.asarray(values, dtype=np.float64), n_features).copy()

    def __repr__(self) -> str:
        def text(value: Any) -> str:
            if isinstance(value, dict):
                return reprlib.repr(value)
            return np.array2string(np.asarray(value), threshold=8, edgeitems=2, separator=", ")

        numbers = (f"{name}={text(getattr(self, name))}" for name in self.NAMES)
        return f"{type(self).__name__}({', '.join(numbers)}, penalty={self.penalty!r})"


class Bounded(_Changed):
    """Another regulariser, with weights between bounds: signs, for example, with 0 and inf.

    Parameters
    ----------
    lower, upper : float, array-like of shape (n_features,), dict or Series, default=-inf and inf
        Bounds of all weights, of each, or, by name, of some; the bounds of `penalty` hold, too.
        Names are for X with feature names, such as a data frame; those of a Series are its index.
    penalty : Regulariser, default=L2()

    Raises
    ------
    ValueError
        If a lower bound exceeds an upper one (a fit compares them with the bounds of `penalty`), or is
        inf, or an upper one is -inf.

    Examples
    --------
    >>> Bounded(lower=0, penalty=L1())
    Bounded(lower=0., upper=inf, penalty=L1())
    >>> Bounded(lower={"age": 0})
    Bounded(lower={'age': 0.0}, upper=inf, penalty=L2())
    """

    NAMES: ClassVar[dict[str, str | None]] = {"lower": "lower", "upper": "upper"}

    def __init__(
        self,
        lower: Numbers = -math.inf,
        upper: Numbers = math.inf,
        penalty: Regulariser | None = None,
    ) -> None:
        super().__init__(L2() if penalty is None else penalty)
        self.lower = self._numbers("lower", lower, lambda x: x < np.inf, "a number less than inf")
        self.upper = self._numbers("upper", upper, lambda x: x > -np.inf, "a number greater than -inf")
        if isinstance(self.lower, dict) or isinstance(self.upper, dict):
            return  # a fit compares them
        shapes = {np.shape(bound) for bound in (self.lower, self.upper)} - {()}
        if len(shapes) > 1:
            raise ValueError(
                "lower and upper of Bounded must have the same length. "
                f"Got {np.size(self.lower)} and {np.size(self.upper)}."
            )
        _check_order(self.lower, self.upper)

    def for_features(self, names: Sequence[str]) -> Self:
        """See `Regulariser.for_features`."""
        changed = super().for_features(names)
        changed._terms(len(names), names)  # an error has the name
        return changed

    def terms(self, n_features: int) -> Terms:
        """See `Regulariser.terms`."""
        return self._terms(n_features, range(n_features))

    def _terms(self, n_features: int, names: Sequence[Any]) -> Terms:
        """Return the terms; an error calls features by these names or numbers."""
        terms = self.penalty.terms(n_features)
        lower = np.maximum(terms.lower, self._spread("lower", n_features))
        upper = np.minimum(terms.upper, self._spread("upper", n_features))
        _check_order(lower, upper, names)
        return terms._replace(lower=lower, upper=upper)


def _check_order(lower: Any, upper: Any, names: Sequence[Any] | None = None) -> None:
    """Raise a ValueError if a lower bound exceeds the upper one."""
    bounds = np.broadcast_arrays(lower, upper)
    wrong = np.flatnonzero(np.greater(*bounds))
    if len(wrong):
        j = int(wrong[0])
        low, high = (float(bound.flat[j]) for bound in bounds)
        place = f" for feature {j if names is None else repr(names[j])}" if bounds[0].ndim else ""
        raise ValueError(f"lower of Bounded must be at most upper. Got {low!r} and {high!r}{place}.")


class Weighted(_Changed):
    """Another regulariser, times a positive weight for each feature.

    Parameters
    ----------
    weights : float, array-like of shape (n_features,), dict or Series
        Positive and finite: a larger one means a smaller coefficient. A dict has weights by the names
        of features, as in `Bounded`; others have the weight 1.
    penalty : Regulariser, default=L2()

    Raises
    ------
    ValueError
        If a weight is not positive and finite.

    Examples
    --------
    >>> Weighted([1, 4], L1()).terms(2).l1.tolist()
    [1.0, 4.0]

    **Source**: Zou (2006), The adaptive lasso and its oracle properties.
    """

    NAMES: ClassVar[dict[str, str | None]] = {"weights": None}

    def __init__(self, weights: Numbers, penalty: Regulariser | None = None) -> None:
        super().__init__(L2() if penalty is None else penalty)
        positive = "a positive, finite number"
        self.weights = self._numbers("weights", weights, lambda x: (x > 0) & (x < np.inf), positive)

    def terms(self, n_features: int) -> Terms:
        """See `Regulariser.terms`."""
        weights, terms = self._spread("weights", n_features), self.penalty.terms(n_features)
        return terms._replace(ridge=weights * terms.ridge, l1=weights * terms.l1)


class Prior(_Changed):
    """Another regulariser, of the distance from given coefficients instead of 0.

    Parameters
    ----------
    coef : float, array-like of shape (n_features,) or (1, n_features), dict or Series
        Finite: coefficients of an earlier model, or of an expert. A dict has coefficients by the names
        of features, as in `Bounded`; others keep the coefficients of `penalty`, such as 0.
    penalty : Regulariser, default=L2()

    Raises
    ------
    ValueError
        If a coefficient is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> Prior([1, 2]).terms(2).weights(np.zeros(2)).tolist()
    [1.0, 2.0]

    **Source**: Evgeniou & Pontil (2004), Regularized multi-task learning.
    """

    NAMES: ClassVar[dict[str, str | None]] = {"coef": "centre"}

    def __init__(self, coef: Numbers, penalty: Regulariser | None = None) -> None:
        super().__init__(L2() if penalty is None else penalty)
        self.coef = self._numbers("coef", coef, np.isfinite, "a finite number")

    def terms(self, n_features: int) -> Terms:
        """See `Regulariser.terms`."""
        return self.penalty.terms(n_features)._replace(centre=self._spread("coef", n_features))
