r"""Fills pages with what is made at build time.

A page that holds :obj:`{{ name(...) }}` and whose name is in the configuration value
:obj:`tgx_pages` is a template of Jinja, with the functions of :data:`FUNCTIONS`.
"""

from collections.abc import Callable

import jinja2
from sphinx.application import Sphinx

from tgx_site import catalogue, commands, exports, pictures, repository, results

FUNCTIONS: dict[str, Callable[..., str]] = {
    'commands': commands.commands,
    'dataset_table': catalogue.dataset_table,
    'datasets': catalogue.datasets,
    'paper_overview': results.paper_overview,
    'paper_plot': results.paper_plot,
    'paper_tables': results.paper_tables,
    'picture': pictures.picture,
    'reference': exports.reference,
    'repository_file': repository.repository_file,
    'result_plot': results.result_plot,
    'result_table': results.result_table,
    'summaries': exports.summaries,
}


def fill(text: str) -> str:
    r"""Returns a page with all its calls replaced by their results.

    Args:
        text (str): The page.
    """
    environment = jinja2.Environment(  # noqa: S701, Markdown and not HTML
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    environment.globals.update(FUNCTIONS)
    return environment.from_string(text).render()


def _fill_source(app: Sphinx, name: str, source: list[str]) -> None:
    if any(name.startswith(each) for each in app.config.tgx_pages):
        source[0] = fill(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    r"""Adds the filling of pages to the application.

    Args:
        app (Sphinx): The application.
    """
    app.add_config_value('tgx_pages', [], 'env', list)
    app.connect('source-read', _fill_source)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
