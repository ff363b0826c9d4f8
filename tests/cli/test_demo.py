"""The demo: the order of the methods, repeatable figures."""

from tests.cli.command import Run

SMALL = ('demo', '--num-nodes', '300', '--num-hyperedges', '900')


def table(out: str) -> dict[str, list[str]]:
    """The rows of the table by their method."""
    rows = [line.split('│') for line in out.splitlines() if line.startswith('│')]
    return {row[1].strip(): [cell.strip() for cell in row[2:-1]] for row in rows}


def test_ranks_the_heuristics(run: Run) -> None:
    code, out, err = run(*SMALL)
    assert (code, err) == (0, '')
    rows = table(out)
    learners = ['HGNN', 'HNHN', 'HAT', 'AnchorRadar']
    assert list(rows) == ['RandomHeuristic', 'DegreeHeuristic', *learners]
    accuracy = {name: float(cells[0]) for name, cells in rows.items()}
    assert accuracy['DegreeHeuristic'] > accuracy['RandomHeuristic'] + 5
    assert '900 groups' in out


def test_is_repeatable(run: Run) -> None:
    seen = []
    for _ in range(2):
        rows = table(run(*SMALL, '--seed', '3').out)
        # All but the column of seconds.
        seen.append({name: cells[:3] + cells[4:] for name, cells in rows.items()})
    assert seen[0] == seen[1] != {}
