"""The parts of the kernels that a build with sanitizers is sampled from."""

import re
from pathlib import Path

import sanitize

ROOT = Path(sanitize.ROOT)
KERNELS = sorted(path.relative_to(ROOT).with_suffix("") for path in (ROOT / "margins").rglob("*.pyx"))


def test_every_kernel_is_in_one_part_and_every_part_has_kernels():
    names = [".".join(kernel.parts) for kernel in KERNELS]
    parts = {name: [part for part in sanitize.PARTS if re.fullmatch(part, name)] for name in names}
    assert {name: matches for name, matches in parts.items() if len(matches) != 1} == {}
    assert {part for (part,) in parts.values()} == set(sanitize.PARTS)


def test_the_tests_of_every_part_exist():
    paths = {path for tests in sanitize.PARTS.values() for path in tests}
    assert [path for path in paths if not (ROOT / path).exists()] == []
