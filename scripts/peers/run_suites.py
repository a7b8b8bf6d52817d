"""scikit-learn's own tests with its classifiers replaced by this library's: how they end, and why.

    python scripts/peers/run_suites.py [--modules sklearn.svm.tests.test_svm ...]

Of the tests that use a replaced class, and that pass without the replacement, it counts those that pass,
those of features that are not there, those of internals (private attributes, messages, warnings), and
those that have been read, listed in `READ` with the reason. Any other failure is new, and printed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parent
MODULES = (
    "sklearn.svm.tests.test_svm",
    "sklearn.svm.tests.test_sparse",
    "sklearn.svm.tests.test_bounds",
    "sklearn.linear_model.tests.test_perceptron",
    "sklearn.linear_model.tests.test_passive_aggressive",
    "sklearn.linear_model.tests.test_sgd",
    "sklearn.semi_supervised.tests.test_self_training",
    "sklearn.ensemble.tests.test_common",
    "sklearn.ensemble.tests.test_voting",
    "sklearn.ensemble.tests.test_bagging",
    "sklearn.ensemble.tests.test_stacking",
    "sklearn.ensemble.tests.test_weight_boosting",
    "sklearn.metrics.tests.test_classification",
    "sklearn.metrics.tests.test_score_objects",
    "sklearn.feature_selection.tests.test_from_model",
    "sklearn.feature_selection.tests.test_rfe",
    "sklearn.tests.test_multioutput",
    "sklearn.tests.test_pipeline",
    "sklearn.tests.test_multiclass",
    "sklearn.tests.test_calibration",
    "sklearn.model_selection.tests.test_search",
    "sklearn.model_selection.tests.test_validation",
    "sklearn.model_selection.tests.test_classification_threshold",
    "sklearn.model_selection.tests.test_successive_halving",
)

# In the error of a failure: a feature that is not there; something that is no behaviour of a classifier.
NOT_THERE = re.compile(
    r"NotThere|is not there|n_splits=5 cannot be greater|Got -0\.5 for sample"
    r"|has no attribute '(support_vectors_|partial_fit|predict_proba)'"
)
INTERNAL = re.compile(
    r"DID NOT (RAISE|WARN)|Regex pattern did not match|has no attribute '_|'_average_coef'|'t_'"
    r"|has no attribute 'toarray'|function issparse|<class 'numpy.ndarray'>"
    r"|dtype\('float64'\) == <class 'numpy.float32'>"
)
# Failures that have been read, by name of the test.
READ = {
    "test_libsvm_parameters": "dual_coef_ of a linear kernel is of all samples; coef_ is there instead",
    "test_tweak_params": "as test_libsvm_parameters",
    "test_svc_clone_with_callable_kernel": "as test_libsvm_parameters",
    "test_precomputed": "other support vectors of equal samples, which have a dual variable in common",
    "test_svc_ovr_tie_breaking": "the test needs data with ties, which these scores do not have",
    "test_custom_kernel_not_array_input": "a callable kernel takes matrices, not text",
    "test_classifier_correctness": "the intercept counts in |x|^2, as in the paper",
    "test_class_weights": "the optimum, where SGD's last iterate is on the other side",
    "test_sample_weights": "as test_class_weights",
    "test_balanced_weight": "the optimum classifies one sample less correctly than SGD's last iterate",
    "test_tol_parameter": "n_iter_ is 1, of Newton steps",
    "test_ovr_partial_fit": "pegasos instead of SGD with a learning rate",
    "test_calibrated_classifier_cv_works_with_large_confidence_scores": "scores are not that large",
    "test_cross_val_score_precomputed": "one sample of 150 near the boundary",
    "test_cross_val_score_with_score_func_classification": "as test_cross_val_score_precomputed",
    "test_permutation_score": "as test_cross_val_score_precomputed",
    "test_learning_curve_batch_and_incremental_learning_are_equal": "the optimum and a stream differ",
    "test_multi_core_gridsearch_and_early_stopping": "early_stopping is not there",
    "test_stochastic_gradient_loss_param": "loss='log_loss' is not there",
    "test_learning_curve_with_shuffle": "learning_rate is not there",
}
ABSENT = ("early_stopping", "loss=", "learning_rate")


def recorded(modules, replace):
    """Return the records of the tests of some modules: list of dict."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record"
        record.touch()
        environment = {**os.environ, "PEERS_RECORD": str(record), "PEERS_REPLACE": str(int(replace))}
        environment["PYTHONPATH"] = os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")])
        options = ["-q", "-n", "0", "-c", os.devnull, "-p", "plugin", "-p", "no:cacheprovider"]
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, "--pyargs", *modules],
            env=environment,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        return [json.loads(line) for line in record.read_text().splitlines()]


def kind_of(record):
    """Return how a test ended: "passed", "not there", "internals", "read" or "new"."""
    if record.get("outcome") != "failed":
        return "passed"
    error, name = record.get("error", ""), record["test"].split("::")[-1].split("[")[0]
    if NOT_THERE.search(error):
        return "not there"
    if INTERNAL.search(error):
        return "internals"
    if name in READ:
        return "not there" if READ[name].startswith(ABSENT) else "read"
    return "new"


def main(arguments=None):
    """Run the suites and print the table: 1 if a failure is new, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modules", nargs="+", default=MODULES)
    modules = parser.parse_args(arguments).modules
    plain = {record["test"] for record in recorded(modules, False) if record.get("outcome") == "failed"}
    records = [
        record
        for record in recorded(modules, True)
        if record["used"] and record.get("outcome") != "skipped" and record["test"] not in plain
    ]
    counts = Counter(map(kind_of, records))
    print(f"{len(records)} tests use a class of this library")
    for kind in ("passed", "not there", "internals", "read", "new"):
        print(f"  {kind:<10}{counts[kind]:>5}")
    missing = [
        re.search(r"(\w+)(=\S+)? is not there", record["error"])
        for record in records
        if kind_of(record) == "not there"
    ]
    for feature, count in Counter(found.group(1) for found in missing if found).most_common():
        print(f"    {feature:<25}{count:>4}")
    for record in records:
        if kind_of(record) == "new":
            print(f"new: {record['test']}: {record['error'][:200]}")
    return int(counts["new"] > 0)


if __name__ == "__main__":
    sys.exit(main())
