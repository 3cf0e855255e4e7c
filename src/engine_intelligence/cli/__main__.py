"""`python -m engine_intelligence.cli` is `engine-intelligence`."""

import sys

from engine_intelligence.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
