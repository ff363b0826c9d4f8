"""Settings of the documentation; see 'Build the documentation' in CONTRIBUTING.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / '_ext'))

from tgx_anchor import __version__

project = 'tgx_anchor'
author = 'The authors of tgx_anchor'
release = version = __version__

extensions = [
    'myst_nb',
    'sphinx.ext.autodoc',
    'sphinx.ext.intersphinx',
    'sphinx.ext.mathjax',
    'sphinx.ext.napoleon',
    'sphinx.ext.viewcode',
    'sphinx_copybutton',
    'tgx_site.exports',
    'tgx_site.inner_links',
    'tgx_site.inventories',
    'tgx_site.local_mathjax',
    'tgx_site.notebooks',
    'tgx_site.pages',
]
exclude_patterns = ['_build', '_ext', '_generated']
nitpicky = True
smartquotes_action = 'De'  # dashes; quotes stay as they are
# ':obj:' sets code, as in PyG; the others are words of docstrings, and types of
# arguments that users never make themselves.
nitpick_ignore_regex = [
    ('py:obj', r'(?s:.*)'),
    ('py:class', 'optional|Copies|HeldOut|KnownSets|RemoteFile|Row|Run|ShardManifest'),
    ('py:class', r'tgx_anchor\.nn\.predictors\.training\.PredictorTraining'),
]

# Pages that are templates, see 'tgx_site.pages'.
tgx_pages = ['index', 'project/', 'reference/', 'results/', 'start/']

autodoc_member_order = 'bysource'
autodoc_typehints = 'none'
autodoc_inherit_docstrings = False
napoleon_custom_sections = [('Shapes', 'notes_style')]
napoleon_use_ivar = True
python_display_short_literal_types = True
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = 'hide'
add_module_names = False

myst_enable_extensions = ['attrs_inline', 'colon_fence', 'deflist', 'dollarmath']
myst_heading_anchors = 4
nb_execution_mode = 'off'  # the tests run them, see 'tgx_site.notebooks'

mathjax_path = 'tex-svg-full.js'
copybutton_prompt_text = '$ '

html_theme = 'furo'
html_title = 'tgx_anchor'
html_static_path = ['_static']
html_css_files = ['site.css']
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    'light_css_variables': {
        'color-brand-primary': '#b8480a',
        'color-brand-content': '#9c3d08',
    },
    'dark_css_variables': {
        'color-brand-primary': '#f0904d',
        'color-brand-content': '#f5a56c',
    },
}
