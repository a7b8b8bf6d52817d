"""Change the package in one place at a time, and count how many of the changes the tests find.

    python scripts/robustness/mutants.py [--count 60] [--seed 0]

A change (mutant) exchanges an operator, a constant or a bound on a line drawn at random, an equal
number in each part of the package. It is made in a copy of the checkout, whose compiled modules it
rebuilds; what does not compile is drawn again. Then run the tests named after the changed module or
package and, if they do not find it, all that `python -m pytest` runs. A test that fails, an error of the
tests, and a run that takes longer than --limit all count as found.

A mutant that no test finds has to be read: a change that affects only the speed, or nothing at all,
needs no test; any other does.
"""

import io
import os
import random
import re
import signal
import subprocess
import sys
import tokenize
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import reporting
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
    """Return {line: [(start, end, replacement)]} of what can be exchanged in a module."""
    exchanges = {}
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        number, start = token.start
        if token.type not in (tokenize.OP, tokenize.NAME, tokenize.NUMBER):
            continue
        line, end = lines[number - 1], token.end[1]
        replacement = replacement_of(line[:start].rstrip(), token, line[end:])
        if replacement is not None and not SKIPPED.match(line):
            exchanges.setdefault(number, []).append((start, end, replacement))
    return exchanges


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
    """Yield pairs (part, mutant), as many as there are lines: not every mutant compiles."""
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
        """Compile what has changed, and return True if that succeeds."""
        command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
        return subprocess.run(command, cwd=self.folder, capture_output=True).returncode == 0

    def write(self, mutant, line):
        path = self.folder / mutant.path
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        lines[mutant.line - 1] = line + "\n"
        path.write_text("".join(lines), encoding="utf-8")

    @contextmanager
    def changed(self, mutant):
        """Change the copy, and yield whether it compiles."""
        is_compiled = mutant.path.endswith(".pyx")
        self.write(mutant, mutant.after)
        try:
            yield self.builds() if is_compiled else is_python(self.folder / mutant.path)
        finally:
            self.write(mutant, mutant.before)
            if is_compiled:
                self.builds()

    def finds(self, mutant):
        """Return the test that finds a mutant, or ""; None if it does not compile."""
        with self.changed(mutant) as compiles:
            if not compiles:
                return None
            return self.failing(tests_of(self.folder, mutant.path)) or self.failing([])

    def failing(self, tests):
        """Return the first of the tests (none: all) that fails, or what else went wrong, or ""."""
        command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "--no-header"]
        command += [f"--numprocesses={self.processes}", "--tb=no", *tests]
        environment = os.environ | {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen(
            command, cwd=self.folder, env=environment, start_new_session=True, **pipes
        ) as process:
            try:
                output, _ = process.communicate(timeout=self.limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return "the limit of time"
        if process.returncode == 0:
            return ""
        failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
        return failed[0] if failed else output.strip().splitlines()[-1]


def is_python(path):
    """Return True if a file compiles."""
    try:
        compile(path.read_bytes(), str(path), "exec")
    except SyntaxError:
        return False
    return True


def tests_of(folder, path):
    """Return the tests named after a module, or after its package."""
    name = Path(path).with_suffix("").parts[1]
    is_package = (folder / "margins" / name).is_dir()
    pattern = name if is_package else f"test_{name.lstrip('_')}*.py"
    tests = [test.relative_to(folder).as_posix() for test in (folder / "tests").glob(pattern)]
    return tests or ["tests/contract"]


def main(arguments=None):
    """Make and test mutants, print what no test finds, and return the exit status."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("--count", type=int, default=60, help="number of mutants")
    option("--seed", type=int, default=0)
    option("--limit", type=float, default=1800, help="seconds of one run of tests")
    option("--processes", type=int, default=2)
    option("--folder", type=Path, default=ROOT / "build" / "mutants")
    options = parser.parse_args(arguments)
    copy = Copy(options.folder.resolve(), options.limit, options.processes)
    if failed := copy.failing([]):
        raise SystemExit(f"The tests of the checkout itself do not pass: {failed}")
    drawn_by_part, found_by_part = Counter(), Counter()
    for part, mutant in drawn(options.seed):
        if drawn_by_part.total() == options.count:
            break
        test = copy.finds(mutant)
        if test is not None:
            drawn_by_part[part] += 1
            found_by_part[part] += bool(test)
            print(
                f"{mutant.path}:{mutant.line}: {mutant.after.strip()}\n    {test or 'NOT FOUND'}",
                flush=True,
            )
    for part, count in drawn_by_part.items():
        print(f"{part:<14} {found_by_part[part]} of {count} found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
