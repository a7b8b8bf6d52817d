"""The command line in forks, which end as processes do, but do not start Python and import modules."""

import gc
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from margins.cli import app


def import_what_commands_use():
    import skops.io  # noqa: F401

    import margins.model_selection
    from margins.cli import catalogue, models, prediction, studies, training  # noqa: F401

    return [margins.get(name) for name in ("auto", "pam", "pdm")]


def redirect(output, path):
    """Write errors to a file, and give the process an output: "closed", "unread" or "ascii"."""
    os.dup2(os.open(path, os.O_CREAT | os.O_RDWR), 2)
    if output == "closed":
        os.close(1)
        sys.stdout = None  # as Python sets it then
    elif output == "unread":
        reader, writer = os.pipe()
        os.close(reader)
        os.dup2(writer, 1)
    else:
        os.dup2(2, 1)
        sys.stdout = open(1, "w", encoding="ascii", errors="strict", closefd=False)  # noqa: SIM115


def end(folder, output, arguments):
    """Run a command in a copy of a folder: its exit code, what it wrote and the files there."""
    temporary = Path(tempfile.mkdtemp(dir=folder.parent))
    copy, written = shutil.copytree(folder, temporary / "copy"), temporary / "written"
    if not (child := os.fork()):
        redirect(output, written)
        os.chdir(copy)
        sys.exit(app.main(arguments))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, written.read_text(), sorted(os.listdir(copy))


if __name__ == "__main__":
    import_what_commands_use()
    gc.freeze()  # or each fork would take half a second to free what was imported
    print(json.dumps([end(Path(sys.argv[1]), *run) for run in json.loads(sys.argv[2])]))
