"""Write the type stubs and compile the kernels; everything else about the package is in pyproject.toml.

MARGINS_BOUNDSCHECK and MARGINS_SANITIZE are regular expressions. In modules whose names match the first
one, every array access checks its bounds; those that match the second one are built with sanitizers of
memory accesses and undefined behaviour. `scripts/robustness/sanitize.py` tests such a build. A level of
optimisation in CFLAGS takes the place of the levels chosen here.

What is compiled is kept in build/kernels, one folder for each set of options, and compiled again only
if its C source has changed: by `pip install`, `pip wheel` and `setup.py build_ext --inplace` alike.
"""

import gc
import hashlib
import itertools
import os
import re
import runpy
import shutil
import sys
from pathlib import Path

import setuptools
from Cython.Build import cythonize
from setuptools.command.build_ext import build_ext

BOUNDSCHECK = os.environ.get("MARGINS_BOUNDSCHECK", "")
SANITIZE = os.environ.get("MARGINS_SANITIZE", "")
SHARED = "margins._memoryview"  # what Cython would otherwise compile into every kernel
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "initializedcheck": False,
    "wraparound": False,
    "cdivision": True,
    "embedsignature": True,
    "annotation_typing": False,  # annotations are for the stubs only
    "emit_code_comments": False,  # nobody reads the C sources, and they are a third shorter without
}
CHECKS = {"boundscheck": True, "initializedcheck": True}
# Without contractions two kernels round the same sum in the same way on every processor.
ARGUMENTS = ["-g0", "-ffp-contract=off"] if os.name != "nt" else []
SANITIZERS = ["-fsanitize=address,undefined,float-cast-overflow"]
ENVIRONMENT = {name: os.environ.get(name, "") for name in ("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS")}


def optimisation(module):
    """Arguments of the compiler: list of str. Only loops over samples gain by what -O3 costs."""
    if os.name == "nt" or re.search(r"(^|\s)-O", ENVIRONMENT["CFLAGS"]):
        return []
    if is_checked(module) or re.fullmatch(SANITIZE, module) or module == SHARED:
        return ["-O1"]  # it runs for tests, or where an array enters a kernel
    if re.fullmatch(r"margins\.rules\.[^_].*", module):  # runs once an update
        return ["-O2"]
    return ["-O3"]


def is_checked(module):
    return module != SHARED and bool(re.fullmatch(BOUNDSCHECK, module))


def is_pickled(module):
    """Return True for rules, which users store; to pickle the others would be a sixth of their C."""
    return module.startswith("margins.rules.")


def extension(module, sources):
    arguments = ARGUMENTS + optimisation(module)
    sanitizers = SANITIZERS if re.fullmatch(SANITIZE, module) else []
    if sanitizers:
        arguments = [*arguments, *sanitizers, "-g1", "-fno-omit-frame-pointer"]
    return setuptools.Extension(
        module,
        sources,
        define_macros=[("MARGINS_BOUNDSCHECK", "1")] if is_checked(module) else [],
        extra_compile_args=arguments,
        extra_link_args=sanitizers,
    )


def digest(*contents):
    """Sixteen digits that differ where the contents do: str."""
    return hashlib.sha256(b"\0".join(contents)).hexdigest()[:16]


class BuildKernels(build_ext):
    """Compiles what has changed since it was last compiled with the same options."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()
        self.force = True  # setuptools compares times; `build_extension` compares contents

    def run(self):
        gc.disable()  # Cython's trees are many small objects that live long: a third of its time
        for checked, pickled in itertools.product((False, True), repeat=2):
            extensions = [
                extension
                for extension in self.extensions
                if (is_checked(extension.name), is_pickled(extension.name)) == (checked, pickled)
            ]
            translated = cythonize(
                list(extensions),
                build_dir="build/cython-checked" if checked else "build/cython",
                nthreads=os.cpu_count(),
                shared_utility_qualified_name=SHARED,
                compiler_directives=DIRECTIVES
                | ({} if pickled else {"auto_pickle": False})
                | (CHECKS if checked else {}),
            )
            translated = {extension.name: extension for extension in translated}
            for extension in extensions:
                vars(extension).update(vars(translated[extension.name]))
        gc.enable()
        # The longest first, so that the processors end at about the same time.
        self.extensions.sort(key=lambda extension: -os.path.getsize(extension.sources[0]))
        super().run()

    def build_extension(self, extension):
        options = (sys.version, extension.define_macros, ENVIRONMENT, extension.extra_compile_args)
        name = self.get_ext_filename(extension.name)
        folder = Path("build", "kernels", digest(repr(options).encode()), Path(name).parent)
        sources = [Path(path).read_bytes() for path in [*extension.sources, *extension.depends]]
        kept = folder / f"{Path(name).name}.{digest(*sources)}"
        target = Path(self.get_ext_fullpath(extension.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        if kept.exists():
            shutil.copyfile(kept, target)
            return
        super().build_extension(extension)
        folder.mkdir(parents=True, exist_ok=True)
        for outdated in folder.glob(f"{Path(name).name}.*"):
            outdated.unlink()
        shutil.copyfile(target, kept)


def kernels():
    """The extension modules, as they are written: list of Extension."""
    paths = sorted(Path("margins").rglob("*.pyx"))
    modules = [extension(".".join(path.with_suffix("").parts), [path.as_posix()]) for path in paths]
    return [*modules, extension(SHARED, [])]


if __name__ == "__main__":  # the processes of cythonize import this file again
    runpy.run_path("scripts/stubs.py", run_name="__main__")  # before setuptools collects them
    setuptools.setup(ext_modules=kernels(), cmdclass={"build_ext": BuildKernels})
