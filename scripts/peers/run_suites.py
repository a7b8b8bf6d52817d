"""scikit-learn's own tests with its classifiers replaced by this library's: how they end, and why.

    python scripts/peers/run_suites.py [--modules sklearn.svm.tests.test_svm ...]

Of the tests that use a replaced class, and that pass without the replacement, it counts those that pass,
those of features that are not there, those of internals (private attributes, messages, warnings), and
those that have been read, listed in `suites.toml` with the reason. Any other failure is printed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parent
SUITES = tomllib.loads((FOLDER / "suites.toml").read_text(encoding="utf-8"))

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
            capture_output=True,
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
    if name in SUITES["read"]:
        return "not there" if SUITES["read"][name].startswith(ABSENT) else "read"
    return "new"


def main(arguments=None):
    """Run the suites, print the table, and return 1 if a failure is new, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modules", nargs="+", default=SUITES["modules"])
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
    for feature, count in Counter(match.group(1) for match in missing if match).most_common():
        print(f"    {feature:<25}{count:>4}")
    for record in records:
        if kind_of(record) == "new":
            print(f"new: {record['test']}: {record['error'][:200]}")
    return int(counts["new"] > 0)


if __name__ == "__main__":
    sys.exit(main())
