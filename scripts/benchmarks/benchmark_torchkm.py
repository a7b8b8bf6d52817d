"""TorchKM's contest: an SVM with an rbf kernel, 50 values of C, ten folds and the final fit.

    python scripts/benchmarks/benchmark_torchkm.py --folder FOLDER [--samples 1000 3000] [--only-ours]

FOLDER gets an environment with the version of TorchKM that where_solvers_stop.toml pins. The samples are
drawn from the distribution of its `torchkm.functions.data_gen`: each class has five centres, of standard
normal numbers, to which one class adds 2 in the first half of the features, the other in the second. A
sample is a centre of its class plus normal noise of standard deviation 3; features are standardised.
Both solve the problem of SVC with the same kernel and values of C, TorchKM on the processor. `proven` is
the share of our 501 fits whose duality gap is at most 1e-3. `gap` is the proven gap of the final fit.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from measuring import seconds_of

N_FEATURES, N_CENTRES, SHIFT, NOISE = 1000, 5, 2.0, 3.0
CS, N_FOLDS, GAP = np.logspace(-3, 3, 50), 10, 1e-3


def samples_of(m, d=N_FEATURES, seed=0):
    """Return X and labels -1 and 1."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(2, N_CENTRES, d))
    centres[0, :, : d // 2] += SHIFT
    centres[1, :, d // 2 :] += SHIFT
    codes = rng.integers(0, 2, m)
    X = centres[codes, rng.integers(0, N_CENTRES, m)] + NOISE * rng.normal(size=(m, d))
    return (X - X.mean(axis=0)) / X.std(axis=0), 2.0 * codes - 1


def fit_torchkm(source, target):
    """Fit TorchKM in this process, and write its model and its seconds."""
    from torchkm.estimators import TorchKMSVC

    with np.load(source) as file:
        X, y = file["X"], file["y"]
    # Its kernel is exp(-2 rbf_sigma |x - z|^2).
    options = {"rbf_sigma": 0.5 / X.shape[1], "cv": N_FOLDS, "random_state": 0, "device": "cpu"}
    model = TorchKMSVC(Cs=CS, max_iter=10**5, **options)
    *seconds, _ = seconds_of(lambda: model.fit(X, y))
    np.savez(target, C=model.best_C_, seconds=seconds, alpha=model.alpha_, intercept=model.intercept_)


def gap_of_torchkm(found, X, y):
    """Return the proven gap of TorchKM's final fit, whose coefficients are not dual variables."""
    from sklearn.metrics.pairwise import rbf_kernel

    import margins

    # Weights of features that have its kernel matrix.
    squares, vectors = np.linalg.eigh(rbf_kernel(X, gamma=1 / X.shape[1]))
    roots = np.sqrt(np.maximum(squares, 0))
    model = (roots * (found["alpha"].ravel() @ vectors))[None], np.ravel(found["intercept"])
    problem = {"C": float(found["C"]), "loss": "hinge", "penalize_intercept": False}
    return margins.certify(model, vectors * roots, y, accuracy=0.1 * GAP, **problem).certificates[0].gap


def main(argv=None):
    """Print a table of seconds, and their ratios."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

    import reporting
    from where_solvers_stop import python_of

    import margins

    parser = reporting.parser_of(__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--samples", type=int, nargs="+", default=(1000, 3000))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cache-size", type=float, default=2000, help="megabytes, of our kernel values")
    parser.add_argument("--only-ours", action="store_true")
    arguments, rows = parser.parse_args(argv), []
    arguments.folder.mkdir(parents=True, exist_ok=True)
    source, target = arguments.folder / "contest.npz", arguments.folder / "torchkm.npz"
    for m in arguments.samples:
        X, y = samples_of(m)
        ours = margins.MarginClassifierCV(
            **{"kernel": "rbf", "gamma": 1 / X.shape[1], "loss": "hinge", "penalize_intercept": False},
            **{"Cs": CS, "cv": N_FOLDS, "eps": GAP, "random_state": 0},
            **{"n_jobs": arguments.threads, "cache_size": arguments.cache_size},
        )
        wall, processor, _ = seconds_of(lambda ours=ours, X=X, y=y: ours.fit(X, y))
        gaps = [fit.certificate.gap for fold in ours.fold_fits_ for fits in fold for fit in fits]
        gaps.append(ours.certificates_[0].gap)
        proven = np.mean(np.array(gaps) <= GAP)
        row = [str(m), f"{wall:.1f}", f"{processor:.1f}", f"{proven:.3f}", f"{gaps[-1]:.1e}"]
        if not arguments.only_ours:
            np.savez(source, X=X, y=y)
            environment = os.environ | {"OMP_NUM_THREADS": str(arguments.threads)}
            command = [python_of(arguments.folder, "torchkm"), __file__, "--torchkm", source, target]
            subprocess.run(command, check=True, env=environment)
            with np.load(target) as found:
                seconds, gap = found["seconds"], gap_of_torchkm(found, X, y)
            row += [*(f"{value:.1f}" for value in seconds), f"{gap:.1e}"]
            row += [f"{wall / seconds[0]:.3f}", f"{processor / seconds[1]:.3f}"]
        rows.append(row)
        print(*row, file=sys.stderr)
    titles = ["samples", "wall", "processor", "proven", "gap"]
    theirs = ["TorchKM, wall", "processor", "gap", "ratio, wall", "ratio, processor"]
    print(reporting.markdown(titles + ([] if arguments.only_ours else theirs), rows))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--torchkm"]:
        fit_torchkm(*sys.argv[2:])
    else:
        main()
