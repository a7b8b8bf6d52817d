"""Adversarial binary problems, their exact objectives, and an interior-point solution of each."""

import math
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from scipy import sparse

KERNELS = ("linear", "linear", "linear", "linear", "poly", "precomputed", "rbf")

# Of the values of an RBF kernel, as they are computed: bounds are those of these values. Rows whose
# exponent gamma |x|^2 is longer than this have their distances summed, which cancels nothing.
KERNEL_ROUNDING, LONGEST_EXPONENT = Fraction(2) ** -50, 2048


@dataclass
class Problem:
    """A binary problem, with its exact kernel matrix once it is needed."""

    X: np.ndarray
    y: np.ndarray  # -1 or +1
    weight: np.ndarray | None
    C: float
    rho: float
    loss: str
    kernel: str
    gamma: float = 1.0
    sparse: bool = False
    has_free_intercept: bool = False  # rho is then 0
    _gram: list | None = field(default=None, repr=False)
    _values: list = field(default_factory=list, repr=False)  # models with their products and sqnorm

    @property
    def is_hard(self):
        return math.isinf(self.C)

    @property
    def penalties(self):
        """Return the C_k as the library computes them: list of Fraction."""
        weight = np.ones(len(self.y)) if self.weight is None else self.weight
        return [Fraction(float(c)) for c in self.C * weight]

    @property
    def matrix(self):
        """Return X, or the kernel matrix if it is precomputed, as `fit` gets it."""
        X = np.array([[float(v) for v in row] for row in self.gram()]) if self.is_precomputed else self.X
        return sparse.csr_array(X) if self.sparse else X

    @property
    def is_precomputed(self):
        return self.kernel == "precomputed"

    @property
    def params(self):
        params = {
            "C": self.C,
            "kernel": self.kernel,
            "fit_intercept": self.rho > 0 or self.has_free_intercept,
            "intercept_scaling": self.rho or 1.0,
            "gamma": self.gamma,
        }
        if self.has_free_intercept:
            params["penalize_intercept"] = False
        return params | ({"degree": 2, "coef0": 1.0} if self.kernel == "poly" else {})

    def with_free_intercept(self):
        """Return the same Problem with an intercept that is not penalised."""
        return replace(self, rho=0.0, has_free_intercept=True, _values=[])

    def gram(self):
        """Return the kernel values of all pairs as fractions; of an RBF kernel to 60 digits."""
        if self._gram is None:
            rows = [[Fraction(v) for v in row] for row in self.X.tolist()]
            self._gram = [[self._kernel(x, z) for z in rows] for x in rows]
        return self._gram

    def _kernel(self, x, z):
        if self.kernel == "rbf":
            sqdistance = sum((a - b) ** 2 for a, b in zip(x, z, strict=True))
            with localcontext() as context:
                context.prec, context.Emin, context.Emax = 60, -(10**12), 10**12
                exponent = -Fraction(self.gamma) * sqdistance
                value = Decimal(exponent.numerator) / Decimal(exponent.denominator)
                # Below the least double it is 0 in every sum that follows.
                return Fraction(value.exp()) if value > -1000 else Fraction(0)
        product = sum(a * b for a, b in zip(x, z, strict=True))
        return (Fraction(self.gamma) * product + 1) ** 2 if self.kernel == "poly" else product

    def admits(self, model):
        """Return True if a model may have the intercept that it has."""
        return self.rho > 0 or self.has_free_intercept or model[1] == 0

    # Exact values of a model.

    def products_and_sqnorm(self, model):
        """Return l_k f(x_k) of every sample, and |w|^2 with the bias: list of Fraction, Fraction."""
        for known, values in self._values:
            if known is model:
                return values
        values = self._products_and_sqnorm(*model)
        self._values.append((model, values))
        return values

    def _products_and_sqnorm(self, weights, bias):
        if self.kernel == "linear":
            values = [
                sum(Fraction(v) * w for v, w in zip(row, weights, strict=True) if v)
                for row in self.X.tolist()
            ]
            sqnorm = sum(w * w for w in weights)
        else:
            values = [sum(v * w for v, w in zip(row, weights, strict=True) if w) for row in self.gram()]
            sqnorm = sum(value * w for value, w in zip(values, weights, strict=True))
        products = [int(label) * (value + bias) for label, value in zip(self.y, values, strict=True)]
        return products, sqnorm + (bias / Fraction(self.rho)) ** 2 if self.rho else sqnorm

    def kernel_rounding(self, model):
        """Return how much rounded values of an RBF kernel may change a product of a model."""
        if self.kernel != "rbf":
            return Fraction(0)
        # The squared lengths in a squared distance are rounded, regardless of its size.
        longest = max(sum(Fraction(v) ** 2 for v in row) for row in self.X.tolist())
        exponent = min(Fraction(self.gamma) * longest, LONGEST_EXPONENT)
        return KERNEL_ROUNDING * (1 + 4 * exponent) * sum(abs(w) for w in model[0])

    def least_objective(self, model, change=Fraction(0)):
        """Return the `objective` of the best multiple of a model: not of the hinge loss.

        Between the multiples at which a slack vanishes the objective is a parabola.
        """
        if self.is_hard:
            return self.objective(model, change)
        products, sqnorm = self.products_and_sqnorm(model)
        sqnorm += change * sum(abs(w) for w in model[0])
        lost = [(p - change, c) for p, c in zip(products, self.penalties, strict=True)]
        limits = [1 / p for p, _ in lost if p > 0]
        multiples = [Fraction(0), *limits]
        for limit in [*limits, math.inf]:
            active = [(p, c) for p, c in lost if p <= 0 or 1 / p >= limit]
            curvature = sqnorm + 2 * sum(c * p * p for p, c in active)
            if curvature > 0:
                multiples.append(max(2 * sum(c * p for p, c in active) / curvature, Fraction(0)))
        return min(
            s * s * sqnorm / 2 + sum(c * max(Fraction(0), 1 - s * p) ** 2 for p, c in lost)
            for s in multiples
        )

    def hard_objective(self, model, change=Fraction(0)):
        """Return |w|^2 / 2 of a model whose products are at least 1 up to rounding; else math.inf."""
        products, sqnorm = self.products_and_sqnorm(model)
        return sqnorm / 2 if min(products) - change >= 1 - Fraction(1e-9) else math.inf

    def objective(self, model, change=Fraction(0)):
        """Return the exact objective of a model; of its best multiple (or inf) with the hard margin.

        Every product counts as smaller by `change` than it is.
        """
        products, sqnorm = self.products_and_sqnorm(model)
        sqnorm += change * sum(abs(w) for w in model[0])
        if self.is_hard:
            least = min(products) - change
            return sqnorm / 2 / least**2 if least > 0 else math.inf
        power = 1 if self.loss == "hinge" else 2
        slacks = (max(Fraction(0), 1 - p + change) for p in products)
        return sqnorm / 2 + sum(c * s**power for c, s in zip(self.penalties, slacks, strict=True))

    def range_of_objective(self, model, objective=None):
        """Return the least and the largest objective that rounded values of an RBF kernel may give."""
        objective = objective or self.objective
        rounding = self.kernel_rounding(model)
        ends = objective(model, rounding), objective(model, -rounding)
        return min(ends), max(ends)

    def model_of(self, classifier):
        """Return the weights of the features, or of all samples, and the bias: a model."""
        bias = Fraction(float(classifier.intercept_[0]))
        if self.kernel == "linear":
            return [Fraction(float(w)) for w in classifier.coef_[0]], bias
        weights = [Fraction(0)] * len(self.y)
        for k, w in zip(classifier.support_, classifier.dual_coef_[0], strict=True):
            weights[k] = Fraction(float(w))
        return weights, bias


def problem_of(index, seed=0):
    """Return the Problem with a number."""
    rng = np.random.default_rng([seed, index])
    kernel = KERNELS[rng.integers(len(KERNELS))]
    m, d = int(rng.integers(2, 13)), int(rng.integers(1, 7))
    X = rng.integers(-3, 4, (m, d)).astype(float)
    if kernel in ("linear", "rbf") and rng.random() < 0.5:
        X += rng.normal(scale=10.0 ** rng.integers(-12, 1), size=(m, d))
    y = np.where(X @ rng.normal(size=d) + rng.normal() > 0, 1, -1)
    flipped = rng.random(m) < rng.choice([0, 0, 0.2, 0.5])
    y[flipped] *= -1
    if rng.random() < 0.4:  # duplicates, of contrary labels every other time
        copies = rng.integers(0, m, m // 2)
        X[: m // 2] = X[copies]
        y[: m // 2] = y[copies] * (1 if rng.random() < 0.5 else -1)
    if rng.random() < 0.3:
        X[rng.integers(0, m, 2)] = 0
    if rng.random() < 0.3:
        X[rng.random((m, d)) < 0.7] = 0
    X = _rescaled(X, kernel, rng)
    if kernel == "rbf":
        X = _shifted(X, np.random.default_rng([seed, index, 2]))
    y[0], y[-1] = 1, -1
    weight = None
    if rng.random() < 0.4:
        spread = rng.choice([1, 5, 10, 10])
        weight = 10.0 ** rng.uniform(-spread, spread, m)
    C = math.inf if rng.random() < 0.25 else float(10.0 ** rng.choice([-6, -3, 0, 0, 0, 2, 4, 8]))
    loss = "hinge" if rng.random() < 0.4 else "squared_hinge"
    rho = float(rng.choice([0.0, 1.0, 1.0, 2.5, 1e-6, 1e6]))
    gamma = float(2.0 ** rng.integers(-6, 3))
    return Problem(X, y, weight, C, rho, loss, kernel, gamma, bool(rng.random() < 0.5))


def _rescaled(X, kernel, rng):
    """Return X in other units; for a kernel by a power of two, so that its matrix stays exact."""
    if kernel != "linear":
        return X * 2.0 ** rng.integers(-8, 9) if rng.random() < 0.3 else X
    kind = rng.random()
    if kind < 0.25:  # all of it
        X = X * 10.0 ** rng.uniform(*(-150, 150) if rng.random() < 0.3 else (-20, 20))
    elif kind < 0.4:  # feature by feature
        X = X * 10.0 ** rng.uniform(-12, 12, X.shape[1])
    elif kind < 0.55:  # sample by sample
        X = X * 10.0 ** rng.uniform(-12, 12, (len(X), 1))
    elif kind < 0.65:  # subnormal numbers, with other numbers or alone
        small = rng.random(X.shape) < rng.choice([0.3, 1.0])
        X = np.where(small, X * 2.0**-1070, X)
    return X


def _shifted(X, rng):
    """Add a number to all features of X, to one, or to none."""
    shift = 10.0 ** rng.integers(1, 9)
    kind = rng.random()
    if kind < 0.3:
        return X + shift
    if kind < 0.4:
        return X + shift * (np.arange(X.shape[1]) == rng.integers(X.shape[1]))
    return X


def reference(problem):
    """Return an interior-point solution, in the units of the problem: a model, or None."""
    import clarabel

    if problem.kernel == "linear":
        features, back = problem.X, None
    else:
        gram = np.array([[float(v) for v in row] for row in problem.gram()])
        values, vectors = np.linalg.eigh(gram)
        keep = values > 1e-12 * max(values.max(), 1e-300)
        if not keep.any():
            return None
        features = vectors[:, keep] * np.sqrt(values[keep])
        back = vectors[:, keep] / np.sqrt(values[keep])
    rho = problem.rho or float(problem.has_free_intercept)
    rows = np.column_stack([features, np.full(len(features), rho)]) if rho else features
    scale = np.abs(rows).max()
    if not 1e-140 < scale < 1e140:
        return None
    Y = problem.y[:, np.newaxis] * (rows / scale)
    m, n = Y.shape
    n_slacks = 0 if problem.is_hard else m
    # w = v / scale: the objective times scale^2, with C scale^2.
    C = np.array([float(c) for c in problem.penalties]) if n_slacks else np.empty(0)
    with np.errstate(over="ignore", under="ignore"):
        C = C * scale**2
    if n_slacks and not (C.min() > 1e-100 and C.max() < 1e100):
        return None
    penalised = np.ones(n)
    if problem.has_free_intercept:
        penalised[-1] = 0
    quadratic = np.r_[penalised, 2 * C if problem.loss == "squared_hinge" else 0 * C]
    linear = np.r_[np.zeros(n), C if problem.loss == "hinge" else 0 * C]
    constraints = np.zeros((m + n_slacks, n + n_slacks))
    constraints[:m, :n] = -Y
    if n_slacks:
        constraints[:m, n:] = constraints[m:, n:] = -np.eye(m)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.diags_array(quadratic)),
        linear,
        sparse.csc_matrix(constraints),
        np.r_[-np.ones(m), np.zeros(n_slacks)],
        [clarabel.NonnegativeConeT(m + n_slacks)],
        settings,
    )
    v = np.array(solver.solve().x)[:n]
    if not np.isfinite(v).all():
        return None
    w = [Fraction(float(value)) / Fraction(float(scale)) for value in v]
    bias = w.pop() * Fraction(rho) if rho else Fraction(0)
    if back is not None:
        exact = [[Fraction(float(value)) for value in row] for row in back]
        w = [sum(b * value for b, value in zip(row, w, strict=True)) for row in exact]
    return w, bias


def exact_optimum(problem):
    """Return the model with the least objective of a linear problem with a soft margin, exactly.

    The conditions of optimality are a linear complementarity problem, which the method of Lemke (1965)
    solves; lexicographic ratios exclude cycles.
    """
    signs, Cs, m = [int(label) for label in problem.y], problem.penalties, len(problem.y)
    has_limits, is_free = problem.loss == "hinge", problem.has_free_intercept
    n, rho = m + m * has_limits + 2 * is_free, Fraction(problem.rho)
    Q, q = [[Fraction(0)] * n for _ in range(n)], [Fraction(-1)] * m + [Fraction(0)] * (n - m)
    gram = problem.gram()
    for i in range(m):
        for j in range(m):
            Q[i][j] = signs[i] * signs[j] * (gram[i][j] + rho * rho)
        if has_limits:
            Q[i][m + i], Q[m + i][i], q[m + i] = Fraction(1), Fraction(-1), Cs[i]
        else:
            Q[i][i] += 1 / (2 * Cs[i])
        if is_free:
            Q[i][n - 2] = Q[n - 1][i] = Fraction(signs[i])
            Q[i][n - 1] = Q[n - 2][i] = Fraction(-signs[i])
    z = _complementary(Q, q)
    weights = [
        sum(a * s * Fraction(v) for a, s, v in zip(z, signs, column, strict=False))
        for column in problem.X.T.tolist()
    ]
    bias = (
        z[n - 2] - z[n - 1]
        if is_free
        else rho * rho * sum(a * s for a, s in zip(z, signs, strict=False))
    )
    return weights, bias


def _complementary(Q, q):
    """Return z >= 0 with Q z + q >= 0 and z.(Q z + q) = 0, for a positive semidefinite Q."""
    n = len(q)
    # Columns: w, z, the artificial variable, and q.
    identity = [[Fraction(i == j) for j in range(n)] for i in range(n)]
    rows = [identity[i] + [-v for v in Q[i]] + [Fraction(-1), q[i]] for i in range(n)]
    basis, entering = list(range(n)), 2 * n
    leaving = min(range(n), key=lambda i: [q[i], *rows[i][:n]])
    while True:
        pivot = rows[leaving][entering]
        rows[leaving] = [v / pivot for v in rows[leaving]]
        for i in range(n):
            if i != leaving and (factor := rows[i][entering]):
                pairs = zip(rows[i], rows[leaving], strict=True)
                rows[i] = [a - factor * b if b else a for a, b in pairs]
        left, basis[leaving] = basis[leaving], entering
        if left == 2 * n:
            return [rows[basis.index(n + j)][-1] if n + j in basis else Fraction(0) for j in range(n)]
        entering = left + n if left < n else left - n
        # The artificial variable leaves as soon as it can.
        pivots = {i: rows[i][entering] for i in range(n) if rows[i][entering] > 0}
        ratios = {i: [v / pivot for v in rows[i]] for i, pivot in pivots.items()}
        leaving = min(pivots, key=lambda i: [ratios[i][-1], basis[i] != 2 * n, *ratios[i]])
