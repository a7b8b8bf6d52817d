"""Processor seconds of whole processes: ``margins train`` and LIBLINEAR's ``train`` on the same files.

python scripts/benchmarks/benchmark_command_line.py one.svm other.svm

Needs the program of the Debian package liblinear-tools (or another, by --liblinear).
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import reporting


def seconds_of(command):
    """Return the processor seconds of a process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(arguments=None):
    """Print a table of seconds."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("files", nargs="+", help="in svmlight's format")
    option("--liblinear", default=shutil.which("liblinear-train"), help="their program")
    option("--repeats", type=int, default=15)
    options = parser.parse_args(arguments)
    if options.liblinear is None:
        parser.error("liblinear-train is not installed: apt install liblinear-tools")
    margins = Path(sys.executable).with_name("margins")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for file in options.files:
            commands = (
                [margins, "train", "-q", file, f"{folder}/model.skops"],
                [options.liblinear, "-q", file, f"{folder}/model"],
            )
            runs = [[seconds_of(command) for command in commands] for _ in range(options.repeats)]
            ours, theirs = map(min, zip(*runs, strict=True))
            rows.append([Path(file).stem, f"{ours:.3f} s", f"{theirs:.3f} s", f"{ours / theirs:.2f}"])
    print(reporting.markdown(["data", "`margins train`", "LIBLINEAR's `train`", "ratio"], rows))


if __name__ == "__main__":
    main()
