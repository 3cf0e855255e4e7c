"""Values for tests that are nothing in particular."""


class Something:
    """An object that is no value of any other type. It is always shown the same, so that a test of it has one name."""

    def __repr__(self) -> str:
        return "Something()"
