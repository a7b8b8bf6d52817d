"""The pages of the documentation, and the code in them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLUG_IN = "docs/plug_in.md"


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(language, page="README.md"):
    """The fenced code blocks of a language: list of (line number, text)."""
    text = text_of(page)
    return [
        (text.count("\n", 0, match.start(1)), match[1])
        for match in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    ]
