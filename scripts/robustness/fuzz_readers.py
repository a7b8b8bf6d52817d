"""Damaged files, read by margins and by scikit-learn or pandas.

    python scripts/robustness/fuzz_readers.py [--count 100000] [--seed 0]

File number i is a function of the seed and of i: a small valid file of svmlight's format, CSV or
Parquet in which bytes are flipped, removed, inserted or duplicated, tokens exchanged or replaced, and
lines joined. The command line's reader, the reader of `Chunks`, and `load_svmlight_file`,
`pandas.read_csv` or `pandas.read_parquet` read it. Each of ours must return the samples or raise the
error that it declares, whose message begins with the path; ours must agree with each other, and with the
other reader on the values of every file that both accept. What ours accepts and the other refuses needs
a note on standard error.

Files are read in child processes, so that one that ends its reader is found: it is saved, as every input
with a fault, to the folder given by --save, and the exit status is 1. A table counts the outcomes.
"""

import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reader_cases import COLUMNS, FORMATS, Outcome, case_of, outcome_of

from margins.text import aligned

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import reporting

BATCH = 2500  # files that one process reads
SECONDS = 60  # for one file, until its reader is taken to hang


def main(arguments=None):
    """Run the command line, and return the exit status."""
    parser = reporting.numbered_problems(__doc__, 100_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--save", type=Path, default=Path("build/fuzz_readers"))
    options = parser.parse_args(arguments)
    started, end = time.monotonic(), options.begin + options.count
    begins = range(options.begin, end, BATCH)
    outcomes, faults = Counter(), []
    with ThreadPoolExecutor(options.jobs) as executor:
        batches = executor.map(lambda begin: run(options.seed, begin, min(begin + BATCH, end)), begins)
        for index, outcome in (pair for batch in batches for pair in batch):
            outcomes[outcome.format, outcome.column] += 1
            if outcome.fault:
                faults.append(index)
                save(options.save, options.seed, index, outcome)
    print_table(outcomes)
    seconds = time.monotonic() - started
    print(f"{options.count} files, {len(faults)} with faults, {seconds:.0f} s")
    return 1 if faults else 0


def print_table(outcomes):
    """Print how many files there were of each outcome."""
    header = ("format", *COLUMNS)
    rows = [(kind, *(str(outcomes[kind, column]) for column in COLUMNS)) for kind in FORMATS]
    print(aligned([header, *rows]))


def save(folder, seed, index, outcome):
    """Save the input of a fault, and print what is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{seed}-{index}.{outcome.format}"
    path.write_bytes(case_of(seed, index)[1])
    print(f"--seed {seed} --begin {index} --count 1, {path}: {outcome.fault}", flush=True)


def run(seed, begin, end, target=None, method="spawn"):
    """Read files in child processes, which run `target`: list of (number, Outcome)."""
    context, outcomes = multiprocessing.get_context(method), []
    while begin < end:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=target or read_cases, args=(seed, begin, end, sender))
        process.start()
        sender.close()
        try:
            while begin < end and receiver.poll(SECONDS):
                outcomes.append((begin, receiver.recv()))
                begin += 1
            fault = f"its reader took more than {SECONDS} seconds"
        except EOFError:
            process.join()
            fault = f"its reader ended the process, with exit code {process.exitcode}"
        process.kill()
        process.join()
        if begin < end:
            outcomes.append((begin, Outcome(case_of(seed, begin)[0], "differing", fault)))
            begin += 1
    return outcomes


def read_cases(seed, begin, end, sender):
    """Read files, and send the outcome of each."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        for index in range(begin, end):
            sender.send(outcome_of(*case_of(seed, index), path))
    sender.close()


if __name__ == "__main__":
    sys.exit(main())
