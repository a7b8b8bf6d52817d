"""Run tests and a fuzz on a build that reports invalid memory accesses and undefined behaviour.

python scripts/robustness/sanitize.py [--minutes 5] [--seed 0] [--sample]

The kernels are built with bounds checks of arrays, with AddressSanitizer and with
UndefinedBehaviorSanitizer, which checks the alignment of pointers, too, in a folder of their own, so
that the ordinary build stays. Then run, in turn: one fault for each sanitizer, which must be reported;
the tests of kernels and of malformed input; and `scripts/robustness/fuzz.py`. The exit status is 0 if
there is no other report and no failure. ``--sample``: one part of the kernels, drawn by the seed, is
built so, and only its tests run.

Needs gcc with its sanitizers (libasan, libubsan), on Linux.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
import tomllib
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("margins", "tests", "scripts", "docs", ".ci", ".github")
PARTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
# Reports of undefined behaviour and of bounds checks on standard error.
REPORTS = ("runtime error: ", "stores column")
READS_MATRICES = r"margins\._sparse|margins\.data\._structure"  # they contain the faults below
# One fault for each sanitizer, by kernels whose arguments the caller has to check.
FAULTS = {
    "a read beyond an array": """
import numpy as np
from margins._sparse import Rows
rows = Rows(np.ones(1), 1, 1, np.array([1000], dtype=np.int32), np.array([0, 1], dtype=np.int32))
rows.py_dot(0, np.zeros(1))
""",
    "an array that is not aligned": """
import malformed, numpy as np
from margins.data._structure import all_ones
all_ones(malformed.unaligned(np.ones(9)))
""",
}


def main(arguments=None):
    """Run the command line, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5, help="minutes of the fuzz; 0: none")
    parser.add_argument("--seed", type=int, default=0, help="seed of the fuzz and of the sample")
    parser.add_argument("--sample", action="store_true", help="one part of the kernels, and its tests")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "sanitized")
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    for name in ("libasan.so", "libubsan.so"):
        library(name)
    parts = [random.Random(options.seed).choice(list(PARTS))] if options.sample else list(PARTS)
    with timed(f"build of {' '.join(parts)}"):
        copy(folder)
        build(folder, "|".join([READS_MATRICES, *parts]))
    runs = {"tests": ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--capture=sys"]}
    runs["tests"] += [test for part in parts for test in PARTS[part]]
    if options.minutes > 0:
        fuzz = ["--minutes", str(options.minutes), "--seed", str(options.seed)]
        runs["fuzz"] = ["scripts/robustness/fuzz.py", *fuzz]
    with timed("faults that must be reported"):
        for what, code in FAULTS.items():
            _, reports = run(folder, ["-c", code], output=subprocess.DEVNULL)
            if not reports:
                print(f"No report of {what}: the sanitizers are not active.", file=sys.stderr)
                return 1
    failed, n_reports = [], 0
    for name, arguments in runs.items():
        with timed(name):
            status, reports = run(folder, arguments)
        if status:
            failed.append(name)
        n_reports += len(reports)
        for report in reports:
            print(report, file=sys.stderr)
    print(f"{n_reports} reports; failed: {', '.join(failed) or 'nothing'}")
    return 1 if n_reports or failed else 0


def copy(folder):
    """Copy all files to build, test and run, without compiled modules; earlier builds stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        shutil.rmtree(folder / name, ignore_errors=True)
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("*.so", "__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy2(path, folder)
    if not (folder / "build").exists():  # C sources, and kernels that stay as they are
        for name in ("cython", "kernels"):
            if (ROOT / "build" / name).exists():
                shutil.copytree(ROOT / "build" / name, folder / "build" / name)


def build(folder, modules):
    """Build the kernels in a folder, with checks and sanitizers where a regular expression matches."""
    environment = os.environ | {"MARGINS_SANITIZE": modules, "MARGINS_BOUNDSCHECK": modules}
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}The kernels do not compile with sanitizers.")
    for source in (folder / "build/cython-checked").rglob("_sparse.c"):
        if "__Pyx_RaiseBufferIndexError" in source.read_text(encoding="utf-8"):
            return
    raise SystemExit("The kernels do not check bounds.")


def run(folder, arguments, output=None):
    """Run Python in the folder, and return (exit status, reports of the sanitizers)."""
    reports = folder / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir()
    environment = os.environ | {
        # The runtime must be the first library, and C++ be loaded before it intercepts exceptions.
        "LD_PRELOAD": f"{library('libasan.so')}:{library('libstdc++.so')}",
        # Python keeps memory until the process ends, and raises an error if an allocation fails.
        "ASAN_OPTIONS": f"log_path={reports / 'report'}:detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",  # writes to standard error, regardless of log_path
        "PYTHONMALLOC": "malloc",  # so that every allocation is watched
        "PYTHONPATH": os.pathsep.join(str(folder / name) for name in ("", "tests/helpers")),
        "OPENBLAS_NUM_THREADS": "1",
        "CI": "true",  # hypothesis then has no limits of time
    }
    with open(folder / "standard_error", "w+", errors="replace") as error:
        status = subprocess.run(
            [sys.executable, *arguments], cwd=folder, env=environment, stdout=output, stderr=error
        ).returncode
        error.seek(0)
        text = error.read()
    texts = [path.read_text(errors="replace") for path in sorted(reports.iterdir())]
    if any(sign in text for sign in REPORTS):
        texts.append(text)
    elif output is None:
        print(text, end="", file=sys.stderr)
    return status, texts


def library(name):
    """Return the path of a library of gcc."""
    command = [os.environ.get("CC", "gcc"), f"-print-file-name={name}"]
    path = subprocess.run(command, text=True, capture_output=True, check=True).stdout.strip()
    if not os.path.isabs(path):
        raise SystemExit(
            f"{command[0]} must have {name} (Debian: apt-get install gcc; or set CC to a gcc that "
            "has it). Got none."
        )
    return path


@contextmanager
def timed(what):
    """Print the name of a step, and the time it took."""
    begin = time.perf_counter()
    print(f"=== {what}", flush=True)
    yield
    print(f"=== {what}: {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
