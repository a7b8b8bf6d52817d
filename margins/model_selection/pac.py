"""Online-to-PAC conversion: a perceptron that stops when its error is proven to be small.

A hypothesis is fixed before the examples that test it are drawn. If its error exceeds epsilon, it is
right on q of them with probability at most (1 - epsilon)^q <= delta / (M + 1), for the q of
`online_to_pac`. M mistakes make M + 1 hypotheses, so with probability 1 - delta each survivor is good.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from margins._activeset import ActiveSets
from margins._update import WeightVector
from margins.data.structure import checked_csr
from margins.data.validation import validate_matrix
from margins.parameters import BOOLEAN, POSITIVE, Interval, check
from margins.partitions.samples import named
from margins.rules import Additive, Mistake, MistakeHistory, NoShrink, Rules
from margins.solvers.specification import Specification
from margins.training.training_set import binary_problem

PROBABILITY = Interval(0, 1, "neither")
MISTAKES = Interval(1, math.inf, "left")  # the zero vector is wrong on the first example
ROUNDING = 1e-12  # relative error of the bound: (0.3 / 0.1)**2, just below 9, counts as 9
GIVEN_M, GIVEN_MARGIN = [False, True, True], [True, False, False]  # True: the parameter is None
PERCEPTRON = Rules(Mistake(), Additive(most=1), NoShrink())


@dataclass(frozen=True, eq=False)
class PacHypothesis:
    """A halfspace with a proof about its error, which ``print`` shows as a sentence."""

    coef: NDArray[np.float64]  # w, shape (d,): x is positive if w.x + intercept > 0
    intercept: float  # 0 without `fit_intercept`
    survived: bool  # the error is proven; False: the stream ended too soon
    n_examples: int  # examples used
    n_mistakes: int  # mistakes on these examples, which are also updates
    n_needed: int  # q
    n_examples_bound: int  # number of examples that suffice, (mistake_bound + 1) q
    epsilon: float
    delta: float
    mistake_bound: int  # M

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
    """Learn a halfspace from a stream until its error is proven to be small, with confidence.

    The perceptron, w <- w + y x whenever y w.x <= 0, processes one example at a time. It stops as soon
    as its hypothesis has been right on q consecutive examples, and draws nothing further from the
    stream. Pass either `mistake_bound`, or `gamma` and `radius`.

    Parameters
    ----------
    stream : iterable
        Pairs: one example (x, label), x of shape (d,), or a chunk (X, y), of shapes (n, d) and (n,),
        dense or sparse, which is faster. Labels are -1 and 1. The examples must be drawn independently
        from one distribution.
    epsilon, delta : float in (0, 1)
        `epsilon`: allowed error, the probability of a new example with y w.x <= 0. `delta`: allowed
        probability that a hypothesis with a larger error is returned as a survivor.
    mistake_bound : float in [1, inf), optional
        M, the maximum number of mistakes of the perceptron on the stream, rounded down. The first
        example is always a mistake, because the start is the zero vector.
    gamma, radius : float in (0, radius] and float in (0, inf), optional
        `gamma`: margin of the distribution; some unit vector u has y u.x >= gamma for all its examples.
        `radius`: largest norm of an example. Then M = (radius / gamma)**2 (Novikoff's theorem).
    fit_intercept : bool, default=False
        Append the feature 1 to every example; u, `gamma` and `radius` then refer to (x, 1).

    Returns
    -------
    PacHypothesis
        With `survived` False, and the hypothesis so far, if the stream ends first.

    Raises
    ------
    ValueError
        If a parameter or an element of the stream is not allowed, if the stream is empty, or if there
        are more than M mistakes, so that the data do not satisfy the assumption.

    Notes
    -----
    With ``q = ceil(ln((M + 1) / delta) / epsilon)``, (M + 1) q examples suffice. The assumption M is
    needed for the run to end, not for the guarantee: a survivor is one of the first M + 1 hypotheses.

    Source: lecture on the perceptron and the margin perceptron, conversion of online learners to the
    PAC model; there with the simpler ln(M / delta) and M ln(M / delta) / epsilon examples.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).uniform(-1, 1, size=(1000, 2))
    >>> X = points[np.abs(points[:, 0]) >= 0.2]
    >>> chunk = X, np.sign(X[:, 0])
    >>> print(online_to_pac([chunk], epsilon=0.05, delta=0.01, gamma=0.2, radius=1.5))
    With confidence 1 - 0.01 the error is at most 0.05: right on 173 consecutive examples.
    """
    check("epsilon", "online_to_pac", epsilon, PROBABILITY)
    check("delta", "online_to_pac", delta, PROBABILITY)
    check("fit_intercept", "online_to_pac", fit_intercept, BOOLEAN)
    epsilon, delta = float(epsilon), float(delta)
    if [mistake_bound is None, gamma is None, radius is None] not in (GIVEN_M, GIVEN_MARGIN):
        raise ValueError(
            "online_to_pac must be given either mistake_bound, or gamma and radius. Got "
            f"mistake_bound={mistake_bound!r}, gamma={gamma!r}, radius={radius!r}."
        )
    assumption, bound = "mistake_bound", mistake_bound
    if gamma is not None and radius is not None:
        check("radius", "online_to_pac", radius, POSITIVE)
        check("gamma", "online_to_pac", gamma, Interval(0, float(radius), "right"))
        ratio = float(radius) / float(gamma)
        assumption, bound = "(radius / gamma)**2", ratio * ratio * (1 + ROUNDING)
    check(assumption, "online_to_pac", bound, MISTAKES)
    most = math.floor(bound)  # type: ignore[arg-type]  # not None
    # In fractions, because the quotient may be larger than any double.
    needed = math.ceil(Fraction(math.log(most + 1) - math.log(delta)) / Fraction(epsilon))
    if not isinstance(stream, Iterable):
        raise ValueError(f"stream of online_to_pac must be iterable. Got {type(stream).__name__}.")

    weights, history, n_examples, n_mistakes = None, MistakeHistory(), 0, 0
    specification = Specification(sq_intercept_scaling=float(fit_intercept)).for_stream()
    for position, element in enumerate(stream):
        X, y = _chunk(element, f"element {position} of stream of online_to_pac", weights)
        if len(y) == 0:
            continue
        weights = WeightVector(X.shape[1]) if weights is None else weights
        data, begin = binary_problem(X, y > 0, specification).data, 0
        loop = ActiveSets((), len(y))
        while begin < len(y) and history.n_right < needed:
            end = min(begin + needed - int(history.n_right), len(y))  # no hypothesis survives earlier
            block = np.arange(begin, end, dtype=np.int32)
            history.forget()
            loop.full_epoch(data, weights, PERCEPTRON, block, None, history)
            if n_mistakes + history.n_mistakes > most:
                raise ValueError(
                    f"Mistakes of online_to_pac must be at most {most}, as stated by "
                    f"{'mistake_bound' if gamma is None else 'gamma and radius'}. Got {most + 1} within "
                    f"{n_examples + history.mistakes[most - n_mistakes] - begin + 1} examples."
                )
            n_mistakes, n_examples, begin = n_mistakes + history.n_mistakes, n_examples + len(block), end
        if history.n_right == needed:
            break
    if weights is None:
        raise ValueError("stream of online_to_pac must have at least one example. Got none.")
    intercept = weights.label_sum if fit_intercept else 0.0
    return PacHypothesis(
        weights.weights,
        intercept,
        history.n_right == needed,
        n_examples,
        n_mistakes,
        needed,
        (most + 1) * needed,
        epsilon,
        delta,
        most,
    )


def _chunk(element: Any, where: str, weights: WeightVector | None) -> tuple[Any, NDArray[Any]]:
    """Return X of shape (n, d) and y of shape (n,), after checking them."""
    try:
        X, y = element
    except (TypeError, ValueError):
        raise ValueError(f"{where} must be a pair, (x, label) or (X, y). Got {element!r}.") from None
    is_sparse, y = sparse.issparse(X), np.atleast_1d(y)
    X = checked_csr(X, f"X in {where}") if is_sparse else np.atleast_2d(X)
    X = X.reshape(1, -1) if X.ndim == 1 else X
    if X.shape[0] > 0:
        with named(f"X in {where}"):
            X = validate_matrix(X, f"X in {where}")
    if weights is not None and X.shape[1] != len(weights.weights):
        raise ValueError(f"{where} must have {len(weights.weights)} features. Got {X.shape[1]}.")
    if y.shape != X.shape[:1]:
        raise ValueError(f"y in {where} must have shape {X.shape[:1]}. Got {y.shape}.")
    wrong = np.abs(y) != 1 if y.dtype.kind in "iuf" else np.full(y.shape, True)
    if wrong.any():
        raise ValueError(f"y in {where} must be -1 or 1. Got {y[wrong].tolist()[0]!r}.")
    return X, y
