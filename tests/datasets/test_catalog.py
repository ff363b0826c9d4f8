"""The catalogue, against the tables of the paper and the list of raw files."""

import json
from pathlib import Path
from typing import Any

import pytest

from tgx_anchor.datasets import CATALOG, catalog_table
from tgx_anchor.datasets.catalog import resolve_setting
from tgx_anchor.paper import DATASETS, figures

NAMES = [
    *('coAA', 'coDB', 'coSM'),
    *('qaBI', 'qaPH', 'qaMA', 'qaST'),
    *('emEN', 'emEU', 'emER'),
    *('soME', 'soRE', 'moML'),
]
# What the paper calls by another name than the raw files, or than a reader would.
SOURCES = {
    'ScopusMultilayer': 'scopus-multilayer',
    'MathOverflow': 'overflow-math',
    'StackOverflow': 'overflow-stack',
    'EmailEnron': 'emailEnron',
    'EmailEu': 'emailEu',
    'Enron': 'enron',
    'Message': 'twitter',
    'Retweet': 'twitter',
    'MovieLens': 'movielens',
}
DOMAINS = {
    'co-authorship': 'co-authorship',
    'online-qa': 'online Q&A',
    'email': 'e-mail',
    'social': 'social network',
    'movie-cast': 'movie cast',
}
ANCHORS = {'leading-actor': 'lead'}


@pytest.fixture
def published() -> list[dict[str, str]]:
    columns = figures('datasets')
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


@pytest.fixture
def sources(mirror: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(
        (mirror / 'sources.json').read_bytes()
    )
    return found


def test_thirteen_rows() -> None:
    assert list(CATALOG) == NAMES == list(DATASETS)
    for name, entry in CATALOG.items():
        assert entry.name == name
        assert set(entry.anchors.values()) <= set(entry.roles)
        assert entry.is_archive == (entry.page is not None)
        assert entry.checked == (not entry.is_archive)
        assert entry.licence
        assert entry.citation


def test_rows_equal_the_paper(published: list[dict[str, str]]) -> None:
    assert [row['name'] for row in published] == list(CATALOG)
    for row in published:
        entry = CATALOG[row['name']]
        assert {
            'name': entry.name,
            'source': entry.source,
            'domain': entry.domain,
            'anchor_role': [name for name in entry.anchors if name != 'first_second'],
            'num_nodes': str(entry.num_nodes),
            'num_hyperedges': str(entry.num_hyperedges),
            'num_unique_hyperedges': str(entry.num_distinct),
            'min_size': str(entry.min_size),
            'max_size': str(entry.max_size),
            'avg_size': f'{entry.mean_size:.2f}',
        } == row | {
            'source': SOURCES.get(row['source'], row['source']),
            'domain': DOMAINS[row['domain']],
            'anchor_role': [
                ANCHORS.get(name, name) for name in row['anchor_role'].split('|')
            ],
        }


def test_table_shows_the_paper(published: list[dict[str, str]]) -> None:
    header, *rows = catalog_table()
    assert {len(words) for words in rows} == {len(header)}
    assert [[words[0], *words[4:]] for words in rows] == [
        [
            row['name'],
            *(
                f'{int(row[key]):,}'
                for key in ('num_nodes', 'num_hyperedges', 'num_unique_hyperedges')
            ),
            f'{row["min_size"]}-{row["max_size"]}',
            row['avg_size'],
        ]
        for row in published
    ]


@pytest.mark.mirror
def test_files_equal_the_sources(sources: dict[str, dict[str, Any]]) -> None:
    assert set(sources) == set(CATALOG)
    for name, source in sources.items():
        entry = CATALOG[name]
        layout = {'labelled lines': 'lines', 'annotated hypergraph': 'annotated'}
        assert entry.layout == layout[source['format']]
        assert entry.source == source['source']
        assert entry.page == source.get('page')
        if 'files' in source:
            assert [
                {
                    'path': file.path,
                    'url': file.url,
                    'sha256': file.sha256,
                    'bytes': file.num_bytes,
                }
                for file in entry.files
            ] == source['files']
            assert {str(Path(f['path']).parent) for f in source['files']} == {
                entry.folder
            }
        else:
            (archive,) = entry.files
            assert archive.url.endswith(f'&id={source["google_drive_id"]}')
            assert archive.url.startswith('https://drive.usercontent.google.com/')
            assert archive.path == f'annotated_hypergraphs/{source["source"]}.zip'
            assert archive.sha256 is source['sha256'] is None
            assert archive.num_bytes is None


@pytest.mark.parametrize(
    ('name', 'anchor', 'expected'),
    [
        ('coDB', 'first', ('coDB', 'first')),
        ('coDB', 'last', ('coDB', 'last')),
        ('coDB_last', None, ('coDB', 'last')),
        ('coSM_first', None, ('coSM', 'first')),
        ('coAA_first_second', None, ('coAA', 'first_second')),
        ('emEU', None, ('emEU', 'sender')),
        ('emEU', 'sender', ('emEU', 'sender')),
        ('emEU_sender', None, ('emEU', 'sender')),
        ('qaBI', None, ('qaBI', 'questioner')),
        ('soRE', None, ('soRE', 'retweeted')),
        ('moML', None, ('moML', 'lead')),
    ],
)
def test_resolves(name: str, anchor: str | None, expected: tuple[str, str]) -> None:
    entry, found = resolve_setting(name, anchor)
    assert (entry.name, found) == expected
    assert entry is CATALOG[entry.name]


CHOICES = ', '.join(NAMES)
AUTHORS = "'first', 'last', 'first_second'"


@pytest.mark.parametrize(
    ('name', 'anchor', 'message'),
    [
        ('DBLP', None, f"'name' must be one of {CHOICES} (got 'DBLP')"),
        ('codb', 'last', f"'name' must be one of {CHOICES} (got 'codb')"),
        ('', None, f"'name' must be one of {CHOICES} (got '')"),
        ('my_data', None, f"'name' must be one of {CHOICES} (got 'my_data')"),
        ('coDB_last', 'last', f"'name' must be one of {CHOICES} (got 'coDB_last')"),
        (
            'coDB',
            None,
            f"'anchor' of 'coDB' must be one of {AUTHORS} (none was passed)",
        ),
        ('coAA', 'mid', f"'anchor' of 'coAA' must be one of {AUTHORS} (got 'mid')"),
        ('coSM_', None, f"'anchor' of 'coSM' must be one of {AUTHORS} (got '')"),
        ('emEU', 'first', "'anchor' of 'emEU' must be one of 'sender' (got 'first')"),
        (
            'qaBI_last',
            None,
            "'anchor' of 'qaBI' must be one of 'questioner' (got 'last')",
        ),
    ],
)
def test_names_the_choices(name: str, anchor: str | None, message: str) -> None:
    with pytest.raises(ValueError, match='must be one of') as caught:
        resolve_setting(name, anchor)
    assert str(caught.value) == message


def test_notices_name_every_source() -> None:
    path = Path(__file__).parents[2] / 'THIRD_PARTY_NOTICES.md'
    rows = [
        [cell.strip() for cell in line.split('|')[1:-1]]
        for line in path.read_text(encoding='utf-8').splitlines()
        if line.startswith('| ') and '<https' in line
    ]
    named = {name: row for row in rows for name in row[0].split(', ')}
    assert sorted(named) == sorted(CATALOG)
    for name, entry in CATALOG.items():
        _, page, licence = named[name]
        assert licence.startswith('MIT') == (entry.licence == 'MIT')
        if entry.page is not None:
            assert page == f'<{entry.page}>'
        else:
            owner = '/'.join(entry.files[0].url.split('/')[3:5])
            assert page == f'<https://github.com/{owner}>'
