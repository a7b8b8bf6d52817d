"""The result of `explain`: the plan of a fit, its reason, and the costs of all solvers."""

from dataclasses import dataclass

from margins.data.binary_data import rows_of
from margins.solvers.auto import Candidate, candidates
from margins.solvers.plans import Plan
from margins.text import percent


@dataclass(frozen=True)
class Explanation:
    """The plan of a fit and its reason, like EXPLAIN in a database. Nothing has been trained.

    Attributes
    ----------
    n_samples, n_features, n_nonzeros, n_problems : int
        Samples of positive weight, features, stored elements of X, and binary problems.
    loss : str
    kernel : str
    rows : {"X", "Gram matrix", "kernel"}
        Matrix that the solvers read.
    eps : float
    required_gap : float
        Relative duality gap that proves `eps`.
    required_improvement : float
        Share of the possible improvement over the best constant classifier that is proven, too.
    plan : Plan
    candidates : tuple of Candidate
        All solvers, with predicted costs or the reasons why they are not applicable.

    Examples
    --------
    >>> import margins
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> margins.MarginClassifier(C=float("inf")).explain(X, y).solver
    'continuation + unlearning'
    """

    n_samples: int
    n_features: int
    n_nonzeros: int
    n_problems: int
    loss: str
    kernel: str
    rows: str
    eps: float
    required_gap: float
    required_improvement: float
    plan: Plan
    candidates: tuple[Candidate, ...]

    @property
    def solver(self):
        """The names of the planned solvers, in order, joined by ' + '."""
        names = [phase.solver for phase in self.plan.phases]
        return " + ".join(
            name for name, previous in zip(names, [None, *names], strict=False) if name != previous
        )

    def __repr__(self):
        problems = "1 binary problem" if self.n_problems == 1 else f"{self.n_problems} binary problems"
        lines = [
            f"{self.n_samples} samples x {self.n_features} features, {self.n_nonzeros} stored elements; "
            f"{problems}",
            f"loss={self.loss!r}, kernel={self.kernel!r}, eps={self.eps:g} "
            f"(relative duality gap <= {self.required_gap:.3g}; "
            f"{percent(self.required_improvement)} of the possible improvement)",
            f"reads {'the ' if self.rows != 'X' else ''}{self.rows}; {self.plan.reason}",
            "plan:",
            *(f"  {number}. {phase}" for number, phase in enumerate(self.plan.phases, 1)),
            "candidates (predicted passes over the stored elements):",
        ]
        for candidate in self.candidates:
            cost = candidate.why_not if candidate.passes is None else f"{candidate.passes:.3g}"
            lines.append(f"  {candidate.solver:<15}{cost}")
        return "\n".join(lines)


def explanation_of(training_set, of_problem, problem, specification, plan, kernel):
    """Return the explanation of a plan for the first problem; `kernel` is the value that was passed."""
    X, loss = training_set.samples.X, problem.loss
    is_gram = of_problem.features is not None
    n_stored = X.shape[0] * X.shape[1] if training_set.is_kernel else int(rows_of(X).n_stored)
    return Explanation(
        n_samples=X.shape[0],
        n_features=training_set.samples.n_features,
        n_nonzeros=n_stored,
        n_problems=training_set.scheme.n_problems,
        loss=loss.name if loss.is_finite else "hard margin",
        kernel=kernel,
        rows="Gram matrix" if is_gram else "kernel" if training_set.is_kernel else "X",
        eps=float(specification.eps),
        required_gap=float(loss.required_gap(specification.eps)),
        required_improvement=specification.required_improvement,
        plan=plan,
        candidates=candidates(problem, specification.eps),
    )
