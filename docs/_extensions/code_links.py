"""Links from names in code to their pages: on every page, the first mention of each class or function.

A name is ``MarginClassifier``, ``margins.svm_path``, ``svm_path()`` or ``Study.to_frame``: what the API
reference documents, or a class of another project that `inventories` lists. A name that two of them
have, such as ``Perceptron``, is linked only where the text says which one, and a common word such as
``load`` only with its module. On the page of advice, all mentions are links, and
those of algorithms lead to their pages.
"""

import re
from collections import defaultdict

from docutils import nodes
from glossary_links import is_within

# Code in a link or in a heading, or that is the page's own signature, is not a mention.
CLOSED = (nodes.reference, nodes.title, nodes.term)
KINDS = ("class", "function", "exception", "method")
NAME = re.compile(r"([A-Za-z_][\w.]*)(\(.*\))?")
ADVICE = "choosing"
WORD = re.compile("[a-z]+")


def addresses(app, docname):
    """Return the addresses of all names, complete or shortened: dict of set of str."""
    found = defaultdict(set)
    for name, entry in app.env.get_domain("py").objects.items():
        if entry.objtype in KINDS and not entry.aliased:
            page = app.builder.get_relative_uri(docname, entry.docname)
            for short in shortened(name, 2 if entry.objtype == "method" else 1):
                found[short].add(f"{page}#{entry.node_id}")
    for name, item in app.env.intersphinx_inventory.get("py:class", {}).items():
        for short in shortened(name, 1):
            found[short].add(item.uri)
    return found


def shortened(name, n_least):
    """Return a name without its first parts, in turn, down to the last `n_least`: list of str."""
    parts = name.split(".")
    return [".".join(parts[i:]) for i in range(len(parts) - n_least + 1)]


def add_links(app, doctree, docname):
    """Link the first mention of each name on a page."""
    known, own_page = addresses(app, docname), app.builder.get_relative_uri(docname, docname)
    pages = {
        page.removeprefix("algorithm_pages/"): app.builder.get_relative_uri(docname, page)
        for page in app.env.found_docs
        if page.startswith("algorithm_pages/") and docname == ADVICE
    }
    linked = set()
    for literal in list(doctree.findall(nodes.literal)):
        match = NAME.fullmatch(literal.astext())
        name = match[1] if match else ""
        if is_within(literal, CLOSED):
            continue
        if literal.astext() in pages:
            address = pages[literal.astext()]
        elif len(known[name]) != 1 or WORD.fullmatch(name):
            continue
        else:
            [address] = known[name]
        if (docname == ADVICE or address not in linked) and address.partition("#")[0] != own_page:
            link = nodes.reference("", "", refuri=address, internal="://" not in address)
            literal.replace_self(link)
            link += literal
            linked.add(address)


def setup(app):
    app.connect("doctree-resolved", add_links)
    return {"parallel_read_safe": True}
