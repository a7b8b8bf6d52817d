"""An environment that margins and plug-ins are built for and installed in."""

import importlib
import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import warnings
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "tests/plugins"
PACKAGES = sorted(path.parent.name for path in PLUGINS.glob("*/pyproject.toml"))
HEADERS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "margins").rglob("*.pxd"))
# Of the checkout, without its kernels compiled in place, and what else a build may have left.
STUBS = runpy.run_path(str(ROOT / "scripts/stubs.py"))["stubs"]()
MADE = [Path(stub).name for stub in STUBS]
LITTER = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "build", "*.egg-info", *MADE)

# Takes the place of setup.py: the kernels under test are compiled already.
SETUP = """
import shutil
from pathlib import Path

import setuptools
from setuptools.command.build_ext import build_ext

class Copy(build_ext):
    def build_extension(self, extension):
        target = Path(self.get_ext_fullpath(extension.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile({binaries!r}[extension.name], target)

setup = setuptools.setup
setuptools.setup = lambda **options: setup(**{{**options, "cmdclass": {{"build_ext": Copy}}}})
exec(compile(Path("real_setup.py").read_text(encoding="utf-8"), "setup.py", "exec"))
"""


def what_is_missing():
    """Why nothing can be compiled and installed here: str or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of setuptools, if another test has imported distutils before
        missing = [
            name for name in ("Cython", "setuptools", "pip") if not importlib.util.find_spec(name)
        ]
    if missing:
        return f"{missing[0]} is not installed."
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if os.name != "nt" and shutil.which(compiler) is None:
        return f"There is no C compiler: {compiler} is not on the path."
    return None


class Environment:
    """An environment, and what is in it; if it shares packages, all those of this one but margins."""

    def __init__(self, folder, shares_packages=True):
        self.folder = folder
        venv.create(folder / "environment", with_pip=False)
        scripts = "Scripts" if os.name == "nt" else "bin"
        self.python = str(folder / "environment" / scripts / "python")
        self.variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        self.variables["CFLAGS"] = "-O0 -g0"  # the compiler has little to do, and has little to say
        where = "import sysconfig; print(sysconfig.get_path('purelib'))"
        self.packages = Path(self.run("-c", where).strip())
        if shares_packages:  # a .pth there, as of an editable margins, is not read
            ours = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
            (self.packages / "needed.pth").write_text("\n".join(ours), encoding="utf-8")

    def run(self, *arguments):
        """Run its Python, away from the checkout: the output."""
        result = subprocess.run(
            [self.python, *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.variables,
            timeout=300,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def ask(self, statements):
        """What some statements leave in `answer`."""
        return json.loads(self.run("-c", f"import json\n{statements}\nprint(json.dumps(answer))"))

    def pip(self, *arguments):
        """Run pip on it, without an index."""
        options = ["--no-build-isolation", "--no-deps", "--no-index"]
        result = self.try_pip(arguments[0], *options, *arguments[1:])
        assert result.returncode == 0, result.stdout + result.stderr

    def unpack(self, *wheels):
        """Install wheels as pip does with their files, which takes it seconds."""
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as file:
                file.extractall(self.packages)

    def try_pip(self, *arguments):
        """Run pip on it, as it is configured: the finished process."""
        command = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check"]
        return subprocess.run(
            [*command, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.variables,
            timeout=600,
        )


def write_checkout(source):
    """What margins is built from, with the kernels under test in place of a compiler."""
    shutil.copytree(ROOT / "margins", source / "margins", ignore=LITTER)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copy(ROOT / "setup.py", source / "real_setup.py")
    (source / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/stubs.py", source / "scripts")
    kernels = [path.relative_to(ROOT).with_suffix("") for path in (ROOT / "margins").rglob("*.pyx")]
    names = [*(".".join(kernel.parts) for kernel in kernels), "margins._memoryview"]
    binaries = {name: importlib.import_module(name).__file__ for name in names}
    (source / "setup.py").write_text(SETUP.format(binaries=binaries), encoding="utf-8")


def write_wheel(package, folder):
    """The wheel of a plug-in of Python files alone, which pip would take a second to build: its path."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    metadata = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}"]
    metadata += [f"Requires-Dist: {name}" for name in project["dependencies"]]
    entries = [
        line
        for group, entries in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    files = {path.name: path.read_text(encoding="utf-8") for path in package.glob("*.py")}
    files[f"{stem}.dist-info/METADATA"] = "\n".join(metadata)
    files[f"{stem}.dist-info/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{stem}.dist-info/entry_points.txt"] = "\n".join(entries)
    record = f"{stem}.dist-info/RECORD"
    files[record] = "".join(f"{name},,\n" for name in [*files, record])
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return path
