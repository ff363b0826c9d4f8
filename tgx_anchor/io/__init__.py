r"""Readers and writers of files."""

from tgx_anchor.io.annotated_hypergraph import read_annotated_csv, read_annotated_json
from tgx_anchor.io.hif import read_hif, write_hif
from tgx_anchor.io.incidence import read_incidence, write_incidence
from tgx_anchor.io.labelled_lines import read_labelled_lines
from tgx_anchor.io.result_table import ResultTable
from tgx_anchor.io.role_table import RoleTable

__all__ = [
    'ResultTable',
    'RoleTable',
    'read_annotated_csv',
    'read_annotated_json',
    'read_hif',
    'read_incidence',
    'read_labelled_lines',
    'write_hif',
    'write_incidence',
]
