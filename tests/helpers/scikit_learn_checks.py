"""scikit-learn's checks of one estimator, and its version."""

from collections import Counter

import sklearn
from sklearn.utils.estimator_checks import check_estimator

VERSION = tuple(map(int, sklearn.__version__.split(".")[:2]))
# A weight of 2 is the same as two samples, and of 0 as none.
EQUIVALENCE = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def assert_passes_scikit_learn(estimator, expected_failures):
    """It passes all checks, but fails those of `expected_failures`, {check: reason}."""
    results = check_estimator(
        estimator, expected_failed_checks=expected_failures, on_skip=None, on_fail=None
    )
    failed = {
        result["check_name"]: result["exception"]
        for result in results
        if result["status"] in ("failed", "xfail")
    }
    for name, exception in failed.items():
        if name not in expected_failures:
            raise AssertionError(f"{estimator} fails {name}") from exception
    passed = expected_failures.keys() - failed.keys()
    assert not passed, f"{estimator} passes {', '.join(passed)}, which it is expected to fail"
    assert Counter(result["status"] for result in results)["passed"] > 20
