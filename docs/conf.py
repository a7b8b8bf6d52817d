"""Configuration of the documentation: ``sphinx-build -W docs build/docs``. Needs the extra ``docs``."""

import os
import sys
from pathlib import Path

import margins

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "margins"
author = copyright = "The margins developers"
release = version = margins.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "algorithm_pages",
]
exclude_patterns = ["examples/*"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["deflist", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache", "myst.xref_missing"]

toc_object_entries_show_parents = "hide"
default_role = "literal"  # of names in single backquotes

autosummary_generate = True
autosummary_imported_members = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
autodoc_typehints = "none"  # docstrings state the types

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # their pages load scripts from elsewhere
    "abort_on_example_error": True,
    "plot_gallery": os.environ.get("MARGINS_GALLERY", "1") == "1",
}

html_theme = "pydata_sphinx_theme"
html_title = "margins"
html_static_path = ["_static"]
html_css_files = ["margins.css"]
html_show_sourcelink = False
html_sidebars = {"*": []}  # of pages that have no others below them
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}


def skip_inherited(app, what, name, member, skip, options):
    """True for what scikit-learn gives to every estimator, with references into its own pages."""
    is_request = name.startswith("set_") and name.endswith("_request")
    is_foreign = (getattr(member, "__module__", None) or "").startswith("sklearn.")
    return True if is_request or is_foreign else None


def escape_bars(app, what, name, obj, options, lines):
    """Make plain text of |x|, which reStructuredText takes for a substitution. Code stays as it is."""
    in_code = False
    for i, line in enumerate(lines):
        is_indented = line.startswith("    ")
        if line.strip() and not is_indented:
            in_code = line.rstrip().endswith("::")
        if not (in_code and is_indented) and not line.lstrip().startswith((">>>", "...")):
            parts = line.split("``")
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[i] = "``".join(parts)


def setup(app):
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("autodoc-process-docstring", escape_bars, priority=400)  # before numpydoc
