"""Change the package in one place at a time, and count how many of the changes the tests find.

python scripts/robustness/mutants.py results.jsonl [--count 60] [--seed 0] [--again FILE]

A change (mutant) exchanges an operator, a constant or a bound on a line drawn at random, an equal
number in each part of the package. It is made in a copy of the checkout, whose compiled modules it
rebuilds; what does not compile is drawn again. Then run the tests named after the changed module or
package and, if these pass, all that `python -m pytest` runs. A test that fails, an error of the tests,
and a run that takes longer than --limit all count as found.

Each line of the results is one mutant: the file, the line before and after, the tests that found it (""
if none did), and the seconds. A run that is started again continues after the last line. ``--again``:
take the mutants of other results; with --survivors, only those that no test found there. So two versions
of the tests are compared.

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
    """What replaces a token, or None."""
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
    """Pairs (part, mutant), without end, since not every mutant compiles."""
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
            path, number, changes = generator.choice(lines[part])
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

    def finds(self, mutant):
        """The test or the group of tests that finds a mutant, or "". None: it does not compile."""
        self.write(mutant, mutant.after)
        is_compiled = mutant.path.endswith(".pyx")
        try:
            if not (self.builds() if is_compiled else is_python(self.folder / mutant.path)):
                return None
            return self.failing(tests_of(self.folder, mutant.path)) or self.failing([])
        finally:
            self.write(mutant, mutant.before)
            if is_compiled:
                self.builds()

    def failing(self, tests):
        """The first test that fails, "the limit of time", or "" if all pass."""
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header"]
        command += [f"--numprocesses={self.processes}", "--tb=no", *tests]
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
                return "the limit of time"
        if process.returncode == 0:
            return ""
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
        return failed[1] if failed else output.strip().splitlines()[-1]


def is_python(path):
    try:
        compile(path.read_bytes(), str(path), "exec")
    except SyntaxError:
        return False
    return True


def tests_of(folder, path):
    """The tests named after a module, or after its package."""
    parts = Path(path).with_suffix("").parts[1:]
    tests = (
        Path("tests", f"test_{parts[0].lstrip('_')}.py") if len(parts) == 1 else Path("tests", parts[0])
    )
    return [str(tests)] if (folder / tests).exists() else ["tests/contract"]


def main(arguments=None):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path, help="a file of JSON lines, continued if it exists")
    parser.add_argument("--count", type=int, default=60, help="of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", type=Path, help="results whose mutants are taken")
    parser.add_argument("--survivors", action="store_true", help="of --again, those that were not found")
    parser.add_argument("--limit", type=float, default=1800, help="seconds of one run of tests")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutants")
    given = parser.parse_args(arguments)
    done = read(given.results) if given.results.exists() else []
    if given.again:
        records = read(given.again)
        records = [record for record in records if not (given.survivors and record["found by"])]
        mutants = [(record["part"], located(record)) for record in records]
        given.count = len(mutants)
    else:
        mutants = drawn(given.seed)
    seen = {(record["path"], record["line"], record["after"]) for record in done}
    n_done = len(seen)
    copy = None
    for part, mutant in mutants:
        if n_done == given.count:
            break
        if (mutant.path, mutant.line, mutant.after) in seen:
            continue
        if copy is None:
            copy = Copy(given.folder.resolve(), given.limit, given.processes)
            if failed := copy.failing([]):
                raise SystemExit(f"The tests of the checkout itself do not pass: {failed}")
        begin = time.perf_counter()
        found = copy.finds(mutant)
        if found is None:
            continue
        n_done += 1
        seconds = round(time.perf_counter() - begin, 1)
        record = {"part": part, **asdict(mutant), "found by": found, "seconds": seconds}
        with given.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        print(f"{mutant.path}:{mutant.line}: {mutant.after.strip()}")
        print(f"    {found or 'NOT FOUND'} ({seconds} s)", flush=True)
    report(read(given.results))
    return 0


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
