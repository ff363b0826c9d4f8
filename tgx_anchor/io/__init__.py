r"""Readers and writers of files."""

from tgx_anchor.io.annotated_hypergraph import read_annotated_csv, read_annotated_json
from tgx_anchor.io.bad_row import BadRow, BadRowError
from tgx_anchor.io.hif import read_hif, write_hif
from tgx_anchor.io.incidence import (
    inspect_incidence,
    read_incidence,
    write_incidence,
)
from tgx_anchor.io.incidence_reading import IncidenceReading
from tgx_anchor.io.labelled_lines import read_labelled_lines
from tgx_anchor.io.result_table import ResultTable
from tgx_anchor.io.role_table import RoleTable
from tgx_anchor.io.shard_reading import ShardReading
from tgx_anchor.io.sharding import write_shards

__all__ = [
    'BadRow',
    'BadRowError',
    'IncidenceReading',
    'ResultTable',
    'RoleTable',
    'ShardReading',
    'inspect_incidence',
    'read_annotated_csv',
    'read_annotated_json',
    'read_hif',
    'read_incidence',
    'read_labelled_lines',
    'write_hif',
    'write_incidence',
    'write_shards',
]
