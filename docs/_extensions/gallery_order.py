"""The order of the gallery: first the pictures that tell most."""

FIRST = ("plot_margin_geometry.py", "plot_kernels.py", "plot_lecture.py")


class Order:
    """The key by which sphinx-gallery sorts the files of a folder."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name):
        return FIRST.index(name) if name in FIRST else len(FIRST), name
