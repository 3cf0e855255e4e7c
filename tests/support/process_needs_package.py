"""A module of a game that needs a package which is not installed."""

import package_that_is_not_installed  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]

from support.process_minds import mind

__all__ = ["mind", "package_that_is_not_installed"]
