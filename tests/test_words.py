"""The words of comments and docstrings: the field's terms, no metaphors, no data sets of benchmarks."""

import io
import re
import tokenize
from pathlib import Path

import pytest

import margins

ROOT = Path(margins.__file__).parents[1]
SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "margins").rglob("*")
    if path.suffix in (".py", ".pyx", ".pxd", ".pyi")
)

# Regular expressions of words, and what to write instead.
BANNED = {
    "nobody|somebody|everybody|everyone|anybody": "nothing, the caller, all",
    "told|tells?": "notify, indicate, set",
    "hopes?|hoped|hopeless": "a safety factor, an infeasibility test",
    "rivals?|outpaced": "competing, exceeded",
    "afresh|anew": "again: recompute, restart",
    "worth": "a cost, an estimate",
    "far from|is far|so far as": "above a threshold",
    "rooms?|doors?": "modules, wrappers, space",
    "private coordinates?|extended space": "slack variables, the dual diagonal",
    "unsettled": "free variables",
    "visits?|visited|visiting": "samples, coordinate updates",
    "presentations?|presented|presenters?": "processed samples, order, schedule",
    "patterns?": "a sample",
    "readouts?": "averaging",
    "clean pass(?:es)?": "a pass without updates",
    "plays?|played": "run",
    "bonus": "the offset of the lambda-trick",
    "lanes?": "columns",
    "flatters?": "is biased",
}
WORDS = re.compile(rf"(?<![\w-])(?:{'|'.join(BANNED)})(?![\w-])", re.I)

# Of benchmarks; those whose name is no English word.
DATA_SETS = re.compile(
    r"\b(?:a9a|adult|arcene|basehock|breast[- ]cancer|colon[- ]cancer|covtype|covertype|gravier|ijcnn1?|"
    r"ionosphere|madelon|mnist|mushrooms|news20|pcmac|phishing|rcv1|real-sim|relathe|satimage|"
    r"skin_nonskin|spambase|usps|w8a|wdbc|wpbc)\b",
    re.I,
)

# Files whose words are still to be replaced. A file leaves the list when its words are; none joins it.
TO_DO = {
    "margins/_sparse.pxd",
    "margins/algorithms/adatron.py",
    "margins/algorithms/aggressive_romma.py",
    "margins/algorithms/alma.py",
    "margins/algorithms/alpha_bound.py",
    "margins/algorithms/ballseptron.py",
    "margins/algorithms/budget_perceptron.py",
    "margins/algorithms/cramma.py",
    "margins/algorithms/dcd.py",
    "margins/algorithms/lambda_trick.py",
    "margins/algorithms/margin_perceptron.py",
    "margins/algorithms/margitron.py",
    "margins/algorithms/micra.py",
    "margins/algorithms/mpu.py",
    "margins/algorithms/mpvs.py",
    "margins/algorithms/norma.py",
    "margins/algorithms/pa.py",
    "margins/algorithms/pa_i.py",
    "margins/algorithms/pa_ii.py",
    "margins/algorithms/pdm.py",
    "margins/algorithms/pegasos.py",
    "margins/algorithms/perceptron.py",
    "margins/algorithms/random_budget_perceptron.py",
    "margins/algorithms/romma.py",
    "margins/algorithms/second_order_perceptron.py",
    "margins/algorithms/servedio_average.py",
    "margins/algorithms/spa.py",
    "margins/algorithms/voted_perceptron.py",
    "margins/data/_permutations.pyx",
    "margins/data/permutations.py",
    "margins/data/samples.py",
    "margins/data/validation.py",
    "margins/estimators/budget.py",
    "margins/estimators/custom.py",
    "margins/estimators/noise_tolerance.py",
    "margins/estimators/online.py",
    "margins/estimators/step.py",
    "margins/linalg/_sums.pxd",
    "margins/linalg/threads.py",
    "margins/losses/_scaling.pyx",
    "margins/registry.py",
    "margins/rules/_voting.pyx",
    "margins/rules/adapters.pyx",
    "margins/rules/combinations.pyx",
    "margins/rules/conditions.pyx",
    "margins/rules/coordinates.pyx",
    "margins/rules/decays.pyx",
    "margins/rules/hinge.pxd",
    "margins/rules/hinge.pyx",
    "margins/rules/averaging.pyx",
    "margins/rules/shrinks.pyx",
    "margins/rules/updates.pyx",
    "margins/solvers/_conjugate.pyx",
    "margins/solvers/conjugate.py",
    "margins/solvers/newton/_dense_hessian.pyx",
    "margins/solvers/newton/_hessian.pxd",
    "margins/solvers/newton/_hessian.pyx",
    "margins/solvers/newton/_hessian_vector.pyx",
    "margins/solvers/newton/_objective.pyx",
    "margins/solvers/schedules.py",
    "margins/testing/rules.py",
    "margins/tuning.py",
}
# Likewise, files whose comments still name a data set.
NAMES_TO_DO = {
    "margins/data/permutations.py",
    "margins/solvers/_conjugate.pyx",
    "margins/solvers/newton/_dense_block.pyx",
    "margins/solvers/newton/_dense_hessian.pyx",
    "margins/solvers/schedules.py",
}

# A string is a docstring where a statement begins and ends with it.
BEFORE_A_STATEMENT = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


def prose_of(text):
    """(line number, text) of every comment and docstring of Python or Cython source.

    Not of other strings, nor of numpydoc's lines of names: the class `BinaryData`, ``doors : int``.
    """
    tokens = [
        token
        for token in tokenize.tokenize(io.BytesIO(text.encode()).readline)
        if token.type != tokenize.NL
    ]
    statement = [token for token in tokens if token.type != tokenize.COMMENT]
    ends = zip(statement, statement[1:], statement[2:], strict=False)
    docstrings = [
        token
        for before, token, after in ends
        if token.type == tokenize.STRING
        and before.type in BEFORE_A_STATEMENT
        and after.type in (tokenize.NEWLINE, tokenize.ENDMARKER)
    ]
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    for token in sorted(comments + docstrings, key=lambda token: token.start):
        for number, line in enumerate(token.string.splitlines(), token.start[0]):
            yield number, re.sub(r"``.*?``|`.*?`|^\s*[\w, ]+ : ", "", line)


def found(expression, path):
    """Lines of a file whose prose has an expression: list of str."""
    return [
        f"{path}:{number}: {match[0]!r} in {line.strip()!r}"
        for number, line in prose_of((ROOT / path).read_text(encoding="utf-8"))
        for match in expression.finditer(line)
    ]


def test_prose_is_comments_and_docstrings_and_nothing_else():
    text = '''"""A module,
of two lines."""
door = "a string"  # a comment

cdef class Walls:
    """Of Cython."""  # beside it
    # before it
    room = f(<void*> <Readout?> door, """no docstring""")
    """Parameters

    doors : int
        With `windows` of wood.
    """
'''
    assert [(number, line.strip('" ')) for number, line in prose_of(text) if line.strip('" ')] == [
        (1, "A module,"),
        (2, "of two lines."),
        (3, "# a comment"),
        (6, "Of Cython."),
        (6, "# beside it"),
        (7, "# before it"),
        (9, "Parameters"),
        (11, "int"),
        (12, "With  of wood."),
    ]


@pytest.mark.parametrize("text", ["Nobody asks", "as we are told", "a private coordinate", "two visits"])
def test_banned_words_are_seen(text):
    assert WORDS.search(text)


@pytest.mark.parametrize("text", ["n_accesses_", "clean-pass", "planes", "display"])
def test_names_and_other_words_are_not_banned(text):
    assert not WORDS.search(text)


@pytest.mark.parametrize("path", [path for path in SOURCES if path not in TO_DO])
def test_no_comment_and_no_docstring_has_a_banned_word(path):
    assert found(WORDS, path) == []


@pytest.mark.parametrize("path", [path for path in SOURCES if path not in NAMES_TO_DO])
def test_no_comment_and_no_docstring_names_a_data_set(path):
    assert DATA_SETS.search("as on Covtype") and not DATA_SETS.search("adults, load_breast_cancer")
    assert found(DATA_SETS, path) == []


def test_every_file_still_to_do_exists():
    assert not (TO_DO | NAMES_TO_DO) - set(SOURCES)
