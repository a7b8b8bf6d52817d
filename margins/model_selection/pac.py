"""From online to PAC: a perceptron that stops once its error is small, with a proof.

A stream of examples, drawn independently from one distribution, is processed once. The perceptron
makes at most M mistakes on it, so it has at most M + 1 hypotheses. The first of them that is right on
q consecutive examples is returned, with

    q = ceil(ln((M + 1) / delta) / epsilon).

Why that is enough: a hypothesis is fixed before the examples that test it are drawn. If its error
exceeds epsilon, it survives q of them with probability (1 - epsilon)^q <= delta / (M + 1) at most. So
with probability 1 - delta none of the M + 1 hypotheses survives that should not. And each of them sees
at most q examples, so (M + 1) q examples suffice.

Source: lecture on the perceptron and the margin perceptron, conversion of online learners to the PAC
model. The lecture counts M hypotheses where these are M + 1.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from margins.data.structure import checked, checked_csr
from margins.parameters import BOOLEAN, POSITIVE, Interval, check

PROBABILITY = Interval(0, 1, "neither")
MISTAKES = Interval(1, math.inf, "left")  # the zero vector is wrong on the first example

# Relative rounding error of the bound: (0.3 / 0.1)**2, just below 9, counts as 9.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class PacHypothesis:
    """A halfspace, and what is proven about its error. ``print`` gives it as a sentence.

    Attributes
    ----------
    coef : ndarray of float64, shape (d,)
        Weight vector w: x is positive if w.x + intercept > 0.
    intercept : float
        0 without `fit_intercept`.
    survived : bool
        True: the error is at most `epsilon`, proven with confidence 1 - `delta`. False: the stream
        ended too soon, and nothing is proven.
    n_examples : int
        Examples used.
    n_mistakes : int
        Mistakes, which is also updates. At most `mistake_bound`.
    n_needed : int
        q, consecutive examples on which a hypothesis has to be right.
    n_examples_bound : int
        Examples that suffice for one to survive, wherever the mistakes occur: (mistake_bound + 1) q.
    epsilon : float in (0, 1)
        Error allowed: the probability of a new example with label * (w.x + intercept) <= 0.
    delta : float in (0, 1)
        Probability allowed that a hypothesis of larger error survives.
    mistake_bound : int
        M, the assumed bound on the mistakes.

    Examples
    --------
    See `online_to_pac`.
    """

    coef: NDArray[np.float64]
    intercept: float
    survived: bool
    n_examples: int
    n_mistakes: int
    n_needed: int
    n_examples_bound: int
    epsilon: float
    delta: float
    mistake_bound: int

    def __str__(self) -> str:
        if self.survived:
            return (
                f"With confidence 1 - {self.delta} the error is at most {self.epsilon}: right on "
                f"{self.n_needed} consecutive examples."
            )
        return (
            f"Nothing is proven: the stream ended after {self.n_examples} examples, before a hypothesis "
            f"was right on {self.n_needed} consecutive ones. {self.n_examples_bound} examples suffice."
        )


def online_to_pac(
    stream: Iterable[tuple[Any, Any]],
    *,
    epsilon: float,
    delta: float,
    mistake_bound: float | None = None,
    gamma: float | None = None,
    radius: float | None = None,
    fit_intercept: bool = False,
) -> PacHypothesis:
    """Learn a halfspace from a stream until its error is small, proven with confidence.

    The perceptron, w <- w + y x whenever y w.x <= 0, processes one example after the other. It stops
    as soon as its hypothesis has been right on q consecutive examples; nothing further is drawn from the
    stream.

    Give either `mistake_bound`, or `gamma` and `radius`.

    Parameters
    ----------
    stream : iterable
        Pairs: one example (x, label), with x of shape (d,), or a chunk (X, y), with X of shape (n, d),
        dense or sparse, and y of shape (n,). A sparse chunk stays sparse, and chunks are
        processed row by row. Labels are -1 and 1. The examples must be drawn independently from one
        distribution.
    epsilon : float in (0, 1)
        Error allowed: the probability of a new example with y w.x <= 0.
    delta : float in (0, 1)
        Probability allowed that a hypothesis of larger error is returned as a survivor.
    mistake_bound : float in [1, inf), optional
        M, mistakes of the perceptron on the stream, at most. Rounded down. The first example is always
        one, because the start is the zero vector.
    gamma : float in (0, radius], optional
        Margin of the distribution: some unit vector u has y u.x >= gamma for all its examples. A
        length. Then M = (radius / gamma)**2.
    radius : float in (0, inf), optional
        Largest norm of an example. A length.
    fit_intercept : bool, default=False
        Append the feature 1 to every example; u, `gamma` and `radius` are then those of (x, 1).

    Returns
    -------
    PacHypothesis
        With `survived` False, and the hypothesis so far, if the stream has ended first.

    Raises
    ------
    ValueError
        If a parameter or an element of the stream is not allowed, if the stream is empty, or if there
        are more mistakes than M: then the data do not satisfy the assumption.

    Notes
    -----
    With the exact constants: M mistakes make M + 1 hypotheses, so
    ``q = ceil(ln((M + 1) / delta) / epsilon)``, and (M + 1) q examples suffice.

    The assumption M is needed for the run to end, not for the guarantee: a hypothesis that survives is
    one of the first M + 1, whatever the data.

    Source: lecture on the perceptron and the margin perceptron, conversion of online learners to the
    PAC model; there with the simpler ln(M / delta) and M ln(M / delta) / epsilon examples. M:
    Novikoff's theorem.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).uniform(-1, 1, size=(1000, 2))
    >>> X = points[np.abs(points[:, 0]) >= 0.2]
    >>> hypothesis = online_to_pac(
    ...     zip(X, np.sign(X[:, 0])), epsilon=0.05, delta=0.01, gamma=0.2, radius=1.5
    ... )
    >>> hypothesis.survived, hypothesis.mistake_bound, hypothesis.n_needed
    (True, 56, 173)
    >>> print(hypothesis)
    With confidence 1 - 0.01 the error is at most 0.05: right on 173 consecutive examples.
    """
    check("epsilon", "online_to_pac", epsilon, PROBABILITY)
    check("delta", "online_to_pac", delta, PROBABILITY)
    check("fit_intercept", "online_to_pac", fit_intercept, BOOLEAN)
    epsilon, delta = float(epsilon), float(delta)
    max_mistakes = _max_mistakes(mistake_bound, gamma, radius)
    # In fractions, because the quotient may be beyond every double.
    needed = math.ceil(Fraction(math.log(max_mistakes + 1) - math.log(delta)) / Fraction(epsilon))

    coef, intercept = None, 0.0
    n_examples = n_mistakes = n_right = 0  # n_right: consecutive, by the current hypothesis
    for example in _examples(stream):
        if coef is None:
            coef = np.zeros(example.n_features)
        n_examples += 1
        columns, values, label = example.columns, example.values, example.label
        if label * (coef[columns] @ values + intercept) > 0:
            n_right += 1
            if n_right == needed:
                break
            continue
        n_right = 0
        n_mistakes += 1
        if n_mistakes > max_mistakes:
            raise ValueError(
                f"Mistakes of online_to_pac must be at most {max_mistakes}, as stated by "
                f"{'gamma and radius' if mistake_bound is None else 'mistake_bound'}. Got "
                f"{n_mistakes} within {n_examples} examples."
            )
        np.add.at(coef, columns, label * values)  # adds up a feature that is stored twice
        intercept += label * fit_intercept
    if coef is None:
        raise ValueError("stream of online_to_pac must have at least one example. Got none.")
    return PacHypothesis(
        coef=coef,
        intercept=intercept,
        survived=n_right == needed,
        n_examples=n_examples,
        n_mistakes=n_mistakes,
        n_needed=needed,
        n_examples_bound=(max_mistakes + 1) * needed,
        epsilon=epsilon,
        delta=delta,
        mistake_bound=max_mistakes,
    )


def _max_mistakes(mistake_bound: float | None, gamma: float | None, radius: float | None) -> int:
    """M, an int."""
    given = [value is not None for value in (mistake_bound, gamma, radius)]
    if given not in ([True, False, False], [False, True, True]):
        raise ValueError(
            "online_to_pac must be given either mistake_bound, or gamma and radius. Got "
            f"mistake_bound={mistake_bound!r}, gamma={gamma!r}, radius={radius!r}."
        )
    if mistake_bound is not None:
        check("mistake_bound", "online_to_pac", mistake_bound, MISTAKES)
        return math.floor(mistake_bound)
    assert radius is not None and gamma is not None  # as `given` says
    check("radius", "online_to_pac", radius, POSITIVE)
    check("gamma", "online_to_pac", gamma, Interval(0, float(radius), "right"))
    ratio = float(radius) / float(gamma)
    max_mistakes = ratio * ratio * (1 + ROUNDING)
    check("(radius / gamma)**2", "online_to_pac", max_mistakes, MISTAKES)  # it may be infinite
    return math.floor(max_mistakes)


class _Example(NamedTuple):
    """One example: x[columns] == values, the other features are 0."""

    n_features: int
    columns: Any  # slice, or ndarray of int
    values: NDArray[np.float64]
    label: float


def _examples(stream: Iterable[tuple[Any, Any]]) -> Iterator[_Example]:
    """The examples of a stream of examples or chunks, one by one, checked.

    Yields
    ------
    _Example
    """
    if not isinstance(stream, Iterable):
        raise ValueError(f"stream of online_to_pac must be iterable. Got {type(stream).__name__}.")
    n_features = None
    for position, element in enumerate(stream):
        where = f"element {position} of stream of online_to_pac"
        X, y = _chunk(element, where)
        if n_features is None:
            n_features = X.shape[1]
        elif X.shape[1] != n_features:
            raise ValueError(f"{where} must have {n_features} features. Got {X.shape[1]}.")
        for row, label in enumerate(y.tolist()):
            if sparse.issparse(X):
                stored = slice(X.indptr[row], X.indptr[row + 1])
                columns, values = X.indices[stored], X.data[stored]
            else:
                columns, values = slice(None), X[row]
            yield _Example(n_features, columns, values.astype(np.float64, copy=False), label)


def _chunk(element: tuple[Any, Any], where: str) -> tuple[Any, NDArray[Any]]:
    """X of shape (n, d), ndarray or CSR matrix of finite numbers, and y of shape (n,), checked."""
    try:
        X, y = element
    except (TypeError, ValueError):
        raise ValueError(f"{where} must be a pair, (x, label) or (X, y). Got {element!r}.") from None
    if sparse.issparse(X):
        X = checked(X, f"X in {where}")
        X = checked_csr(X if X.ndim == 2 else X.reshape(1, -1), f"X in {where}")
        numbers = X.data
    else:
        X = numbers = np.atleast_2d(X)
    y = np.atleast_1d(y)
    if X.ndim != 2:
        raise ValueError(f"X in {where} must have shape (d,) or (n, d). Got {X.shape}.")
    if numbers.dtype.kind not in "biuf":
        raise ValueError(f"X in {where} must be real numbers. Got dtype {numbers.dtype}.")
    if not np.isfinite(numbers).all():
        raise ValueError(f"X in {where} must be finite. Got {numbers[~np.isfinite(numbers)][0]}.")
    if y.shape != X.shape[:1]:
        raise ValueError(f"y in {where} must have shape {X.shape[:1]}. Got {y.shape}.")
    wrong = np.abs(y) != 1 if y.dtype.kind in "iuf" else np.full(y.shape, True)
    if wrong.any():
        raise ValueError(f"y in {where} must be -1 or 1. Got {y[wrong].tolist()[0]!r}.")
    return X, y
