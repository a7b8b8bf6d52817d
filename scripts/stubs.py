"""Write the type stubs of compiled modules, and of `margins.get`; setup.py runs it before every build.

A stub takes its types from the signatures and annotations of the ``.pyx`` file, and from the attributes
that the ``.pxd`` file declares readonly or public. An argument or a result without a type is ``Any``.
"""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("_sparse", "_update", "_activeset", "data/_binary_data", "rules/*")  # within margins
BUILT_INS = "margins/algorithms/_built_ins.pyi"

HEADER = """# Made by scripts/stubs.py.
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

"""
TYPES = {
    "bint": "bool",
    "dict": "dict[Any, Any]",
    "double": "float",
    "list": "list[Any]",
    "str": "str",
    "tuple": "tuple[Any, ...]",
    "type": "type",
    **dict.fromkeys(("int", "int32_t", "int64_t", "Py_ssize_t"), "int"),
}
ELEMENTS = {
    "double": "np.float64",
    "float": "np.float32",
    "int32_t": "np.int32",
    "int64_t": "np.int64",
    "signed char": "np.int8",
}
RESULTS = {"__init__": "None", "__len__": "int", "__new__": "Self", "__repr__": "str"}
OF_PICKLES_AND_MEMORY = ("__dealloc__", "__getstate__", "__reduce__", "__setstate__")

CLASS = r"^(?P<is_compiled>cdef )?class (?P<cls>\w+)(?:\((?P<bases>[^)]*)\))?:"
ARGUMENTS = r"(?P<arguments>(?:[^()]|\([^()]*\))*)"
FUNCTION = rf"^(?P<indent> *)def (?P<function>\w+)\({ARGUMENTS}\)(?: -> (?P<result>.+))?:"
ANNOTATED = r"^(?P<inner>(?: {4})?)(?P<name>\w+): (?P<annotation>[^=\n]+?)(?P<default> = .+)?$"
STATEMENT = re.compile(rf"{CLASS}|^ *(?P<decorator>@[\w.]+)$|{FUNCTION}|{ANNOTATED}", re.M)
ATTRIBUTES = re.compile(
    r"^cdef class (\w+)|^ +cdef (readonly|public) (.+?) (\w+(?:, \w+)*) *(?:#.*)?$", re.M
)
CLASSES = re.compile(r"^(?:cdef )?class (\w+)", re.M)
REEXPORTED = re.compile(r"globals\(\)\.update\([^)]*for kind in \(([^)]*)\)")


def python_type(declared, homes):
    """Return the annotation of a declared type, C's or a class; Any for none or a struct."""
    element, bracket, _ = declared.removeprefix("const ").strip().partition("[")
    if bracket:
        return f"NDArray[{ELEMENTS.get(element, 'Any')}]"
    return element if element in homes else TYPES.get(element, "Any")


def parameter(text, homes):
    """Return a parameter of a function as written in a stub."""
    if text in ("self", "cls", "*", "/"):
        return text
    if text.startswith("*"):
        return text if ":" in text else f"{text}: Any"
    declared, name, annotation, default = re.fullmatch(
        r"(.*?)(\w+)(?: not None)?(?:: (.+?))?(?: ?= ?(.+))?", text
    ).groups()
    kind = annotation or python_type(declared, homes)
    if default is None:
        return f"{name}: {kind}"
    if default == "None" and not annotation and kind != "Any":
        kind += " | None"
    try:
        ast.literal_eval(default)
    except ValueError:
        default = "..."
    return f"{name}: {kind} = {default}"


def function(match, decorators, homes):
    """Return the lines of a function or method."""
    name = match["function"].replace("__cinit__", "__new__")
    arguments = re.split(r",\s*(?![^\[(]*[\])])", match["arguments"].strip())
    arguments = [parameter(" ".join(text.split()), homes) for text in arguments if text]
    if name == "__new__":
        arguments[0] = "cls"
    result = match["result"] or RESULTS.get(name, "Any")
    indent = match["indent"]
    lines = [f"{indent}{decorator}" for decorator in decorators]
    return [*lines, f"{indent}def {name}({', '.join(arguments)}) -> {result}: ..."]


def attributes_of(declarations, homes):
    """Return {class: lines} of the attributes that a .pxd file makes visible."""
    lines, current = {}, None
    for cls, access, kind, names in ATTRIBUTES.findall(declarations):
        current = cls or current
        for name in names.split(", ") if names else ():
            getter = ["    @property", f"    def {name}(self) -> {python_type(kind, homes)}: ..."]
            field = [f"    {name}: {python_type(kind, homes)}"]
            lines.setdefault(current, []).extend(getter if access == "readonly" else field)
    return lines


def body_of(source, declarations, homes):
    """Return the lines of a stub after its imports."""
    source = re.sub(r'"""[\s\S]*?"""', "", source)
    attributes, lines, decorators, is_plain = attributes_of(declarations, homes), [], [], False
    for match in STATEMENT.finditer(source):
        if match["cls"]:
            bases, is_plain = match["bases"], not match["is_compiled"]
            lines.append(f"class {match['cls']}({bases}):" if bases else f"class {match['cls']}:")
            lines += attributes.get(match["cls"], [])
            lines.append("    ...")
        elif match["decorator"]:
            decorators.append(match["decorator"])
        elif match["function"]:
            if match["function"] not in OF_PICKLES_AND_MEMORY and len(match["indent"]) <= 4:
                lines += function(match, decorators, homes)
            decorators = []
        elif is_plain or not match["inner"]:
            default = " = ..." if match["default"] and match["inner"] else ""
            lines.append(f"{match['inner']}{match['name']}: {match['annotation']}{default}")
    return lines


def stubs():
    """Return {path: text} of all stubs."""
    paths = sorted(path for source in SOURCES for path in (ROOT / "margins").glob(f"{source}.pyx"))
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}
    sources = {module: path.read_text(encoding="utf-8") for module, path in modules.items()}
    homes = {name: module for module in modules for name in CLASSES.findall(sources[module])}
    texts = {BUILT_INS: stub_of_get()}
    for module, source in sources.items():
        header = modules[module].with_suffix(".pxd")
        declarations = header.read_text(encoding="utf-8") if header.exists() else ""
        body = "\n".join(body_of(source, declarations, homes))
        exported = re.findall(r"\w+", "".join(REEXPORTED.findall(source)))
        used = {name for name in re.findall(r"\w+", body) if homes.get(name, module) != module}
        imports = [f"from {homes[name]} import {name}" for name in sorted(used - {*exported})]
        imports += [f"from {homes[name]} import {name} as {name}" for name in exported]
        texts[module.replace(".", "/") + ".pyi"] = "\n".join([HEADER, *imports, "", body, ""])
    return texts


def stub_of_get():
    """Return `margins.get` with an overload for every built-in algorithm in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    algorithms = project["entry-points"]["margins.algorithms"]
    places = {name: place.split(":") for name, place in algorithms.items()}
    imports = sorted(f"from {module} import {cls}" for module, cls in places.values())
    lines = ["# Made by scripts/stubs.py.", "from typing import Literal, overload", "", *imports]
    lines += ["from margins.registry import Classifier", ""]
    for name, (_, cls) in places.items():
        lines += ["@overload", f'def get(name: Literal["{name}"]) -> type[{cls}]: ...']
    return "\n".join([*lines, "@overload", "def get(name: str) -> type[Classifier]: ...", ""])


def write():
    """Write the stubs that have changed."""
    for path, text in stubs().items():
        target = ROOT / path
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
