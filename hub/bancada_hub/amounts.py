"""Amounts of memory and of CPU that know how they are written, in a sentence of any language."""


class Bytes(int):
    """An amount of memory or storage. Written in GiB; a page writes it with its reader's decimal mark."""

    def __str__(self) -> str:
        return f"{self / 2**30:,.1f} GiB"


class Cores(float):
    """A number of CPU cores, also of parts of one. Written with two decimals at most."""

    def __str__(self) -> str:
        return f"{round(self, 2):,g}"
