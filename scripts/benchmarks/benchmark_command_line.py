"""Processor seconds of whole processes: `margins` and LIBLINEAR's programs on the same files.

python scripts/benchmarks/benchmark_command_line.py one.svm other.svm
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
    parser.add_argument("files", nargs="+", help="in svmlight's format")
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args(arguments)
    if shutil.which("liblinear-train") is None:
        parser.error("liblinear-train is not installed: apt install liblinear-tools")
    margins, rows = Path(sys.executable).with_name("margins"), []
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or every process would compile the package
    with tempfile.TemporaryDirectory() as folder:
        model, their_model, output = (f"{folder}/{name}" for name in ("model", "theirs", "output"))
        for file in options.files:
            ours = {"train": [file, model], "predict": [model, file, output]}
            theirs = {"train": [file, their_model], "predict": [file, their_model, output]}
            for task in ours:
                commands = [margins, task, "-q", *ours[task]], [f"liblinear-{task}", "-q", *theirs[task]]
                runs = [[seconds_of(command) for command in commands] for _ in range(options.repeats)]
                least = list(map(min, zip(*runs, strict=True)))
                ratio = f"{least[0] / least[1]:.2f}"
                rows.append([Path(file).stem, task, *(f"{value:.3f} s" for value in least), ratio])
    print(reporting.markdown(["data", "command", "`margins`", "LIBLINEAR", "ratio"], rows))


if __name__ == "__main__":
    reporting.in_both_environments(main)
