"""The hinge loss against ReHLine, which reports a relative duality gap, too: docs/benchmarks.md.

    MARGINS_DATA=... python scripts/benchmarks/benchmark_rehline.py --folder FOLDER [--only spambase]

FOLDER gets an environment with the version of ReHLine that where_solvers_stop.toml pins. Both solve the
L1-SVM with a penalised intercept, with features divided by their largest absolute value. Of `TOLS` times
the gap, ReHLine has the fastest `tol` whose model `margins.certify` proves to be within the gap, and of
sparse and dense samples the faster. Seconds are processor time, the least of several fits. ReHLine has
one thread of BLAS, and ours as many as there are.
"""

import json
import math
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

GAPS, CS, TOLS = (1e-3, 1e-5), (1.0, 100.0), (10.0, 1.0, 0.1)
SETS = (
    *("spambase", "splice", "pcmac", "basehock", "relathe", "a9a", "w8a"),
    *("madelon", "mushrooms", "australian", "wdbc"),
)
TURN = 0.1  # seconds: some clocks have steps of 4 ms
LIMIT = 20  # processor seconds of all fits of one setting of ReHLine


def least_seconds(fit, repeats):
    """Return the least processor seconds of a fit, of turns that last at least `TURN`."""
    least = math.inf
    for _ in range(repeats):
        begin, count = time.process_time(), 0
        while count == 0 or time.process_time() - begin < TURN:
            fit()
            count += 1
        least = min(least, (time.process_time() - begin) / count)
        if least > 1:  # one turn is enough
            break
    return least


def fit_rehline(source, target, C, tol, repeats):
    """Fit ReHLine in this process, and write its model and the seconds."""
    from rehline import plq_Ridge_Classifier

    with np.load(source) as file:
        arrays = dict(file)
    X, y = arrays.get("X"), arrays["y"]
    if X is None:
        parts = arrays["data"], arrays["indices"], arrays["indptr"]
        X = sparse.csr_matrix(parts, arrays["shape"])
    model = plq_Ridge_Classifier({"name": "svm"}, C=C, tol=tol, max_iter=10**6)
    warnings.simplefilter("ignore")
    seconds = least_seconds(lambda: model.fit(X, y), repeats)
    np.savez(target, coef=np.ravel(model.coef_), intercept=np.ravel(model.intercept_), seconds=seconds)


def seconds_of_rehline(python, folder, forms, y, C, gap, repeats):
    """Return the least seconds of the settings that prove a gap; None if none does in time."""
    import margins

    best, target = None, folder / "rehline.npz"
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    for form, X in forms.items():
        for share in TOLS:
            arguments = [folder / f"{form}.npz", target, C, share * gap, repeats]
            command = [python, __file__, "--rehline", json.dumps(list(map(str, arguments)))]
            limited = {"preexec_fn": _limit, "env": environment, "capture_output": True}
            if subprocess.run(command, **limited).returncode:
                break  # a smaller tolerance takes longer
            with np.load(target) as found:
                model, seconds = (found["coef"][None], found["intercept"]), float(found["seconds"])
            (proof,) = margins.certify(
                model, X, y, C=C, loss="hinge", penalize_intercept=True, accuracy=0.1 * gap
            ).certificates
            if proof.gap <= gap and (best is None or seconds < best):
                best = seconds
    return best


def _limit():
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))


def main(argv=None):
    """Print a table of seconds and ratios."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

    import real_data
    import reporting
    from sklearn.preprocessing import MaxAbsScaler
    from where_solvers_stop import python_of

    import margins

    parser = reporting.parser_of(__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args(argv)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    python, rows, ratios = python_of(arguments.folder, "rehline"), [], []
    for name in arguments.only:
        data = real_data.binary(name)
        X, y = MaxAbsScaler().fit_transform(data.X), data.y
        forms = {"dense": X.toarray() if sparse.issparse(X) else X}
        np.savez(arguments.folder / "dense.npz", X=forms["dense"], y=y)
        if sparse.issparse(X):
            forms["sparse"] = X = sparse.csr_matrix(X)
            parts = {name: getattr(X, name) for name in ("data", "indices", "indptr", "shape")}
            np.savez(arguments.folder / "sparse.npz", y=y, **parts)
        for C in CS:
            for gap in GAPS:
                ours = margins.MarginClassifier(loss="hinge", C=C, eps=gap, random_state=0)
                seconds = least_seconds(lambda ours=ours, X=X, y=y: ours.fit(X, y), arguments.repeats)
                theirs = seconds_of_rehline(
                    python, arguments.folder, forms, y, C, gap, arguments.repeats
                )
                if theirs is not None:
                    ratios.append(seconds / theirs)
                shown = ("-", "-") if theirs is None else (f"{theirs:.4f}", f"{ratios[-1]:.2f}")
                proven = "" if ours.converged_ else " (not proven)"
                rows.append([name, f"{C:g}", f"{gap:g}", f"{seconds:.4f}{proven}", *shown])
                print(*rows[-1], file=sys.stderr)
    print(reporting.markdown(["data", "C", "gap", "margins", "ReHLine", "ratio"], rows))
    print(f"\nmedian {np.median(ratios):.2f}, largest {max(ratios):.2f} of {len(ratios)} ratios")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rehline"]:
        source, target, C, tol, repeats = json.loads(sys.argv[2])
        fit_rehline(source, target, float(C), float(tol), int(repeats))
    else:
        main()
