"""Compile the kernels; everything else about the package is in pyproject.toml.

MARGINS_BOUNDSCHECK=1 at build time makes every array access of the kernels check its bounds
(slow; the tests run once on such a build). A level of optimisation in CFLAGS takes the place of -O3.
"""

import os
import re
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

BOUNDSCHECK = os.environ.get("MARGINS_BOUNDSCHECK", "0") == "1"
SHARED = "margins._memoryview"  # what Cython would otherwise compile into every kernel

MACROS = [("MARGINS_BOUNDSCHECK", "1")] if BOUNDSCHECK else []
ARGUMENTS = []
if os.name != "nt":
    # Without contractions two kernels round the same sum in the same way on every processor.
    ARGUMENTS = ["-g0", "-ffp-contract=off"]
    if not re.search(r"(^|\s)-O", os.environ.get("CFLAGS", "")):
        ARGUMENTS.append("-O3")


def extension(path):
    module = ".".join(path.with_suffix("").parts)
    return Extension(module, [path.as_posix()], define_macros=MACROS, extra_compile_args=ARGUMENTS)


if __name__ == "__main__":  # the processes of cythonize import this file again
    setup(
        ext_modules=cythonize(
            [*map(extension, sorted(Path("margins").rglob("*.pyx"))), Extension(SHARED, [])],
            build_dir="build/cython",
            nthreads=os.cpu_count(),
            shared_utility_qualified_name=SHARED,
            compiler_directives={
                "language_level": 3,
                "boundscheck": BOUNDSCHECK,
                "initializedcheck": BOUNDSCHECK,
                "wraparound": False,
                "cdivision": True,
                "embedsignature": True,
                "freethreading_compatible": True,
            },
        ),
        options={"build_ext": {"parallel": os.cpu_count()}},
    )
