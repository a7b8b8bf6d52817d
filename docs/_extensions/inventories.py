"""Links into the pages of scikit-learn, NumPy and others, without a download.

Intersphinx reads where names are documented from an inventory of each project, usually from its site.
The names that our pages use are few and their addresses follow one pattern, so the inventories are
written here before Sphinx looks for them.
"""

import zlib
from pathlib import Path

# {project: (its site, address of a name, names by role)}
PROJECTS = {
    "sklearn": (
        "https://scikit-learn.org/stable/",
        "modules/generated/$.html#$",
        {
            "py:class": """
                sklearn.calibration.CalibratedClassifierCV sklearn.ensemble.StackingClassifier
                sklearn.feature_extraction.text.HashingVectorizer
                sklearn.feature_extraction.text.TfidfVectorizer sklearn.kernel_approximation.RBFSampler
                sklearn.linear_model.LogisticRegressionCV sklearn.linear_model.Perceptron
                sklearn.linear_model.SGDClassifier sklearn.model_selection.GridSearchCV
                sklearn.model_selection.LeaveOneOut sklearn.model_selection.ParameterSampler
                sklearn.multiclass.OneVsRestClassifier sklearn.pipeline.Pipeline sklearn.svm.LinearSVC
                sklearn.svm.SVC
            """
        },
    ),
    "numpy": (
        "https://numpy.org/doc/stable/",
        "reference/generated/$.html#$",
        {"py:class": "numpy.ndarray numpy.random.RandomState"},
    ),
    "pandas": (
        "https://pandas.pydata.org/docs/",
        "reference/api/$.html#$",
        {"py:class": "pandas.DataFrame pandas.Series"},
    ),
    "scipy": (
        "https://docs.scipy.org/doc/scipy/",
        "reference/generated/$.html#$",
        {"py:class": "scipy.sparse.csr_array scipy.sparse.csr_matrix"},
    ),
    "matplotlib": (
        "https://matplotlib.org/stable/",
        "api/_as_gen/$.html#$",
        {"py:class": "matplotlib.axes.Axes", "py:module": "matplotlib.pyplot"},
    ),
}


def write(path, project, address, names):
    """Write an inventory, version 2 of Sphinx's format."""
    head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
    head += "# The remainder of this file is compressed using zlib.\n"
    lines = (
        f"{name} {role} 1 {address.replace('$', name)} -\n"
        for role, text in names.items()
        for name in text.split()
    )
    path.write_bytes(head.encode() + zlib.compress("".join(lines).encode()))


def add_inventories(app, config):
    """Write the inventories and tell intersphinx where they are."""
    folder = Path(app.doctreedir, "inventories")
    folder.mkdir(parents=True, exist_ok=True)
    for project, (site, address, names) in PROJECTS.items():
        path = folder / f"{project}.inv"
        write(path, project, address, names)
        config.intersphinx_mapping[project] = (site, str(path))


def setup(app):
    app.connect("config-inited", add_inventories, priority=400)  # before intersphinx checks its mapping
    return {"parallel_read_safe": True}
