r"""Describes the datasets from the catalogue."""

from tgx_anchor.benchmark.tables import markdown_table
from tgx_anchor.datasets import CATALOG, CatalogEntry, catalog_table


def dataset_table() -> str:
    r"""Writes the catalogue as a table of Markdown."""
    return markdown_table(catalog_table(), num_left=4)


def datasets() -> str:
    r"""Writes a section of Markdown for each dataset."""
    return '\n'.join(map(_section, CATALOG.values()))


def _section(entry: CatalogEntry) -> str:
    anchors = ', '.join(
        f'`{choice}` ({role})' if choice != role else f'`{choice}`'
        for choice, role in entry.anchors.items()
    )
    page = [f'Page\n: <{entry.page}>\n'] if entry.page else []
    sizes = (
        f'{entry.num_nodes:,} nodes, {entry.num_hyperedges:,} groups '
        f'({entry.num_distinct:,} distinct), {entry.min_size} to {entry.max_size} '
        f'members, {entry.mean_size:.2f} on average'
    )
    counts = 'not checked here; a warning says if those of the files differ'
    checked = [] if entry.checked else [f'Counts\n: {counts}\n']
    return '\n'.join(
        [
            f'### {entry.name}\n',
            f'Source\n: {entry.source}, {entry.domain}\n',
            f'Anchor\n: {anchors}\n',
            f'Roles\n: {", ".join(entry.roles)}\n',
            f'Size\n: {sizes}\n',
            *checked,
            f'Citation\n: {entry.citation}\n',
            f'Licence\n: {entry.licence}\n',
            *page,
        ]
    )
