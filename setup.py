"""Compile the kernels; everything else about the package is in pyproject.toml.

MARGINS_BOUNDSCHECK=1 at build time makes every array access of the kernels check its bounds
(slow; the tests run once on such a build).
"""

import os
from pathlib import Path

from Cython.Distutils import Extension, build_ext
from setuptools import setup

BOUNDSCHECK = os.environ.get("MARGINS_BOUNDSCHECK", "0") == "1"

setup(
    cmdclass={"build_ext": build_ext},
    ext_modules=[
        Extension(
            ".".join(path.with_suffix("").parts),
            [path.as_posix()],
            extra_compile_args=[] if os.name == "nt" else ["-O3", "-ffp-contract=off"],
            cython_c_in_temp=True,
            cython_directives={
                "language_level": 3,
                "boundscheck": BOUNDSCHECK,
                "initializedcheck": BOUNDSCHECK,
                "wraparound": False,
                "cdivision": True,
                "embedsignature": True,
                "freethreading_compatible": True,
            },
        )
        for path in sorted(Path("margins").rglob("*.pyx"))
    ],
)
