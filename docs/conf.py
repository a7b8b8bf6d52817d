"""Configuration of the documentation: ``sphinx-build -W docs build/docs``. Needs the extra ``docs``."""

import gc
import os
import sys
from pathlib import Path

from numpydoc.xref import DEFAULT_LINKS

import margins

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
gc.disable()  # what a build makes lives until its end: a tenth of its time

project = "margins"
author = copyright = "The margins developers"
release = version = margins.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",  # the site needs no other server
    "algorithm_pages",
    "inventories",
    "code_links",
    "glossary_links",
]
exclude_patterns = ["changes/*", "examples/*"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["deflist", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache", "myst.xref_missing"]

toc_object_entries_show_parents = "hide"
default_role = "literal"  # of names in single backquotes

autosummary_generate = True
autosummary_imported_members = False
numpydoc_show_class_members = False  # _templates/autosummary/class.rst has them, with their parameters
numpydoc_class_members_toctree = False
autodoc_typehints = "none"  # docstrings state the types
numpydoc_xref_param_type = True
DEFAULT_LINKS.clear()  # None, bool and float need no link
numpydoc_xref_aliases = {
    "ndarray": "numpy.ndarray",
    "Generator": "numpy.random.Generator",
    "RandomState": "numpy.random.RandomState",
    "DataFrame": "pandas.DataFrame",
    "Axes": "matplotlib.axes.Axes",
    "Pipeline": "sklearn.pipeline.Pipeline",
    "Certificate": "margins.certificate.Certificate",
    "Chunks": "margins.data.chunks.Chunks",
    "Study": "margins.model_selection.Study",
}
numpydoc_xref_ignore = "all"  # of the other words of a type, most are plain English

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# MARGINS_GALLERY: 0 draws only what the guide shows, for quick builds; long, the examples of fields too.
DRAWN = {
    "0": "/plot_(imbalance|kernels|margin_geometry|noisy_labels|path|penalties)",
    "1": "/plot_",
    "long": "/plot_|/examples/fields/",
}

sphinx_gallery_conf = {
    "within_subsection_order": "gallery_order.Order",
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": DRAWN[os.environ.get("MARGINS_GALLERY", "1")],
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "capture_repr": (),
    "show_signature": False,
    "write_computation_times": False,  # their pages load scripts from elsewhere
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = f"margins {version}"
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["margins.css"]
html_show_sourcelink = False
html_domain_indices = False  # of modules
html_sidebars = {"index": []}
html_copy_source = False
html_theme_options = {
    "logo": {"text": f"margins {version}"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_nav_level": 2,
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


def parameters_first(app, what, name, obj, options, lines):
    """Move what follows the first paragraph behind the parameters, which most readers look for."""
    fields = [i for i, line in enumerate(lines) if line.startswith(":Parameters:")]
    texts = [i for i, line in enumerate(lines) if line.strip()]
    if not fields or texts[0] == fields[0]:
        return
    first, begin = lines.index("", texts[0]) + 1, fields[0]
    ends = (i for i in texts if i > begin and not lines[i].startswith(" "))
    end = next(ends, len(lines))
    lines[first:end] = [*lines[begin:end], "", *lines[first:begin]]


def setup(app):
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("autodoc-process-docstring", parameters_first, priority=600)  # after numpydoc
    app.connect("autodoc-process-docstring", escape_bars, priority=400)  # before numpydoc
