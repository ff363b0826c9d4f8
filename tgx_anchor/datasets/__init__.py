r"""Datasets of group interactions."""

from tgx_anchor.datasets.anchor_dataset import AnchorDataset
from tgx_anchor.datasets.catalog import CATALOG, CatalogEntry, catalog_table
from tgx_anchor.datasets.location import dataset_status
from tgx_anchor.datasets.planted_anchor_dataset import PlantedAnchorDataset

__all__ = [
    'CATALOG',
    'AnchorDataset',
    'CatalogEntry',
    'PlantedAnchorDataset',
    'catalog_table',
    'dataset_status',
]
