"""How much memory this process may still take, so that what cannot fit is refused before any work.

A system that hands out more memory than it has ends the process later, without a word.
"""

import contextlib
import os
from pathlib import Path

MEMORY_INFO = Path("/proc/meminfo")
GROUPS_OF_PROCESS = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")

# Models of fewer weights are not looked into, since the look takes as long as a small fit.
NEGLIGIBLE = 1 << 24
# A fit holds at least so many vectors of weights for each binary problem: of its run, and of its model.
N_VECTORS = 2


def check_model_fits(name, n_problems, n_features):
    """Raise MemoryError if the weights of a linear model do not fit into memory.

    Parameters
    ----------
    name : object
        Its str is the name of the method, for the error.
    n_problems, n_features : int
    """
    size = 8 * n_problems * n_features
    if n_problems * n_features < NEGLIGIBLE:
        return
    available = available_bytes()
    if available is not None and N_VECTORS * size > available:
        raise MemoryError(
            f"The model of {name} must fit into memory: {n_problems} x {n_features} weights are "
            f"{text_of_bytes(size)}, and the fit holds at least {N_VECTORS} times as much at its end. "
            f"Got {text_of_bytes(available)} of free memory. Use fewer features or classes."
        )


def available_bytes():
    """The memory that this process may still take: int; None if the system does not say."""
    limits = _free_on_machine(), *_left_in_groups(), _left_in_limit()
    known = [limit for limit in limits if limit is not None]
    return max(min(known), 0) if known else None


def _free_on_machine():
    """What the machine can give without swapping; where that is unknown, all that it has."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in MEMORY_INFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    with contextlib.suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _left_in_groups():
    """What the control groups of this process, as of containers, leave: list of int."""
    found = []
    with contextlib.suppress(OSError):
        for line in GROUPS_OF_PROCESS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":  # version 2, where limits of all groups above hold, too
                group = GROUPS / path.lstrip("/")
                for folder in (group, *group.parents):
                    if folder == GROUPS.parent:
                        break
                    found.append(_left_in(folder, "memory.max", "memory.current"))
            elif controllers == "memory":
                for folder in (GROUPS / "memory" / path.lstrip("/"), GROUPS / "memory"):
                    found.append(_left_in(folder, "memory.limit_in_bytes", "memory.usage_in_bytes"))
    return found


def _left_in(folder, limit, used):
    """What one control group leaves: int; None without a limit."""
    with contextlib.suppress(OSError, ValueError):  # "max", or not to be read
        return int((folder / limit).read_text()) - int((folder / used).read_text())
    return None


def _left_in_limit():
    """What the limit of address space leaves: int; None without a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return limit - pages * os.sysconf("SC_PAGE_SIZE")
    return limit


def text_of_bytes(n_bytes):
    """A size in gigabytes, as messages have it: str."""
    return f"{n_bytes / 1e9:.1f} GB"
