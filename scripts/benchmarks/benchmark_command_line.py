"""Processor seconds of whole processes: ``margins train`` and LIBLINEAR's ``train`` on the same files.

python scripts/benchmarks/benchmark_command_line.py one.svm other.svm

Needs the program of the Debian package liblinear-tools (or another, by --liblinear).
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def seconds_of(command):
    """Return the processor seconds of a process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", help="in svmlight's format")
    parser.add_argument("--liblinear", default=shutil.which("liblinear-train"))
    parser.add_argument("--repeats", type=int, default=15)
    given = parser.parse_args(arguments)
    if given.liblinear is None:
        parser.error("liblinear-train is not installed: apt install liblinear-tools")
    margins = Path(sys.executable).with_name("margins")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    print("| data | `margins train` | LIBLINEAR's `train` | ratio |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for file in given.files:
            commands = (
                [margins, "train", "-q", file, f"{folder}/model.skops"],
                [given.liblinear, "-q", file, f"{folder}/model"],
            )
            runs = [[seconds_of(command) for command in commands] for _ in range(given.repeats)]
            ours, theirs = map(min, zip(*runs, strict=True))
            print(f"| {Path(file).stem} | {ours:.3f} s | {theirs:.3f} s | {ours / theirs:.2f} |")


if __name__ == "__main__":
    main()
