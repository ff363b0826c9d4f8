"""A transform that adds the attributes that the data does not have yet."""

from collections.abc import Mapping, Sequence

from torch_geometric.transforms import BaseTransform

from tgx_anchor.data import AnchorData


class AddMissing(BaseTransform):
    r"""Applies each transform whose attribute the data does not have yet; without any
    transforms, it returns the data as it is.

    If the columns of an attribute have names (:obj:`data.column_names`) and the columns
    that the transform adds are not among them, it is applied as well. A transform is
    left out if the attribute that it reads, its :obj:`source`, is missing.

    Args:
        transforms (dict[str, BaseTransform or list[BaseTransform]], optional): The
            transforms by the attribute that they add; several add one after the other.
            (default: :obj:`{}`)
    """

    def __init__(
        self,
        transforms: Mapping[str, BaseTransform | Sequence[BaseTransform]] | None = None,
    ) -> None:
        self.transforms = dict(transforms or {})

    def forward(self, data: AnchorData) -> AnchorData:
        r"""Adds the missing attributes to :obj:`data`."""
        for name, given in self.transforms.items():
            each = [given] if isinstance(given, BaseTransform) else given
            # Looked at before any is applied, since all add the same attribute.
            missing = [t for t in each if self._is_missing(data, name, t)]
            for transform in missing:
                data = transform(data)
        return data

    def _is_missing(
        self, data: AnchorData, name: str, transform: BaseTransform
    ) -> bool:
        source = getattr(transform, 'source', None)
        if source is not None and data.get(source) is None:
            return False
        if data.get(name) is None:
            return True
        columns = data.column_names.get(name)
        added = getattr(transform, 'feature_names', [])
        return columns is not None and not set(added) <= set(columns)

    def __repr__(self) -> str:
        parts = ', '.join(f'{k}={v!r}' for k, v in self.transforms.items())
        return f'{self.__class__.__name__}({parts})'
