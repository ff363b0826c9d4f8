from tgx_anchor.datasets import CATALOG
from tgx_site import catalogue


def test_every_dataset_is_described() -> None:
    text, table = catalogue.datasets(), catalogue.dataset_table()
    for name, entry in CATALOG.items():
        section = text.split(f'### {name}\n')[1].split('### ')[0]
        assert entry.citation in section
        assert entry.licence in section
        assert f'{entry.num_hyperedges:,} groups' in section
        assert ('not checked' in section) != entry.checked
        assert f'| {name} |' in table
