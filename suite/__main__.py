# SPDX-License-Identifier: Apache-2.0
"""``python -m suite``."""

import sys

from suite.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
