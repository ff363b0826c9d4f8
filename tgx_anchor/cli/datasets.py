"""Lists the datasets and where each can be loaded from."""

import typer


def datasets(
    markdown: bool = typer.Option(
        False, '--markdown', help='Print the table for the README instead.'
    ),
) -> None:
    """List the thirteen datasets and where each can be loaded from.

    The status of a dataset is 'present' (in the cache folder), 'in mirror' (in the
    folder that TGX_ANCHOR_MIRROR names), 'downloadable', or 'shared drive': such a
    drive may refuse the download; if so, put the files into a mirror.

    Example: TGX_ANCHOR_MIRROR=/data/mirror tgx-anchor datasets
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from tgx_anchor.datasets import CATALOG, catalog_table, dataset_status

    header, *rows = catalog_table()
    if markdown:
        for row in (header, ['---'] * len(header), *rows):
            typer.echo(f'| {" | ".join(row)} |')
        return
    table = Table(
        title='Datasets',
        caption="co* take anchor='first', 'last' or 'first_second'; a shared drive may "
        'refuse the download: if so, put the files into a mirror',
        box=box.SIMPLE_HEAD,
        padding=0,
        pad_edge=False,
    )
    shown = [i for i, name in enumerate(header) if name not in ('source', 'anchor')]
    for i in shown:
        is_number = rows[0][i].replace(',', '').isdecimal()
        table.add_column(
            header[i], justify='right' if is_number else 'left', no_wrap=True
        )
    table.add_column('status', no_wrap=True)
    for row in rows:
        words = [row[i] for i in shown]
        table.add_row(*words, dataset_status(CATALOG[row[0]]))
    Console().print(table)
