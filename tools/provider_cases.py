"""Write the table of providers by cases into `docs/providers.md`.

python tools/provider_cases.py          print it
python tools/provider_cases.py --write  put it into the page

`tests/providers/vendors` plays each cell of it against a double of a vendor's server.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "tests")]

from providers.vendors.table import PAGE, lines, with_table  # noqa: E402 - the path is set above


def main() -> None:
    """See the module."""
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print("\n".join(lines()))


if __name__ == "__main__":
    main()
