"""The demo: the order of the methods, repeatable figures."""

from pathlib import Path

from tests.cli.command import Run
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.transforms import RandomHyperedgeSplit

SMALL = ('demo', '--num-nodes', '300', '--num-hyperedges', '900')


def table(out: str) -> dict[str, list[str]]:
    """The rows of the table by their method."""
    rows = [line.split('│') for line in out.splitlines() if line.startswith('│')]
    return {row[1].strip(): [cell.strip() for cell in row[2:-1]] for row in rows}


def test_ranks_the_heuristics(run: Run) -> None:
    code, out, err = run(*SMALL)
    assert (code, err) == (0, '')
    rows = table(out)
    learners = ['HGNN', 'HNHN', 'HAT', 'AnchorRadar', 'StackedAnchorRadar']
    assert list(rows) == ['RandomHeuristic', 'DegreeHeuristic', *learners]
    accuracy = {name: float(cells[0]) for name, cells in rows.items()}
    assert accuracy['DegreeHeuristic'] > accuracy['RandomHeuristic'] + 5
    assert all(f'\n{name}: {accuracy[name]} % in ' in out for name in rows)


def test_numbers_of_groups_are_explained(run: Run) -> None:
    split = RandomHyperedgeSplit(0.075, 0.025)
    data = split(PlantedAnchorDataset(300, 900)[0])
    node, hyperedge = data.hyperedge_index.tolist()
    groups: list[list[int]] = [[] for _ in range(900)]
    for v, e in zip(node, hyperedge, strict=True):
        groups[e].append(v)
    single = sum(len(group) == 1 for group in groups)
    distinct = len({frozenset(group) for group in groups if len(group) > 1})
    out = ' '.join(run(*SMALL).out.split())
    assert f'known in {int(data.train_mask.sum())} groups' in out
    assert f'{int(data.test_mask.sum())} groups are tested' in out
    assert f'7.5% of the {distinct} distinct groups' in out
    assert f'{single} groups with a single member' in out


def test_is_repeatable(run: Run) -> None:
    seen = []
    for _ in range(2):
        rows = table(run(*SMALL, '--seed', '3').out)
        # All but the column of seconds.
        seen.append({name: cells[:3] + cells[4:] for name, cells in rows.items()})
    assert seen[0] == seen[1] != {}


def test_table(run: Run, tmp_path: Path) -> None:
    path = tmp_path / 'groups.csv'
    done = run(*SMALL, '--out', str(path))
    assert (done.code, done.err) == (0, '')
    data = AnchorData.from_incidence(path)
    assert data.num_hyperedges == 900
    known = int(data.known_mask.sum())
    assert 0 < known < 100
    assert f'of which {known} have a known anchor' in done.out
    assert data.get('role') is None
    assert run('demo', '--out', str(tmp_path / 'groups.doc')).code == 2
