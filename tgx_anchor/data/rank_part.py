"""Part of a hypergraph that one of several processes holds."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from tgx_anchor.utils.ranks import Ranks

T = TypeVar('T')


class RankPart:
    r"""Describes which hyperedges of a hypergraph in shards an
    :class:`~tgx_anchor.data.AnchorData` holds, and which processes hold the others.
    Its hyperedges are consecutive, and it has all nodes.

    Args:
        ranks (Ranks): The processes.
        shards (range): The shards of this process.
        first_hyperedge (int): The number of its first hyperedge among all.
        first_incidence (int): The number of its first incidence among all.
    """

    def __init__(
        self, ranks: Ranks, shards: range, first_hyperedge: int, first_incidence: int
    ) -> None:
        self.ranks = ranks
        self.shards = shards
        self.first_hyperedge = first_hyperedge
        self.first_incidence = first_incidence
        self._cache: dict[str, Any] = {}

    def cached(self, key: str, make: Callable[[], T]) -> T:
        r"""Returns the cached value of a name, or makes it.

        Args:
            key (str): The name.
            make (callable): Makes it.
        """
        if key not in self._cache:
            self._cache[key] = make()
        return cast(T, self._cache[key])

    def __deepcopy__(self, memo: object) -> 'RankPart':
        return self

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}({self.ranks}, shards={self.shards}, '
            f'first_hyperedge={self.first_hyperedge}, '
            f'first_incidence={self.first_incidence})'
        )
