"""Links to the glossary: on every page, the first mention of each of its terms.

The definition appears when the pointer rests on the link, so that a reader need not leave the page.
"""

import re

from docutils import nodes

GLOSSARY = "glossary"
# A term in code, in a link or in a heading is not a mention.
CLOSED = (nodes.literal, nodes.literal_block, nodes.reference, nodes.title, nodes.term, nodes.math)


def add_anchors(app, doctree):
    """Give each term of the glossary an anchor, and remember what it means."""
    if app.env.docname != GLOSSARY:
        return
    app.env.glossary_entries = {}
    for item in doctree.findall(nodes.definition_list_item):
        (definition,) = item.findall(nodes.definition)
        (term,) = item.findall(nodes.term)
        term["ids"] = [f"term-{nodes.make_id(term.astext())}"]
        for name in term.astext().split(", "):
            meaning = " ".join(definition.astext().split())
            app.env.glossary_entries[name.lower()] = (term["ids"][0], meaning)


def add_links(app, doctree, docname):
    """Link the first mention of each term on a page, except in the gallery and on generated pages."""
    if docname == GLOSSARY or "/" in docname:
        return
    entries = dict(getattr(app.env, "glossary_entries", {}))
    for paragraph in list(doctree.findall(nodes.paragraph)):
        for text in list(paragraph.findall(nodes.Text)):
            if entries and not is_within(text, CLOSED):
                text.parent.replace(text, _linked(app, docname, text.astext(), entries))


def is_within(node, kinds):
    """Return True if a node or one of its parents is of these kinds."""
    while node is not None:
        if isinstance(node, kinds):
            return True
        node = node.parent
    return False


def _linked(app, docname, text, entries):
    """The text with links, as a list of nodes. Terms that are found leave `entries`."""
    names = sorted(entries, key=len, reverse=True)
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")(?:s|es)?\b", re.IGNORECASE)
    result, end = [], 0
    for match in pattern.finditer(text):
        entry = entries.pop(match[1].lower(), None)
        if entry is None:
            continue
        anchor, meaning = entry
        address = f"{app.builder.get_relative_uri(docname, GLOSSARY)}#{anchor}"
        link = nodes.reference("", match[0], refuri=address, internal=True, reftitle=meaning)
        link["classes"].append("glossary-link")
        result += [nodes.Text(text[end : match.start()]), link]
        end = match.end()
    return [*result, nodes.Text(text[end:])]


def setup(app):
    app.connect("doctree-read", add_anchors)
    app.connect("doctree-resolved", add_links)
    return {"parallel_read_safe": False}  # the entries are kept by the process that reads them
