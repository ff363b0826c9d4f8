"""Shards written from a table, with what the user should know about the reading."""

from dataclasses import dataclass, field

from tgx_anchor.data.shard_manifest import ShardManifest


@dataclass(frozen=True)
class ShardReading:
    r"""The manifest of shards and the report of their reading.

    Args:
        manifest (ShardManifest): The manifest.
        is_new (bool): Whether the shards were written now. If :obj:`False`, they were
            written by an earlier run, and the rest is empty.
        form (str, optional): The format of the table in words. (default: :obj:`""`)
        columns (dict[str, str], optional): The column of each meaning.
            (default: :obj:`{}`)
        notes (list[str], optional): Sentences about guesses, and about all that was
            merged, added or left out. (default: :obj:`[]`)
        num_rows (int, optional): The number of rows of the table, the bad ones
            included. (default: :obj:`0`)
        num_bad_rows (int, optional): The number of rows that were left out.
            (default: :obj:`0`)
        flags (dict[str, bool], optional): The words in the column of anchors, and
            whether they say that a member is an anchor. (default: :obj:`{}`)
    """

    manifest: ShardManifest
    is_new: bool
    form: str = ''
    columns: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    num_rows: int = 0
    num_bad_rows: int = 0
    flags: dict[str, bool] = field(default_factory=dict)
