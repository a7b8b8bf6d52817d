"""The words of comments, docstrings, names of tests and documents: the field's terms, no metaphors.

Comments and docstrings of the library also name no data set of a benchmark.
"""

import io
import re
import tokenize
from pathlib import Path

import pytest

import margins

SUFFIXES = (".py", ".pyx", ".pxd", ".pyi")
ROOT = Path(margins.__file__).parents[1]
SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "margins").rglob("*")
    if path.suffix in SUFFIXES
)
CHECKOUT = Path(__file__).parents[1]
TESTS_AND_SCRIPTS = sorted(
    path.relative_to(CHECKOUT).as_posix()
    for folder in ("tests", "scripts", "docs/_extensions", "docs/examples")
    for path in (CHECKOUT / folder).rglob("*")
    if path.suffix in SUFFIXES and path != Path(__file__)
)
DOCUMENTS = sorted(
    path.relative_to(CHECKOUT).as_posix()
    for path in (CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *CHECKOUT.glob("docs/*.md"))
    if path.exists()
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
    "asks?|asked|asking": "require, request",
    "(?<!on )demands?|demanded": "require",
    "promises?|promised": "a guarantee, a bound",
    "refuses?|refused|refusals?": "reject",
    "hurts?|hears?|heard": "affect, handle",
    "settles?|settled|settling": "determine, converge",
    "go(?:es)? on|going on": "continue",
    "gives? up|given up": "end, stop",
    "clean (?:full )?(?:pass|epoch)(?:es|s)?": "a pass without updates",
    "in force": "current",
    "in whatever": "any",
    "movable": "not at its bound",
    "extended (?:space|samples?|data)": "slack terms",
}
# In documents these may be about readers.
BANNED_IN_CODE = BANNED | {
    "who|whom|whoever": "the caller, the algorithm",
    "wants?|wanted": "require",
}


def words_of(banned):
    """An expression that finds any of these words."""
    return re.compile(rf"(?<![\w-])(?:{'|'.join(banned)})(?![\w-])", re.I)


WORDS, WORDS_OF_DOCUMENTS = words_of(BANNED_IN_CODE), words_of(BANNED)

# Of benchmarks; those whose name is no English word.
DATA_SETS = re.compile(
    r"\b(?:a9a|adult|arcene|basehock|breast[- ]cancer|colon[- ]cancer|covtype|covertype|gravier|ijcnn1?|"
    r"ionosphere|madelon|mnist|mushrooms|news20|pcmac|phishing|rcv1|real-sim|relathe|satimage|"
    r"skin_nonskin|spambase|usps|w8a|wdbc|wpbc)\b",
    re.I,
)

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


def names_of(text):
    """(line number, words) of the name of every test function."""
    for number, line in enumerate(text.splitlines(), 1):
        for name in re.findall(r"^ *def (test_\w+)", line):
            yield number, name.replace("_", " ")


def paragraphs_of(text):
    """(line number, text) of a document in Markdown, without code."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, re.sub(r"``.*?``|`.*?`", "", line)


def found(expression, path, root=ROOT, readers=(prose_of,)):
    """Lines of a file whose prose has an expression: list of str."""
    text = (root / path).read_text(encoding="utf-8")
    return [
        f"{path}:{number}: {match[0]!r} in {line.strip()!r}"
        for reader in readers
        for number, line in reader(text)
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


def test_names_and_documents_are_read_without_code():
    text = "def test_nobody_is_told():\n    visits = nobody\n    def test_of_a_class(self):\n"
    assert list(names_of(text)) == [(1, "test nobody is told"), (3, "test of a class")]
    text = "Two `doors`.\n```python\nrooms = 1\n```\nAnd words."
    assert list(paragraphs_of(text)) == [(1, "Two ."), (5, "And words.")]


@pytest.mark.parametrize(
    "text",
    ["Nobody", "as we are told", "a private coordinate", "two visits", "a demand", "a clean epoch"],
)
def test_banned_words_are_seen(text):
    assert WORDS.search(text)


@pytest.mark.parametrize("text", ["n_accesses_", "clean-pass", "planes", "display"])
def test_names_and_other_words_are_not_banned(text):
    assert not WORDS.search(text)


@pytest.mark.parametrize("path", SOURCES)
def test_no_comment_and_no_docstring_has_a_banned_word(path):
    assert found(WORDS, path) == []


@pytest.mark.parametrize("path", TESTS_AND_SCRIPTS)
def test_no_test_and_no_script_has_a_banned_word(path):
    assert found(WORDS, path, CHECKOUT, (prose_of, names_of)) == []


@pytest.mark.parametrize("path", DOCUMENTS)
def test_no_document_has_a_banned_word(path):
    assert found(WORDS_OF_DOCUMENTS, path, CHECKOUT, (paragraphs_of,)) == []


@pytest.mark.parametrize("path", SOURCES)
def test_no_comment_and_no_docstring_names_a_data_set(path):
    assert DATA_SETS.search("as on Covtype") and not DATA_SETS.search("adults, load_breast_cancer")
    assert found(DATA_SETS, path) == []
