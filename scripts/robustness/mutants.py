"""Change the package in one place at a time, and count how many of the changes the tests find.

python scripts/robustness/mutants.py results.jsonl [--count 60] [--seed 0] [--again FILE]

A change (mutant) exchanges an operator, a constant or a bound on a line drawn at random, an equal
number in each part of the package. It is made in a copy of the checkout, whose compiled modules it
rebuilds; what does not compile is drawn again. Then run the tests named after the changed module or
package. What these do not find is made together, in one copy, and all that `python -m pytest` runs is
run once; each test that fails then is run with each of these mutants alone. A test that fails, an error
of the tests, and a run that takes longer than --limit all count as found.

Each line of the results is one mutant: the file, the line before and after, the test that found it (""
if none did), and whether all tests were run. A run that is started again continues where it ended.
``--again``: take the mutants of other results; with --survivors, only those that no test found there.
So two versions of the tests are compared.

A mutant that no test finds has to be read: a change that affects only the speed, or nothing at all,
needs no test; any other does.
"""

import argparse
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import tokenize
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import sanitize

ROOT = Path(__file__).resolve().parents[2]
PARTS = {
    "kernels": ("_sparse.pyx", "_update.pyx", "_activeset.pyx", "kernels", "losses", "rules", "linalg"),
    "solvers": ("solvers",),
    "estimators": ("estimators", "algorithms", "training", "data"),
    "partitions": ("partitions",),
    "studies": ("model_selection",),
    "command line": ("cli",),
}
EXCHANGED = {
    **{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    **{"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*"},
    **{"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="},
    **{"and": "or", "or": "and", "not": "", "True": "False", "False": "True"},
    **{"min": "max", "max": "min", "any": "all", "all": "any", "fmin": "fmax", "fmax": "fmin"},
    **{"sorted": "list", "break": "continue", "continue": "break", "INFINITY": "0.0"},
}
FUNCTIONS = ("min", "max", "any", "all", "fmin", "fmax", "sorted")
# Lines that declare, import or only end an expression.
SKIPPED = re.compile(
    r"\s*((from|import|cimport|cdef|cpdef|ctypedef|def|class|assert|raise)\b|[@#)}\]])|.*->"
)


@dataclass(frozen=True)
class Mutant:
    """A changed line: `path` relative to the root, `line` counted from 1."""

    path: str
    line: int
    before: str
    after: str


def places(text):
    """{line: [(start, end, replacement)]} of what can be exchanged in a module, outside of strings."""
    found = {}
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        number, start = token.start
        if token.type not in (tokenize.OP, tokenize.NAME, tokenize.NUMBER):
            continue
        line, end = lines[number - 1], token.end[1]
        replacement = replacement_of(line[:start].rstrip(), token, line[end:])
        if replacement is not None and not SKIPPED.match(line):
            found.setdefault(number, []).append((start, end, replacement))
    return found


def replacement_of(preceding, token, following):
    """Return the replacement of a token, or None."""
    text = token.string
    if token.type == tokenize.NUMBER:
        is_plain = re.fullmatch(r"\d+(\.\d+)?", text)
        return str((float if "." in text else int)(text) + 1) if is_plain else None
    if text in ("*", "**") and (not preceding or preceding[-1] in "(,[{="):  # of arguments
        return None
    if text == "not" and (preceding.endswith(" is") or following.lstrip().startswith("in ")):
        return None
    if text in FUNCTIONS and not following.startswith("("):
        return None
    if text == "True" and preceding.endswith("strict="):
        return None
    return EXCHANGED.get(text)


def drawn(seed):
    """Pairs (part, mutant), as many as there are lines: not every mutant compiles."""
    generator = random.Random(seed)
    lines = {part: [] for part in PARTS}
    for part, names in PARTS.items():
        for name in names:
            path = ROOT / "margins" / name
            for source in sorted(path.rglob("*.py*")) if path.is_dir() else [path]:
                if source.suffix in (".py", ".pyx"):
                    changes = places(source.read_text(encoding="utf-8"))
                    relative = source.relative_to(ROOT).as_posix()
                    lines[part] += [(relative, number, changes[number]) for number in changes]
    while True:
        for part in PARTS:
            path, number, changes = chosen = generator.choice(lines[part])
            lines[part].remove(chosen)  # each line once
            start, end, replacement = generator.choice(changes)
            before = (ROOT / path).read_text(encoding="utf-8").splitlines()[number - 1]
            yield part, Mutant(path, number, before, before[:start] + replacement + before[end:])


class Copy:
    """A copy of the checkout, in which mutants are made and tested."""

    def __init__(self, folder, limit, processes):
        self.folder, self.limit, self.processes = folder, limit, processes
        sanitize.copy(folder)
        if not self.builds():
            raise SystemExit("The kernels of the checkout do not compile.")

    def builds(self):
        """Compile what has changed; whether that succeeds."""
        command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
        return subprocess.run(command, cwd=self.folder, capture_output=True).returncode == 0

    def write(self, mutant, line):
        path = self.folder / mutant.path
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        lines[mutant.line - 1] = line + "\n"
        path.write_text("".join(lines), encoding="utf-8")

    @contextmanager
    def changed(self, mutants):
        """The copy with these mutants; yields whether it compiles."""
        is_compiled = any(mutant.path.endswith(".pyx") for mutant in mutants)
        for mutant in mutants:
            self.write(mutant, mutant.after)
        try:
            yield (not is_compiled or self.builds()) and all(
                is_python(self.folder / mutant.path) for mutant in mutants if mutant.path.endswith(".py")
            )
        finally:
            for mutant in mutants:
                self.write(mutant, mutant.before)
            if is_compiled:
                self.builds()

    def finds(self, mutant, tests):
        """The test that finds a mutant, or "". None: it does not compile."""
        with self.changed([mutant]) as compiles:
            return next(iter(self.failing(tests, "-x")), "") if compiles else None

    def finds_together(self, mutants):
        """By the whole of the tests: {mutant: the test that finds it, or ""}."""
        if not mutants:
            return {}
        with self.changed(mutants):
            failing = self.failing([])
        if failing and "::" not in failing[0]:  # one ends or delays all tests
            if len(mutants) == 1:
                return {mutants[0]: failing[0]}
            middle = len(mutants) // 2
            return self.finds_together(mutants[:middle]) | self.finds_together(mutants[middle:])
        return {mutant: self.finds(mutant, failing) if failing else "" for mutant in mutants}

    def failing(self, tests, *options):
        """The tests that fail, or what else went wrong, as a list; all tests if none are named."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header"]
        command += [f"--numprocesses={self.processes}", "--tb=no", *options, *tests]
        environment = os.environ | {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=self.limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return ["the limit of time"]
        if process.returncode == 0:
            return []
        failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
        return failed or [output.strip().splitlines()[-1]]


def is_python(path):
    try:
        compile(path.read_bytes(), str(path), "exec")
    except SyntaxError:
        return False
    return True


def tests_of(folder, path):
    """The tests named after a module, or after its package."""
    name = Path(path).with_suffix("").parts[1]
    is_package = (folder / "margins" / name).is_dir()
    tests = (
        [folder / "tests" / name]
        if is_package
        else (folder / "tests").glob(f"test_{name.lstrip('_')}*.py")
    )
    found = [test.relative_to(folder).as_posix() for test in tests if test.exists()]
    return found or ["tests/contract"]


def main(arguments=None):
    """Run the command line, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path, help="a file of JSON lines, continued if it exists")
    parser.add_argument("--count", type=int, default=60, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", type=Path, help="results whose mutants are taken")
    parser.add_argument(
        "--survivors", action="store_true", help="with --again: only mutants that were not found"
    )
    parser.add_argument("--limit", type=float, default=1800, help="seconds of one run of tests")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutants")
    given = parser.parse_args(arguments)
    if given.again:
        records = read(given.again)
        records = [record for record in records if not (given.survivors and record["found by"])]
        mutants = [(record["part"], located(record)) for record in records]
        given.count = len(mutants)
    else:
        mutants = drawn(given.seed)
    copy = Copy(given.folder.resolve(), given.limit, given.processes)
    if failed := copy.failing([]):
        raise SystemExit(f"The tests of the checkout itself do not pass: {failed}")
    records = read(given.results) if given.results.exists() else []
    by_named_tests(copy, mutants, records, given)
    open_records = [record for record in records if not (record["found by"] or record["all tests"])]
    found = copy.finds_together([mutant_of(record) for record in open_records])
    for record in open_records:
        record |= {"found by": found[mutant_of(record)], "all tests": True}
    write(given.results, records)
    for record in records:
        if not record["found by"]:
            print(f"NOT FOUND: {record['path']}:{record['line']}: {record['after'].strip()}")
    report(records)
    return 0


def by_named_tests(copy, mutants, records, given):
    """Append to the records what the tests named after a module or package find, up to `given.count`."""
    seen = {mutant_of(record) for record in records}
    for part, mutant in mutants:
        if len(records) == given.count:
            return
        if mutant in seen:
            continue
        begin = time.perf_counter()
        found = copy.finds(mutant, tests_of(copy.folder, mutant.path))
        if found is None:
            continue
        records.append({"part": part, **asdict(mutant), "found by": found, "all tests": False})
        write(given.results, records)
        print(f"{mutant.path}:{mutant.line}: {mutant.after.strip()}")
        print(f"    {found or 'not yet found'} ({time.perf_counter() - begin:.0f} s)", flush=True)


def mutant_of(record):
    return Mutant(*(record[name] for name in ("path", "line", "before", "after")))


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def located(record):
    """The mutant of a record, on the line that reads the same and is nearest to where it was."""
    lines = (ROOT / record["path"]).read_text(encoding="utf-8").splitlines()
    same = [number for number, line in enumerate(lines, start=1) if line == record["before"]]
    if not same:
        raise SystemExit(f"{record['path']} must hold {record['before'].strip()!r}. Got no such line.")
    line = min(same, key=lambda number: abs(number - record["line"]))
    return Mutant(record["path"], line, record["before"], record["after"])


def report(records):
    for part in PARTS:
        of_part = [record for record in records if record["part"] == part]
        n_found = sum(bool(record["found by"]) for record in of_part)
        print(f"{part:<14} {n_found} of {len(of_part)} found")
    n_found = sum(bool(record["found by"]) for record in records)
    print(f"{'all':<14} {n_found} of {len(records)} found")


if __name__ == "__main__":
    sys.exit(main())
