"""What a class of the user's has to be for a dataset over it."""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

Element_co = TypeVar("Element_co", covariant=True)


@runtime_checkable
class Source(Protocol[Element_co]):
    """Elements by position: what `Dataset.from_source` takes.

    A class needs no base, only these two methods; PyTorch's map-style datasets, Grain's sources and lists have them. It
    may have `__getitems__(indices: list[int])` too, which gives the elements at all of `indices` in one call, and is
    then used. What they give for an index is the same each time, or a shuffled and resumed run is not repeatable.
    """

    def __len__(self) -> int:
        """Elements in all. Asked once, when the dataset is made."""
        ...

    def __getitem__(self, index: int, /) -> Element_co:
        """Element `index`, of 0 to `len - 1`: arrays, numbers, bytes, str, or tuples and dicts of them."""
        ...
