"""How many samples a certificate screens along C (`margins.solvers.screening`): shares, in percent.

For every C of a path, before the fit, by the solution for the C before, and after it, by its own
certificate. Screening pays only if the shares before are large: after the fit nothing is left to do.
"""

import argparse

import benchmark_paths
import numpy as np
import reporting

import margins
from margins.data.validation import validate_samples
from margins.estimators.along_c import TrainingSet
from margins.kernels import LINEAR
from margins.solvers.screening import screened, screened_by

EPS = 1e-3


def best_dual(loss, run, ratio):
    """The best dual value of a multiple of the dual variables of a run: float."""
    alpha, sqnorm = run.weights.dual, run.weights.ordinary_sqnorm(run.data)
    values = []
    for factor in (1.0, ratio):
        total = factor * alpha.sum()
        square = factor**2 * (sqnorm + np.sum(np.asarray(loss.diag) * alpha**2))
        # With no upper bounds, at the best scale of them all.
        values.append(total - 0.5 * square if loss.has_upper_bounds else 0.5 * total**2 / square)
    return max(values)


def shares(X, y, loss, Cs):
    """Shares before and after each fit but the first: list of (C, before, after)."""
    estimator = margins.MarginClassifier(loss=loss, eps=EPS, random_state=0)
    X, y, codes = validate_samples(estimator, X, y)
    estimator.kernel_ = LINEAR
    found, last = [], []

    def visit(i, fitted, run):
        if last:
            margins_before, sqnorm, before, C = last.pop()
            primal = 0.5 * sqnorm + run.loss.value(margins_before)
            dual = best_dual(run.loss, before, fitted.C / C)
            start = screened(run.loss, margins_before, run.data.ordinary_sqnorms, primal, dual)
            found.append((fitted.C, start.share, screened_by(run).share))
        products = run.primal_scale * run.products
        sqnorm = run.primal_scale**2 * run.hypothesis.ordinary_sqnorm(run.data)
        last.append((products, sqnorm, run, fitted.C))

    TrainingSet(estimator, estimator._weigh(X, codes, None)).train(1, 0, Cs, visit)
    return found


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=["windows"], metavar="NAME", help="of two classes")
    parser.add_argument("--n-cs", type=int, default=10, metavar="N", help="default: %(default)s")
    parser.add_argument("--quick", action="store_true", help="few samples: to see that it runs")
    arguments = parser.parse_args(argv)
    Cs = np.logspace(-2, 2, arguments.n_cs)
    report = {}
    for name in arguments.names:
        X, y = benchmark_paths.data_of(name, arguments.quick)
        for loss in ("squared_hinge", "hinge"):
            rows = report[name, loss] = shares(X, y, loss, Cs)
            print(f"\n{name}, {loss}, {arguments.n_cs} values of C")
            lines = [
                [f"{C:.3g}", f"{100 * before:.1f}", f"{100 * after:.1f}"] for C, before, after in rows
            ]
            print(reporting.table(["C", "before", "after"], lines))
    return report


if __name__ == "__main__":
    main()
