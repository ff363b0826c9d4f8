r"""Readers and writers of files."""

from tgx_anchor.io.annotated_hypergraph import read_annotated_csv, read_annotated_json
from tgx_anchor.io.bad_row import BadRow, BadRowError
from tgx_anchor.io.group_columns import GroupColumns
from tgx_anchor.io.group_table import GroupTable, read_groups
from tgx_anchor.io.hif import read_hif, write_hif
from tgx_anchor.io.incidence import read_incidence, write_incidence
from tgx_anchor.io.labelled_lines import read_labelled_lines
from tgx_anchor.io.result_table import ResultTable
from tgx_anchor.io.role_table import RoleTable

__all__ = [
    'BadRow',
    'BadRowError',
    'GroupColumns',
    'GroupTable',
    'ResultTable',
    'RoleTable',
    'read_annotated_csv',
    'read_annotated_json',
    'read_groups',
    'read_hif',
    'read_incidence',
    'read_labelled_lines',
    'write_hif',
    'write_incidence',
]
