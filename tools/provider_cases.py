"""Write the tables of `docs/providers.md`: what providers send, and providers by cases.

python tools/provider_cases.py          print them
python tools/provider_cases.py --write  put them into the page

`tests/providers/vendors` finds each cell of them in requests to a double of a vendor's server.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "tests")]

from providers.vendors import supports  # noqa: E402 - the path is set above
from providers.vendors.table import PAGE, lines, with_table  # noqa: E402


def main() -> None:
    """See the module."""
    if sys.argv[1:] == ["--write"]:
        page = supports.with_sent(PAGE.read_text(encoding="utf-8"))
        PAGE.write_text(with_table(page), encoding="utf-8")
    else:
        print("\n".join([*supports.lines(), "", *lines()]))


if __name__ == "__main__":
    main()
