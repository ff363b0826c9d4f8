r"""The data object that everything else passes along."""

from tgx_anchor.data.anchor_data import AnchorData

__all__ = ['AnchorData']
