"""Lists all datasets: files, roles, published sizes, licence and citation.

The class, the README, the command line and the tests read this one list.
"""

from dataclasses import dataclass, field
from typing import Literal

from tgx_anchor.datasets.download import RemoteFile

_LINES = 'edge_dependent_node_classification'
_LINES_URL = (
    'https://raw.githubusercontent.com/zhengyijia/CoNHD/'
    '02212eaef598ac2dbb175bd3df5687be03474b5c/dataset/' + _LINES
)
_ANNOTATED = 'annotated_hypergraphs'
_ANNOTATED_URL = (
    'https://raw.githubusercontent.com/PhilChodrow/annotated_hypergraphs/'
    'e5fcaaa4196631460d188ab8d4dfc2ba4c3a2e4e/data'
)
_DRIVE_URL = (
    'https://drive.usercontent.google.com/download?export=download&confirm=t&id='
)

_CHOE = (
    'Choe et al., Classification of Edge-dependent Labels of Nodes in Hypergraphs, 2023'
)
_CHODROW = 'Chodrow and Mellor, Annotated Hypergraphs: Models and Applications, 2020'
_UNSTATED = 'see the published page'


@dataclass(frozen=True)
class CatalogEntry:
    r"""Describes a dataset: its files, its roles and its published sizes.

    Args:
        name (str): The short name in the paper.
        source (str): The name of the raw dataset.
        domain (str): The kind of the groups, *e.g.*, :obj:`"e-mail"`.
        roles (tuple[str]): The names of the roles, in the order of their numbers.
        anchors (dict[str, str]): For each choice of :obj:`anchor`, the role of the
            anchors. The choice :obj:`'first_second'` stands for the first two members
            of the raw line.
        layout (str): The format of the raw files, :obj:`"lines"` or
            :obj:`"annotated"`.
        files (tuple[RemoteFile]): The raw files, or the archive that holds them.
        num_nodes (int): The published number of nodes.
        num_hyperedges (int): The published number of hyperedges.
        num_distinct (int): The published number of distinct node sets.
        min_size (int): The published smallest size.
        max_size (int): The published largest size.
        mean_size (float): The published mean size, to two digits.
        keep (str): The raw groups to keep: :obj:`"all"`, those whose members are all
            :obj:`"distinct"`, or the :obj:`"anchored"` ones, with exactly one anchor.
        licence (str): The licence of the raw files.
        citation (str): The publication that the raw files come from.
        page (str, optional): The page that describes the raw files.
            (default: :obj:`None`)
        checked (bool, optional): Whether the raw files must give the published counts.
            If :obj:`False`, other counts only cause a warning, as these files were not
            at hand when their reader was written. (default: :obj:`True`)
    """

    name: str
    source: str
    domain: str
    roles: tuple[str, ...]
    anchors: dict[str, str]
    layout: Literal['lines', 'annotated']
    files: tuple[RemoteFile, ...]
    num_nodes: int
    num_hyperedges: int
    num_distinct: int
    min_size: int
    max_size: int
    mean_size: float
    keep: Literal['all', 'distinct', 'anchored']
    licence: str
    citation: str
    page: str | None = None
    checked: bool = field(default=True)

    @property
    def is_archive(self) -> bool:
        r"""Whether the raw files come in one archive from a shared drive."""
        return len(self.files) == 1

    @property
    def folder(self) -> str:
        r"""The folder of the raw files below a mirror."""
        parent = _LINES if self.layout == 'lines' else _ANNOTATED
        return f'{parent}/{self.source}'


def _lines(
    source: str, members: tuple[str, int], labels: tuple[str, int]
) -> tuple[RemoteFile, ...]:
    return tuple(
        RemoteFile(
            path=f'{_LINES}/{source}/{name}',
            url=f'{_LINES_URL}/{source}/{name}',
            sha256=sha256,
            num_bytes=num_bytes,
        )
        for name, (sha256, num_bytes) in (
            ('hypergraph.txt', members),
            ('hypergraph_pos.txt', labels),
        )
    )


def _archive(source: str, drive_id: str) -> tuple[RemoteFile, ...]:
    return (RemoteFile(path=f'{_ANNOTATED}/{source}.zip', url=_DRIVE_URL + drive_id),)


_AUTHORS = ('first', 'middle', 'last')
_AUTHOR_ANCHORS = {'first': 'first', 'last': 'last', 'first_second': 'first'}
_ANSWERS = ('questioner', 'answerer', 'accepted')
_PAGE = 'https://andrewmellor.co.uk/data/ah-'

_ENTRIES = (
    CatalogEntry(
        name='coAA',
        source='AMinerAuthor',
        domain='co-authorship',
        roles=_AUTHORS,
        anchors=_AUTHOR_ANCHORS,
        layout='lines',
        files=_lines(
            'AMinerAuthor',
            (
                '67d7afb8ce86b0d1a1de673fec52dc4a22cca0c09c445177e0913847a22269a7',
                36210665,
            ),
            (
                'add093f3a12bee67443899a0dadf081ac0f0a6759803fd0da4404cf548205b80',
                10385996,
            ),
        ),
        num_nodes=1_712_433,
        num_hyperedges=2_037_605,
        num_distinct=1_454_250,
        min_size=1,
        max_size=115,
        mean_size=2.55,
        keep='all',
        licence='MIT',
        citation=_CHOE,
    ),
    CatalogEntry(
        name='coDB',
        source='DBLP',
        domain='co-authorship',
        roles=_AUTHORS,
        anchors=_AUTHOR_ANCHORS,
        layout='lines',
        files=_lines(
            'DBLP',
            (
                '31ac0dc0baa4ae3a93ecabfaf57f1550045ee862a27c25396f488c7e336466e9',
                4086001,
            ),
            (
                '988290e56b59c1386660fb84c3468ac205f3cc77e239e9c7eadecbb560b4e90a',
                2831699,
            ),
        ),
        num_nodes=108_476,
        num_hyperedges=91_260,
        num_distinct=81_601,
        min_size=2,
        max_size=36,
        mean_size=3.52,
        keep='distinct',
        licence='MIT',
        citation=_CHOE,
    ),
    CatalogEntry(
        name='coSM',
        source='scopus-multilayer',
        domain='co-authorship',
        roles=_AUTHORS,
        anchors=_AUTHOR_ANCHORS,
        layout='annotated',
        files=_archive('scopus-multilayer', '1p6_oH6Q01OhMY0RSx-xNtawbPuRzXPBz'),
        num_nodes=1_673,
        num_hyperedges=937,
        num_distinct=842,
        min_size=1,
        max_size=27,
        mean_size=3.09,
        keep='all',
        licence=_UNSTATED,
        citation=_CHODROW,
        page=_PAGE + 'scopus-multilayer',
        checked=False,
    ),
    CatalogEntry(
        name='qaBI',
        source='StackOverflowBiology',
        domain='online Q&A',
        roles=_ANSWERS,
        anchors={'questioner': 'questioner'},
        layout='lines',
        files=_lines(
            'StackOverflowBiology',
            (
                'a10b12466373b02b400e62a699512c4ac6db8774cd1e9edfa33e421dd620413f',
                271318,
            ),
            (
                '43ee0c411cadc6d599f18c06a490ce4b40b5fc65a880abd1dbb4695f070401fc',
                112514,
            ),
        ),
        num_nodes=15_418,
        num_hyperedges=26_290,
        num_distinct=23_242,
        min_size=1,
        max_size=12,
        mean_size=2.08,
        keep='anchored',
        licence='MIT',
        citation=_CHOE,
    ),
    CatalogEntry(
        name='qaPH',
        source='StackOverflowPhysics',
        domain='online Q&A',
        roles=_ANSWERS,
        anchors={'questioner': 'questioner'},
        layout='lines',
        files=_lines(
            'StackOverflowPhysics',
            (
                '64c6b306d0a86fe02dedc789214510999105a486be5a9b13dc71d937dd003e12',
                2662124,
            ),
            (
                '2a33fabb9773bad04c224cf352ff3df85e7a21e61b21196955bd5b3361e3cc0f',
                959618,
            ),
        ),
        num_nodes=80_434,
        num_hyperedges=194_575,
        num_distinct=169_274,
        min_size=1,
        max_size=40,
        mean_size=2.38,
        keep='anchored',
        licence='MIT',
        citation=_CHOE,
    ),
    CatalogEntry(
        name='qaMA',
        source='overflow-math',
        domain='online Q&A',
        roles=('setter', 'answers', 'accepted'),
        anchors={'questioner': 'setter'},
        layout='annotated',
        files=_archive('overflow-math', '1RFBA50lhAAvvMfcWvp7NwszKjFCKcfG5'),
        num_nodes=410,
        num_hyperedges=154,
        num_distinct=154,
        min_size=2,
        max_size=57,
        mean_size=4.27,
        keep='anchored',
        licence=_UNSTATED,
        citation=_CHODROW,
        page=_PAGE + 'overflow-math',
        checked=False,
    ),
    CatalogEntry(
        name='qaST',
        source='overflow-stack',
        domain='online Q&A',
        roles=('setter', 'answers', 'accepted'),
        anchors={'questioner': 'setter'},
        layout='annotated',
        files=_archive('overflow-stack', '1qr2sfZkwJuYufYqDHoE_II49XoR9i75V'),
        num_nodes=22_131,
        num_hyperedges=4_716,
        num_distinct=4_713,
        min_size=1,
        max_size=59,
        mean_size=5.79,
        keep='anchored',
        licence=_UNSTATED,
        citation=_CHODROW,
        page=_PAGE + 'overflow-stack',
        checked=False,
    ),
    CatalogEntry(
        name='emEN',
        source='emailEnron',
        domain='e-mail',
        roles=('to', 'cc', 'sender'),
        anchors={'sender': 'sender'},
        layout='lines',
        files=_lines(
            'emailEnron',
            (
                '845ed5bb1363c952e7a9ca61ebf5f8ba834dd9b5922063cc44257fa33a8fb36c',
                5747764,
            ),
            (
                '835807f6ab1ca3ff505a3172b9abc9a5327f1b67efc2643643b73650d6aed7c9',
                2373042,
            ),
        ),
        num_nodes=21_251,
        num_hyperedges=101_124,
        num_distinct=34_916,
        min_size=2,
        max_size=883,
        mean_size=11.53,
        keep='all',
        licence='MIT',
        citation=_CHOE,
    ),
    CatalogEntry(
        name='emEU',
        source='emailEu',
        domain='e-mail',
        roles=('sender', 'receiver'),
        anchors={'sender': 'sender'},
        layout='lines',
        files=_lines(
            'emailEu',
            (
                'cee1251da781cac287b55b960971117151b1d36a215557d8368e78195b22049e',
                2118290,
            ),
            (
                '592f59f95801ea7765041176d7e5f008cbd44a249496be739440bd58b7949740',
                1083684,
            ),
        ),
        num_nodes=986,
        num_hyperedges=209_508,
        num_distinct=24_520,
        min_size=2,
        max_size=40,
        mean_size=2.56,
        keep='all',
        licence='MIT',
        citation=_CHOE,
    ),
    CatalogEntry(
        name='emER',
        source='enron',
        domain='e-mail',
        roles=('from', 'to', 'cc'),
        anchors={'sender': 'from'},
        layout='annotated',
        files=(
            RemoteFile(
                path=f'{_ANNOTATED}/enron/incidence.csv',
                url=f'{_ANNOTATED_URL}/enron/incidence.csv',
                sha256='8b4dd79d5de423a2dcf98251281c32e5df58dd503de4e4142cd919ef9d65f9c9',
                num_bytes=260966,
            ),
            RemoteFile(
                path=f'{_ANNOTATED}/enron/roles.csv',
                url=f'{_ANNOTATED_URL}/enron/roles.csv',
                sha256='fe21aff77d00432edd724e2428d71914393878af542dcffe831b0a81c75ce203',
                num_bytes=17,
            ),
            RemoteFile(
                path=f'{_ANNOTATED}/enron/edges.csv',
                url=f'{_ANNOTATED_URL}/enron/edges.csv',
                sha256='382dd3d78ea0231a2558853e2c3f459a2780e426e2f2484e1d6bb90f2d024aba',
                num_bytes=262000,
            ),
        ),
        num_nodes=110,
        num_hyperedges=9_603,
        num_distinct=1_169,
        min_size=2,
        max_size=29,
        mean_size=2.47,
        keep='all',
        licence='MIT',
        citation=_CHODROW,
    ),
    CatalogEntry(
        name='soME',
        source='twitter',
        domain='social network',
        roles=('source', 'target'),
        anchors={'sender': 'source'},
        layout='annotated',
        files=_archive('twitter', '1EFmOSgoiExM9sjIVThEKq2lzwMg1AoUj'),
        num_nodes=26_059,
        num_hyperedges=34_577,
        num_distinct=22_700,
        min_size=2,
        max_size=14,
        mean_size=2.58,
        keep='anchored',
        licence=_UNSTATED,
        citation=_CHODROW,
        page=_PAGE + 'twitter',
        checked=False,
    ),
    CatalogEntry(
        name='soRE',
        source='twitter',
        domain='social network',
        roles=('retweeter', 'retweeted'),
        anchors={'retweeted': 'retweeted'},
        layout='annotated',
        files=_archive('twitter', '1EFmOSgoiExM9sjIVThEKq2lzwMg1AoUj'),
        num_nodes=30_073,
        num_hyperedges=88_148,
        num_distinct=49_828,
        min_size=2,
        max_size=2,
        mean_size=2.00,
        keep='anchored',
        licence=_UNSTATED,
        citation=_CHODROW,
        page=_PAGE + 'twitter',
        checked=False,
    ),
    CatalogEntry(
        name='moML',
        source='movielens',
        domain='movie cast',
        roles=('lead', 'cast'),
        anchors={'lead': 'lead'},
        layout='annotated',
        files=_archive('movielens', '1JXaUSD2-ZBLAX2ukggtD_6fY1sjSzw4k'),
        num_nodes=73_155,
        num_hyperedges=43_058,
        num_distinct=42_497,
        min_size=1,
        max_size=5,
        mean_size=4.70,
        keep='anchored',
        licence=_UNSTATED,
        citation=_CHODROW,
        page=_PAGE + 'movielens',
        checked=False,
    ),
)

#: All datasets by their names.
CATALOG = {entry.name: entry for entry in _ENTRIES}


def resolve_setting(name: str, anchor: str | None) -> tuple[CatalogEntry, str]:
    r"""Looks up a dataset and its kind of anchor by the arguments of
    :class:`AnchorDataset`.

    Args:
        name (str): The name, as :obj:`"emEU"`, :obj:`"coDB"` or :obj:`"coDB_last"`.
        anchor (str, optional): The kind of anchor, if it is not part of the name.
    """
    base, mark, kind = name.partition('_')
    if base in CATALOG and mark and anchor is None:
        name, anchor = base, kind
    if name not in CATALOG:
        raise ValueError(f"'name' must be one of {', '.join(CATALOG)} (got {name!r})")
    entry = CATALOG[name]
    if anchor is None and len(entry.anchors) == 1:
        anchor = next(iter(entry.anchors))
    if anchor not in entry.anchors:
        choices = ', '.join(map(repr, entry.anchors))
        found = '(none was passed)' if anchor is None else f'(got {anchor!r})'
        raise ValueError(f"'anchor' of {name!r} must be one of {choices} {found}")
    return entry, anchor


def catalog_table() -> list[list[str]]:
    r"""Returns the catalogue as rows of text, the header first, as printed in the
    README and by :obj:`tgx-anchor datasets`.
    """
    header = ['name', 'source', 'domain', 'anchor', 'nodes', 'groups', 'distinct']
    rows = [
        [
            entry.name,
            entry.source,
            entry.domain,
            ', '.join(entry.anchors),
            f'{entry.num_nodes:,}',
            f'{entry.num_hyperedges:,}',
            f'{entry.num_distinct:,}',
            f'{entry.min_size}-{entry.max_size}',
            f'{entry.mean_size:.2f}',
        ]
        for entry in CATALOG.values()
    ]
    return [[*header, 'sizes', 'mean'], *rows]
