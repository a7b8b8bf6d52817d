"""The command line, as ``python -m margins``."""

import sys

from margins.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
