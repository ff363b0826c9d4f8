import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.devices import second_device
from tests.strategies import Groups, one_line_error, to_data, to_groups
from tests.transforms.groups import GROUPS, NUM_NODES
from tests.transforms.test_add_random_walk_embedding import (
    separation,
    two_communities,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import VilLain
from tgx_anchor.nn.functional import virtual_label_loss


def quick(num_labels: Any = 2, **kwargs: Any) -> VilLain:
    return VilLain(num_labels, **{'out_channels': 6, 'num_epochs': 5, **kwargs})


def slow_steps(x: Tensor, data: AnchorData, num_steps: int) -> list[Tensor]:
    # Y^1, X^1, Y^2, ... hyperedge by hyperedge and node by node, copies included.
    groups = [sorted(set(group)) for group in to_groups(data)]
    out = []
    for _ in range(num_steps):
        y = torch.stack([x[g].sum(dim=0) / max(len(g), 1) for g in groups])
        rows = []
        for v in range(data.num_nodes):
            own = [e for e, group in enumerate(groups) if v in group]
            rows.append(y[own].sum(dim=0) / max(len(own), 1))
        x = torch.stack(rows)
        out += [y, x]
    return out


def first_draw(model: VilLain, data: AnchorData) -> Tensor:
    # The labels of the first epoch.
    (num_labels,) = model.num_labels
    generator = model._generator(num_labels, 0)
    size = (data.num_nodes, num_labels, math.ceil(model.out_channels / num_labels))
    logits = 0.1 * torch.randn(size, generator=generator)
    uniform = torch.rand(size, generator=generator)
    return (logits - (-uniform.log()).log()).softmax(dim=1)


@pytest.mark.parametrize('num_labels', [2, 3, 4])
def test_loss_of_the_first_epoch(num_labels: int) -> None:
    # Copies, members listed twice, singletons; node 8 is in no group.
    data = to_data([*GROUPS, []], NUM_NODES)
    model = quick(num_labels, num_steps=3, num_epochs=1).fit(data)
    local = other = 0.0
    steps = slow_steps(first_draw(model, data), data, 3)
    for value in steps:
        filled = value[value.flatten(1).sum(dim=1) > 0]
        terms = virtual_label_loss(filled)
        local += float(terms.local)
        other += float(terms.balance + terms.distinct)
    (record,) = model.history
    assert record['local'] == pytest.approx(local, rel=1e-5)
    assert record['global'] == pytest.approx(other, rel=1e-5)
    assert record['loss'] == pytest.approx(local + other, rel=1e-5)
    assert record['num_labels'] == num_labels
    assert (record['epoch'], record['num_epochs']) == (1, 1)


def test_first_step_of_the_optimizer() -> None:
    # Adam's first step is the learning rate against the sign of the gradient.
    data = to_data(GROUPS, NUM_NODES)
    model = quick(num_epochs=1, lr=0.5).fit(data)
    generator = model._generator(2, 0)
    start = 0.1 * torch.randn((NUM_NODES, 2, 3), generator=generator)
    logits = start.clone().requires_grad_()
    uniform = torch.rand(start.size(), generator=generator)
    x = (logits - (-uniform.log()).log()).softmax(dim=1)
    loss = torch.zeros(())
    for value in slow_steps(x, data, 4):
        filled = value[value.detach().flatten(1).sum(dim=1) > 0]
        loss = loss + sum(virtual_label_loss(filled))
    loss.backward()
    assert logits.grad is not None
    is_clear = logits.grad.abs() > 1e-5
    assert int(is_clear.sum()) > 30
    step = (model.logits[0].detach() - start)[is_clear]
    expected = -0.5 * logits.grad[is_clear].sign()
    torch.testing.assert_close(step, expected, atol=0.01, rtol=0)


def test_embedding_by_hand() -> None:
    data = to_data(GROUPS, NUM_NODES)
    model = quick(4, num_embed_steps=3, deterministic=True).fit(data)
    start = model.logits[0].detach().softmax(dim=1)
    _, a, _, b, _, c = slow_steps(start, data, 3)
    mean = ((a + b + c) / 3).transpose(1, 2).flatten(1)
    # Two subspaces of four labels, cut to six columns.
    assert mean.size() == (NUM_NODES, 8)
    torch.testing.assert_close(model.embed(), mean[:, :6])
    torch.testing.assert_close(mean[:7, :4].sum(dim=1), torch.ones(7))


def test_noise() -> None:
    data = to_data(GROUPS, NUM_NODES)
    noisy, plain = (quick(deterministic=flag).fit(data) for flag in (False, True))
    assert torch.equal(noisy.logits[0], plain.logits[0])
    assert not torch.allclose(noisy.embed(), plain.embed(), atol=0.05)
    assert torch.equal(noisy.embed(), noisy.embed())
    assert not noisy.embed().requires_grad


def test_communities_are_separated(device: torch.device) -> None:
    data = two_communities().to(device)
    model = VilLain(2, 32, num_epochs=150, num_embed_steps=4).fit(data)
    trained = model.embed()
    assert trained.device.type == device.type
    assert separation(trained.cpu()) >= 0.95
    assert model.history[-1]['loss'] < model.history[0]['loss'] - 1
    # Means of random labels differ by community, too; learnt ones are sure.
    untrained = VilLain(2, 32, num_epochs=1, num_embed_steps=4).fit(data).embed()
    assert float((untrained - 0.5).abs().mean()) < 0.1
    assert float((trained - 0.5).abs().mean()) > 0.2


# Several numbers of labels ########################################################


def slow_principal(value: Tensor, width: int) -> Tensor:
    centred = value.double() - value.double().mean(dim=0)
    u, s, v = torch.linalg.svd(centred, full_matrices=False)
    sign = v.gather(1, v.abs().argmax(dim=1, keepdim=True)).sign()
    component: Tensor = u * s * sign.view(-1)
    return component[:, :width]


def test_merged() -> None:
    data = two_communities(12)
    model = quick((2, 3, 4)).fit(data)
    parts = [quick(c).fit(data).embed() for c in (2, 3, 4)]
    merged = model.embed()
    assert torch.equal(merged, VilLain.merge(parts))
    expected = slow_principal(torch.cat(parts, dim=1), 6)
    torch.testing.assert_close(merged.double(), expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(merged.mean(dim=0), torch.zeros(6), atol=1e-5, rtol=0)
    std = merged.std(dim=0)
    assert bool((std[1:] <= std[:-1]).all())
    assert [record['num_labels'] for record in model.history] == [2] * 5 + [3] * 5 + [
        4
    ] * 5


def test_default_is_merged() -> None:
    model = VilLain()
    assert model.num_labels == (2, 3, 4, 5, 6, 7, 8)
    data = to_data(GROUPS, NUM_NODES)
    # Fewer nodes than columns.
    x = VilLain(num_epochs=1).fit(data).embed()
    assert x.size() == (NUM_NODES, 128)
    assert bool((x[8] == 0).all())
    assert bool(torch.isfinite(x).all())


# When training ends ###############################################################


def test_patience() -> None:
    data = two_communities(6)
    model = quick(num_epochs=30, min_epochs=10, patience=3, tolerance=10.0).fit(data)
    # Epochs 11, 12 and 13 change by less than ten times the loss.
    assert len(model.history) == 13
    assert (
        len(quick(num_epochs=30, min_epochs=10, tolerance=0.0).fit(data).history) == 30
    )


def test_best_logits_are_kept() -> None:
    data = two_communities(6)
    options: Any = {'lr': 3.0, 'tolerance': 0.0}
    model = quick(num_epochs=30, min_epochs=10, **options).fit(data)
    losses = [record['loss'] for record in model.history]
    best = min(range(10, 30), key=losses.__getitem__)
    assert best < 29
    expected = quick(num_epochs=best + 1, min_epochs=100, **options).fit(data)
    assert torch.equal(model.logits[0], expected.logits[0])
    last = quick(num_epochs=30, min_epochs=30, **options).fit(data)
    assert not torch.equal(model.logits[0], last.logits[0])


# Seeds, copies, names #############################################################


def test_seeds_decide_and_global_state_is_left_alone() -> None:
    data = to_data(GROUPS, NUM_NODES)
    state = torch.get_rng_state()
    first = quick((2, 3), seed=3).fit(data).embed()
    torch.manual_seed(12)
    again = quick((2, 3), seed=3).fit(data).embed()
    assert torch.equal(first, again)
    assert not torch.equal(first, quick((2, 3), seed=4).fit(data).embed())
    torch.set_rng_state(state)
    quick().fit(data).embed()
    assert torch.equal(torch.get_rng_state(), state)


def test_order_of_hyperedges_and_members() -> None:
    data = to_data(GROUPS, NUM_NODES)
    expected = quick().fit(data).embed()
    moved = to_data([group[::-1] for group in GROUPS[::-1]], NUM_NODES)
    torch.testing.assert_close(quick().fit(moved).embed(), expected)


def test_names_of_nodes() -> None:
    # The same logits under other names give the same embeddings under these.
    data = to_data(GROUPS, NUM_NODES)
    model = quick(deterministic=True).fit(data)
    expected = model.embed()
    perm = torch.randperm(NUM_NODES, generator=torch.Generator().manual_seed(1))
    place = torch.argsort(perm).tolist()
    renamed = to_data([[place[v] for v in group] for group in GROUPS], NUM_NODES)
    with torch.no_grad():
        model.logits[0].copy_(model.logits[0][perm])
    torch.testing.assert_close(model.embed(renamed), expected[perm])


@pytest.mark.parametrize(
    ('groups', 'num_nodes'),
    [
        ([], 0),
        ([[]], 0),
        ([], 3),
        ([[], []], 3),
        ([[0]], 1),
        ([[0], [0], []], 3),
        ([[1, 2]], 4),
    ],
)
@pytest.mark.parametrize('num_labels', [2, (2, 3)])
def test_little_to_learn_from(groups: Groups, num_nodes: int, num_labels: Any) -> None:
    model = quick(num_labels).fit(to_data(groups, num_nodes))
    x = model.embed()
    assert x.size() == (num_nodes, 6)
    assert bool(torch.isfinite(x).all())
    isolated = sorted(set(range(num_nodes)) - {v for group in groups for v in group})
    assert bool((x[isolated] == 0).all())


def test_other_hyperedges_of_the_same_nodes() -> None:
    data = two_communities(6)
    model = quick().fit(data)
    assert torch.equal(model.embed(data), model.embed())
    half = data.hyperedge_subgraph(torch.arange(20))
    x = model.embed(half)
    assert not torch.equal(x, model.embed())
    has = torch.zeros(12, dtype=torch.bool)
    has[half.hyperedge_index[0]] = True
    assert torch.equal((x != 0).any(dim=1), has)
    with one_line_error("'data'", '12', '9'):
        model.embed(to_data(GROUPS, NUM_NODES))


# Calls ############################################################################


def test_progress_and_callback(capsys: pytest.CaptureFixture[str]) -> None:
    data = two_communities(4)
    records: list[dict[str, float]] = []
    quiet = quick((2, 3)).fit(data, callback=records.append)
    assert capsys.readouterr().err == ''
    assert records == quiet.history
    assert len(records) == 10
    loud = quick((2, 3)).fit(data, progress=True)
    err = capsys.readouterr().err
    assert '2 labels' in err
    assert '3 labels' in err
    assert torch.equal(quiet.embed(), loud.embed())


def test_interruption_leaves_the_model_as_it_was() -> None:
    data = two_communities(4)
    model = quick().fit(data)
    before = model.embed()

    def stop(record: dict[str, float]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(two_communities(5), callback=stop)
    assert torch.equal(model.embed(), before)
    assert len(model.history) == 5


def test_reset() -> None:
    model = quick()
    with one_line_error("'fit'"):
        model.embed()
    model.fit(two_communities(4)).reset_parameters()
    assert list(model.parameters()) == []
    with one_line_error("'fit'"):
        model.embed()


def test_number_of_parameters() -> None:
    data = to_data(GROUPS, NUM_NODES)
    model = VilLain(num_epochs=1).fit(data)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == 908 * NUM_NODES


def test_repr_shows_what_changes_the_result() -> None:
    assert repr(VilLain(2)) == (
        'VilLain(num_labels=[2], out_channels=128, num_steps=4, num_embed_steps=10, '
        'lr=0.01, num_epochs=5000, min_epochs=1000, patience=20, tolerance=0.002, '
        'deterministic=False, seed=0)'
    )


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('num_labels', 1),
        ('num_labels', []),
        ('num_labels', [2, 1]),
        ('num_labels', [2.5]),
        ('num_labels', 2.5),
        ('num_labels', 'two'),
        ('num_labels', None),
        ('out_channels', 0),
        ('num_steps', 0),
        ('num_embed_steps', 0),
        ('lr', 0),
        ('lr', math.inf),
        ('num_epochs', 0),
        ('num_epochs', 1.5),
        ('min_epochs', -1),
        ('patience', 0),
        ('tolerance', -0.1),
        ('seed', -1),
    ],
)
def test_bad_arguments(name: str, value: Any) -> None:
    with one_line_error(f"'{name}'", str(value)):
        VilLain(**{name: value})


def test_second_device() -> None:
    data = to_data(GROUPS, NUM_NODES)
    expected = quick((2, 3)).fit(data).embed()
    with second_device() as device:
        out = quick((2, 3)).fit(data.clone().to(device)).embed()
        assert out.device == device
    torch.testing.assert_close(out.cpu(), expected)


# Published figures ################################################################


@pytest.mark.slow
def test_losses_of_the_authors_on_cora(mirror: Path) -> None:
    path = mirror / 'villain' / 'cora.csv'
    if not path.exists():
        pytest.skip(
            "needs the authors' Cora hypergraph: a table 'villain/cora.csv' of the "
            'columns group and member in the folder of TGX_ANCHOR_MIRROR'
        )
    data = AnchorData.from_incidence(path)
    assert data.size() == (1330, 1503)
    model = VilLain(2, num_epochs=1000).fit(data)
    for epoch, local, other in (
        (10, 5.326, -0.372),
        (100, 5.117, -0.681),
        (500, 2.142, -2.542),
        (1000, 1.797, -2.623),
    ):
        record = model.history[epoch - 1]
        assert record['local'] == pytest.approx(local, abs=0.05)
        assert record['global'] == pytest.approx(other, abs=0.05)
