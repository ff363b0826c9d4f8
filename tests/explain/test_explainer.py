import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from torch_geometric.data import Batch

from tests.devices import second_device
from tests.explain.hypergraph import Given, radar_with_strengths, small
from tests.nn.predictors import stacked
from tests.nn.predictors.radar import planted, quick
from tests.strategies import SETTINGS, hypergraphs, one_line_error, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.explain import Candidate, Explainer, Explanation, explain
from tgx_anchor.explain.wording import reason_sentence
from tgx_anchor.nn import (
    HGNN,
    AnchorPredictor,
    AnchorRadar,
    DegreeHeuristic,
    RandomHeuristic,
)
from tgx_anchor.transforms import AddTemporalFeatures, AddTopologicalFeatures

VARIANTS: list[dict[str, Any]] = [
    {},
    {'w': None},
    {'stages': 'first'},
    {'stages': 'second'},
]


def pairs(num_groups: int = 40) -> AnchorData:
    """Pairs of people of which the one with the higher age is the anchor."""
    groups = [[2 * i, 2 * i + 1] for i in range(num_groups)]
    data = to_data(groups, 2 * num_groups, [[2 * i + 1] for i in range(num_groups)])
    data.x = torch.arange(2.0 * num_groups).view(-1, 1)
    return data.name_columns('x', ['age'])


# Strengths and known groups ######################################################


def test_hand_computed_strengths() -> None:
    data = small()
    model = radar_with_strengths(data, [1.0, 0.0, 0.5, 0.8, 0.0])
    out = explain(model, data, 'g3')
    ann, dan = out.anchor, out.runner_up
    assert ann is not None
    assert dan is not None
    # ann anchors the known groups g1 and g2 and is the strongest in g0, dan anchors g3
    # and is the strongest in g4 and g7. Known anchors weigh 4.
    assert (ann.id, dan.id) == ('ann', 'dan')
    assert ann.probability == pytest.approx(2.25 / 4.25)
    assert dan.probability == pytest.approx(2 / 4.25)
    assert (ann.strength, dan.strength) == (1.0, 0.8)
    assert (ann.num_groups, dan.num_groups) == (4, 3)
    assert (ann.num_strongest, dan.num_strongest) == (4, 2)
    assert (ann.share, dan.share) == (0.75, 1.0)
    # The group itself is no evidence.
    assert (ann.num_known, ann.num_anchored) == (2, 2)
    assert (ann.known_for, ann.known_against) == (('g1', 'g2'), ())
    assert (dan.num_known, dan.known_for) == (0, ())
    assert out.known_anchors == ('dan',)
    assert out.preference == pytest.approx(2.25 / 4.25)
    (reason,) = out.reasons
    assert reason.name == 'strength'
    assert reason.contribution == pytest.approx(2.25 / 4.25 - 0.5)
    assert out.sentences()[:2] == [
        'The known anchor of group g3 is dan.',
        'The model chooses ann, with 53 %; the runner-up is dan with 47 %.',
    ]


def test_shares_are_those_of_the_model() -> None:
    data = planted()
    model = quick(w=1.0).fit(data)
    explainer = Explainer(model, data)
    assert explainer._strengths is not None
    assert torch.allclose(explainer._strengths.share, model.share)


def test_anchors_are_predictions() -> None:
    data = planted()
    model = quick(seed=3).fit(data)
    best = model.predict(data, k=2).tolist()
    for out in Explainer(model, data).explain_all():
        found = [
            -1 if each is None else each.number for each in (out.anchor, out.runner_up)
        ]
        assert found == best[out.number]


def test_single_and_empty_groups() -> None:
    data = small()
    model = radar_with_strengths(data, [1.0, 0.0, 0.5, 0.8, 0.0])
    one, empty = Explainer(model, data).explain_all([5, 6])
    assert one.anchor is not None
    assert (one.anchor.id, one.anchor.probability) == ('eve', 1.0)
    assert (one.runner_up, one.reasons, one.preference) == (None, (), None)
    assert (empty.anchor, empty.runner_up, empty.size) == (None, None, 0)


def test_draws_have_no_reasons() -> None:
    data = small()
    # bob and cat anchor nothing, and are the strongest in no group.
    model = radar_with_strengths(data, [3.0, 1.0, 1.0, 2.0, 0.0])
    later = to_data([[1, 2]], 5, None)
    assert explain(Given(torch.tensor([0.5, 0.5])), later, 0).is_tie
    tie = explain(RandomHeuristic(), data, 'g0')
    assert tie.is_tie
    assert tie.reasons == ()
    assert 'one of them was drawn' in str(tie)
    sure = explain(model, data, 'g0')
    assert sure.anchor is not None
    assert sure.anchor.id == 'ann'
    assert not sure.is_tie


def test_several_anchors() -> None:
    groups = [[0, 1, 2], [0, 1, 3], [0, 2, 3]]
    data = to_data(groups, 4, [[0, 1], [0, 1], []])
    model = radar_with_strengths(data, [3.0, 2.0, 1.0, 0.0])
    assert int(model.num_anchors) == 2
    model.share = model._share(
        model.strength, data, data['y'], model.memory.known_mask, 2
    )
    out = explain(model, data, 2)
    assert out.num_anchors == 2
    assert out.anchor is not None
    assert out.runner_up is not None
    assert (out.anchor.num_strongest, out.runner_up.num_strongest) == (3, 1)
    assert 'among the 2 strongest' in str(out)
    assert explain(model, data, 0).known_anchors == (0, 1)


# Features ########################################################################


@pytest.mark.parametrize('options', VARIANTS)
def test_contributions_add_up(options: dict[str, Any]) -> None:
    data = planted()
    data.x = torch.randn(data.num_nodes, 2, generator=torch.Generator().manual_seed(0))
    model = quick(**options).fit(data)
    count = 0
    for out in Explainer(model, data).explain_all(data.choice_mask):
        assert out.preference is not None
        assert out.preference >= 0.5 - 1e-6
        total = sum(reason.contribution for reason in out.reasons)
        assert total == pytest.approx(out.preference - 0.5, abs=1e-6)
        assert sum(reason.kind == 'centrality' for reason in out.reasons) <= 1
        count += len(out.reasons)
    assert count > 0


def age_model(data: AnchorData, stages: Any, slope: float = 0.25) -> AnchorRadar:
    """An AnchorRadar whose scores are `slope` times the age, with strengths of zero."""
    data = data.clone()
    model = AnchorRadar(stages=stages, hidden_channels=1, num_epochs=1).fit(data)
    assert model.scorer is not None
    first, second = model.scorer.mlp.lins
    mean, std = model.scale[:, 0].tolist()
    first.get_parameter('weight').data.fill_(std)
    first.get_parameter('bias').data.fill_(mean)
    second.get_parameter('weight').data.fill_(slope)
    return model


def test_one_attribute_decides() -> None:
    data = pairs()
    out = explain(age_model(data, 'first'), data, 7)
    (reason,) = out.reasons
    assert (reason.name, reason.kind) == ('age', 'attribute')
    # The ages are 14 and 15: the scores differ by a quarter.
    expected = 1 / (1 + math.exp(-0.25)) - 0.5
    assert reason.contribution == pytest.approx(expected, abs=1e-5)
    assert (reason.value, reason.runner_up_value) == (15, 14)
    assert (reason.agreement, reason.highest) == (1.0, True)
    assert out.sentences()[2:3] == [
        'person 15 has the highest age of the group: 15, person 14 has 14 (in 100 % '
        'of the known groups, the anchor has the highest).'
    ]


def test_features_and_strengths_share_the_preference() -> None:
    data = pairs()
    model = age_model(data, 'both')
    strength = torch.zeros(80, dtype=torch.double)
    strength[1::2] = 1.0
    assert model.strengths is not None
    model.strengths.strength.data = strength
    model.w = None
    out = explain(model, data, 7)
    by_name = {reason.name: reason.contribution for reason in out.reasons}
    # The age is a perfect rule here, and nobody has a record.
    feature = 1 / (1 + math.exp(-0.25)) - 0.5
    assert out.anchor is not None
    whole = out.anchor.probability - 0.5
    assert out.preference == pytest.approx(whole + 0.5)
    assert by_name['age'] == pytest.approx(feature, abs=1e-5)
    assert by_name['strength'] == pytest.approx(whole - feature, abs=1e-5)


def test_a_feature_that_is_no_rule_is_no_reason() -> None:
    data = pairs()
    # Every second anchor is the younger one.
    data.y = torch.tensor([False, True, True, False] * 20)
    model = age_model(data, 'both')
    out = explain(model, data, 7)
    assert [reason.name for reason in out.reasons] in (['strength'], [])


def test_rules_have_a_direction() -> None:
    data = pairs()
    # The model has it the wrong way round: the younger one has the higher score.
    model = age_model(data, 'both', slope=-0.25)
    assert model.strengths is not None
    strength = torch.zeros(80, dtype=torch.double)
    strength[0::2] = 1.0
    model.strengths.strength.data = strength
    model.w = None
    out = explain(model, data, 7)
    assert out.anchor is not None
    assert out.anchor.number == 14
    assert [reason.name for reason in out.reasons] == ['strength']


def test_one_centrality_stands_for_all() -> None:
    # The anchor is always in two groups, all others in one.
    groups, anchors = [], []
    for i in range(30):
        hub, rest = 5 * i, [5 * i + j for j in range(1, 5)]
        groups += [[hub, *rest[:2]], [hub, *rest[2:]]]
        anchors += [[hub], [hub]]
    data = AddTopologicalFeatures()(to_data(groups, 150, anchors))
    model = AnchorRadar(stages='first').fit(data)
    out = explain(model, data, 0)
    assert [reason.name for reason in out.reasons] == ['degree']
    assert set(out.reasons[0].also) == {'pagerank', 'eigenvector'}
    assert 'person 0 is in 2 groups, the others in 1, and has the highest' in str(out)


def test_the_lowest_centrality() -> None:
    # The anchor is always in one group, the other member in two.
    groups, anchors = [], []
    for i in range(30):
        groups += [[3 * i, 3 * i + 1], [3 * i, 3 * i + 2]]
        anchors += [[3 * i + 1], [3 * i + 2]]
    data = AddTopologicalFeatures()(to_data(groups, 90, anchors))
    out = explain(AnchorRadar(stages='first').fit(data), data, 0)
    (reason,) = out.reasons
    assert (reason.name, reason.highest) == ('degree', False)
    assert set(reason.also) == {'pagerank', 'eigenvector'}
    assert 'person 1 is in 1 group, person 0 in 2, and has the lowest' in str(out)


def test_range_of_the_others() -> None:
    data = to_data([[0, 1, 2], [0, 1], [0]], 3, [[0], [0], []])
    (reason,) = explain(DegreeHeuristic().fit(data), data, 0).reasons
    assert (reason.value, reason.runner_up_value) == (3, 2)
    assert reason.others == (1, 2)


def test_a_draw_has_no_reasons_even_if_features_differ() -> None:
    data = pairs()
    model = age_model(data, 'both')
    assert model.strengths is not None
    model.strengths.strength.data.zero_()
    model.w = None
    out = explain(model, data, 7)
    assert out.is_tie
    assert (out.reasons, out.preference) == ((), 0.5)


def test_no_known_group() -> None:
    data = planted()
    model = quick().fit(data)
    other = planted(1)
    other.y = torch.zeros(other.num_incidences, dtype=torch.bool)
    del other['train_mask']
    names = set()
    for out in Explainer(model, other).explain_all(other.choice_mask):
        names |= {reason.name for reason in out.reasons}
        assert all(reason.agreement is None for reason in out.reasons)
    assert {'strength', 'degree'} <= names


def test_old_and_new_groups() -> None:
    data = planted()
    data.node_id = [f'p{i}' for i in range(data.num_nodes)]
    data.hyperedge_id = [f'g{i}' for i in range(data.num_hyperedges)]
    early = torch.arange(data.num_hyperedges) < 300
    old, new = data.hyperedge_subgraph(early), data.hyperedge_subgraph(~early)
    for part in (old, new):
        del part['incidence_attr']
        del part['train_mask']
    old = AddTopologicalFeatures()(old)
    new = AddTopologicalFeatures()(new)
    new.y = torch.zeros(new.num_incidences, dtype=torch.bool)
    model = quick().fit(old)
    explainer = Explainer(model, new)
    found = list(explainer.explain_all(new.choice_mask))
    # What is known of people comes from the old groups, whose ids are told.
    told = [c for out in found for c in (out.anchor, out.runner_up) if c is not None]
    assert sum(c.num_known for c in told) > 100
    names = {name for c in told for name in (*c.known_for, *c.known_against)}
    assert names <= {f'g{i}' for i in range(300)}
    assert names
    # Rules are measured on old groups, too.
    agreements = {r.agreement for out in found for r in out.reasons if r.value}
    assert agreements
    assert None not in agreements
    # Nobody is known of other people.
    other = Explainer(model, new, same_people=False).explain(0)
    assert other.anchor is not None
    assert other.anchor.num_known == 0


# StackedAnchorRadar ##############################################################

STACKED: list[dict[str, Any]] = [{}, {'learner': 'both'}, {'views': 'ABCF'}]


@pytest.mark.parametrize('options', STACKED)
def test_stacked_contributions_add_up(options: dict[str, Any]) -> None:
    data = stacked.planted(num_hyperedges=400)
    data.x = torch.randn(data.num_nodes, 2, generator=torch.Generator().manual_seed(0))
    model = stacked.quick(**options).fit(data)
    best = model.predict(data, k=2).tolist()
    kinds = set()
    for out in Explainer(model, data).explain_all(data.choice_mask):
        assert out.anchor is not None
        assert out.runner_up is not None
        assert out.preference is not None
        assert [out.anchor.number, out.runner_up.number] == best[out.number]
        total = sum(reason.contribution for reason in out.reasons)
        assert total == pytest.approx(out.preference - 0.5, abs=1e-6)
        assert all(abs(reason.contribution) < 1.5 for reason in out.reasons)
        ordered = [reason.contribution for reason in out.reasons]
        assert ordered == sorted(ordered, reverse=True)
        assert out.anchor.strength is None
        kinds |= {reason.kind for reason in out.reasons}
    assert kinds >= {'centrality', 'attribute', 'record', 'rivals', 'belief'}


def test_stacked_facts() -> None:
    data = stacked.planted(num_hyperedges=400)
    data.hyperedge_id = [f'g{i}' for i in range(data.num_hyperedges)]
    model = stacked.quick().fit(data)
    node, hyperedge = data.hyperedge_index
    known = data.train_mask[hyperedge]
    y = data['y'] & known
    for out in Explainer(model, data).explain_all(data.choice_mask):
        for person in (out.anchor, out.runner_up):
            assert person is not None
            own = (node == person.number) & (hyperedge != out.number)
            assert person.num_known == int((own & known).sum())
            assert person.num_anchored == int((own & y).sum())
            assert person.num_known_here <= person.num_known - person.num_copies
            assert (person.share is None) == (person.num_groups == 1)
        told = str(out)
        for reason in out.reasons:
            value, rival = reason.value, reason.runner_up_value
            if reason.kind in ('record', 'rivals', 'belief', 'copies'):
                assert value is not None
                assert rival is not None
                text = reason_sentence(reason, *two(out), out.size)
                # Never the opposite of what the model makes of it.
                if text in told:
                    assert (value - rival) * reason.contribution > 0


def two(out: Explanation) -> tuple[Candidate, Candidate]:
    assert out.anchor is not None
    assert out.runner_up is not None
    return out.anchor, out.runner_up


def test_stacked_record() -> None:
    # One person of each pair anchors all its groups, the other one none.
    generator = torch.Generator().manual_seed(0)
    groups = [torch.randperm(20, generator=generator)[:2].tolist() for _ in range(150)]
    groups = [sorted(group) for group in groups]
    data = to_data(groups, 20, [[max(group)] for group in groups])
    data.train_mask = torch.arange(150) % 3 > 0
    model = stacked.quick(views='BD', calibration=None).fit(data)
    mask = ~data.train_mask & data.choice_mask
    named = [out.reasons[0].kind for out in Explainer(model, data).explain_all(mask)]
    assert set(named) <= {'record', 'belief', 'copies', 'centrality'}
    count = sum(name in ('record', 'belief') for name in named)
    assert count / len(named) > 0.8


def timed() -> AnchorData:
    """The anchor is the member that had been in the most groups before."""
    generator = torch.Generator().manual_seed(0)
    groups = [torch.randperm(60, generator=generator)[:3].tolist() for _ in range(300)]
    data = to_data(groups, 60, [[] for _ in groups])
    data.hyperedge_time = torch.randperm(300, generator=generator).double()
    full = AddTemporalFeatures()(data.clone())
    earlier = full.names('incidence_attr').index('time_earlier')
    value = full.incidence_attr[:, earlier].view(-1, 3)
    data.y = (value == value.amax(1, keepdim=True)).view(-1)
    data.train_mask = torch.arange(300) % 3 == 0
    return data


def test_stacked_time() -> None:
    data = timed()
    model = stacked.quick(views='AB', calibration=None).fit(data)
    found = list(Explainer(model, data).explain_all(~data.train_mask))
    first = [out.reasons[0] for out in found]
    # People in many groups have been in more of them before.
    assert sum(r.kind == 'time' for r in first) / len(found) > 0.3
    assert {r.kind for r in first} <= {'time', 'centrality', 'belief'}
    (out,) = [out for out in found if out.reasons[0].name == 'time_earlier'][:1]
    anchor, runner_up = two(out)
    node, hyperedge = data.hyperedge_index
    time = data.hyperedge_time
    counts = [
        int((time[hyperedge[node == person.number]] < time[out.number]).sum())
        for person in (anchor, runner_up)
    ]
    assert counts[0] > counts[1]
    assert f'had been in {counts[0]} group' in out.sentences()[1]
    # Another hypergraph without times.
    other = stacked.planted(1)
    names = {
        r.kind for out in Explainer(model, other).explain_all() for r in out.reasons
    }
    assert 'time' not in names
    assert 'centrality' in names


def test_stacked_copies() -> None:
    data = stacked.planted(num_hyperedges=300)
    groups: list[list[int]] = [[] for _ in range(data.num_hyperedges)]
    anchors: list[list[int]] = [[] for _ in range(data.num_hyperedges)]
    pairs = data.hyperedge_index.T.tolist()
    for (v, e), is_anchor in zip(pairs, data['y'].tolist(), strict=True):
        groups[e].append(v)
        if is_anchor and bool(data.train_mask[e]):
            anchors[e].append(v)
    (e,) = (~data.train_mask & (data.hyperedge_size == 3)).nonzero()[0].tolist()
    a, b, c = groups[e]
    # Three known copies of a group against what the model says.
    model = stacked.quick(calibration=None).fit(to_data(groups, 60, anchors))
    chosen = int(model.predict(to_data(groups, 60, anchors))[e])
    other = next(v for v in (a, b, c) if v != chosen)
    data = to_data([*groups, *[[c, a, b]] * 3], 60, [*anchors, *[[other]] * 3])
    model = stacked.quick(calibration=None).fit(data)
    out = explain(model, data, e)
    anchor, runner_up = two(out)
    assert anchor.number == other
    assert (anchor.num_copies, anchor.num_anchored_copies) == (3, 3)
    assert (runner_up.num_copies, runner_up.num_anchored_copies) == (3, 0)
    assert out.reasons[0].kind == 'copies'
    assert 'anchored 3 of the 3 other known groups of the same people' in str(out)
    # A known group is no copy of itself.
    anchor, _ = two(explain(model, data, data.num_hyperedges - 1))
    assert (anchor.num_copies, anchor.num_anchored_copies) == (2, 2)


def test_stacked_old_and_new_groups() -> None:
    data = stacked.planted(num_hyperedges=400)
    data.node_id = [f'p{i}' for i in range(data.num_nodes)]
    data.hyperedge_id = [f'g{i}' for i in range(data.num_hyperedges)]
    early = torch.arange(data.num_hyperedges) < 300
    old, new = data.hyperedge_subgraph(early), data.hyperedge_subgraph(~early)
    for part in (old, new):
        for name in ('incidence_attr', 'train_mask', 'val_mask', 'test_mask'):
            del part[name]
    new.y = torch.zeros(new.num_incidences, dtype=torch.bool)
    model = stacked.quick(calibration=None).fit(old)
    found = list(Explainer(model, new).explain_all(new.choice_mask))
    told = [person for out in found for person in two(out)]
    assert sum(person.num_known for person in told) > 100
    assert sum(person.num_known_here for person in told) > 20
    for out in found:
        total = sum(reason.contribution for reason in out.reasons)
        assert out.preference is not None
        assert total == pytest.approx(out.preference - 0.5, abs=1e-6)
    other = Explainer(model, new, same_people=False).explain(int(found[0].number))
    assert two(other)[0].num_known == 0
    # The data stays as it was.
    assert 'incidence_attr' not in new


def test_stacked_chunks_and_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    data = stacked.planted()
    model = stacked.quick().fit(data)
    explainer = Explainer(model, data)
    whole = list(explainer.explain_all(range(40)))
    monkeypatch.setattr('tgx_anchor.explain.explainer._CHUNK_GROUPS', 7)
    for one, other in zip(whole, explainer.explain_all(range(40)), strict=True):
        assert str(one) == str(other)
    with second_device() as device:
        moved = Explainer(model.to(device), data.to(device))
        found = [str(out) for out in moved.explain_all(range(40))]
    assert found == list(map(str, whole))


@given(data=hypergraphs())
@SETTINGS
def test_any_hypergraph_is_explained_by_a_stack(data: AnchorData) -> None:
    if not (data.known_mask & data.choice_mask).any():
        return
    model = stacked.quick(calibration=None).fit(data)
    for out in Explainer(model, data).explain_all():
        assert out.sentences()
        assert all(math.isfinite(reason.contribution) for reason in out.reasons)


# Other models ####################################################################


def test_degree_heuristic() -> None:
    data = small()
    out = explain(DegreeHeuristic().fit(data), data, 'g0')
    assert out.anchor is not None
    assert out.preference is not None
    assert out.anchor.strength is None
    out = explain(DegreeHeuristic().fit(data), data, 'g3')
    (reason,) = out.reasons
    assert reason.name == 'degree'
    assert reason.contribution == pytest.approx(4 / 7 - 0.5)
    assert 'ann is in 4 groups, dan in 3' in str(out)


def test_encoders_have_no_reasons() -> None:
    data = small()
    data.x = torch.randn(5, 3)
    model = AnchorPredictor(HGNN(3, 4, 1), num_epochs=1).fit(data)
    out = explain(model, data, 'g3')
    assert out.reasons == ()
    assert out.anchor is not None
    assert 'AnchorPredictor does not tell which features decided.' in str(out)
    assert 'anchored' in str(out)


# Names ###########################################################################


def test_groups_by_id_and_number() -> None:
    data = small()
    explainer = Explainer(DegreeHeuristic().fit(data), data)
    for name in ('g3', 3, np.int64(3), torch.tensor(3)):
        assert explainer.explain(name).group == 'g3'
    data.hyperedge_id = torch.arange(8) + 10
    explainer = Explainer(DegreeHeuristic().fit(data), data)
    for name in (13, '13', torch.tensor(13)):
        assert explainer.explain(name).number == 3
    del data['hyperedge_id']
    assert explain(DegreeHeuristic().fit(data), data, 3).group == 3


@pytest.mark.parametrize('name', ['g8', 8, -1, 1.5, None, [1], {'a': 1}])
def test_unknown_groups(name: Any) -> None:
    data = small()
    explainer = Explainer(DegreeHeuristic().fit(data), data)
    with one_line_error("'hyperedge' must be the id of a group, such as 'g0'"):
        explainer.explain(name)


def test_integer_ids_are_no_numbers() -> None:
    data = small()
    data.hyperedge_id = torch.arange(8) + 10
    with one_line_error("'hyperedge' must be the id", 'got 3'):
        explain(DegreeHeuristic().fit(data), data, 3)


def test_chosen_groups() -> None:
    data = small()
    explainer = Explainer(DegreeHeuristic().fit(data), data)
    assert [e.number for e in explainer.explain_all()] == list(range(8))
    assert [e.number for e in explainer.explain_all([3, 1])] == [3, 1]
    assert [e.number for e in explainer.explain_all([])] == []
    mask = torch.tensor([False, True] * 4)
    assert [e.number for e in explainer.explain_all(mask)] == [1, 3, 5, 7]
    cases: list[Any] = [[8], [-1], [0.5], mask[:3]]
    for wrong in cases:
        with one_line_error("'hyperedges' must hold numbers"):
            explainer.explain_all(wrong)


def test_all_at_once_is_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    data = planted()
    explainer = Explainer(quick().fit(data), data)
    whole = list(explainer.explain_all(range(50)))
    monkeypatch.setattr('tgx_anchor.explain.explainer._CHUNK_GROUPS', 7)
    for one, other in zip(whole, explainer.explain_all(range(50)), strict=True):
        assert str(one) == str(other)
        assert one.anchor == other.anchor
        assert one.preference == pytest.approx(other.preference)


def test_wrong_arguments() -> None:
    data = small()
    wrong: Any = 'model'
    with one_line_error("'model' must be an AnchorModel (got str)"):
        explain(wrong, data, 0)
    with one_line_error('not fitted yet'):
        explain(AnchorRadar(), data, 0)
    nothing: Any = None
    with one_line_error("'data' must be an AnchorData"):
        explain(DegreeHeuristic().fit(data), nothing, 0)


def test_batches_are_numbered() -> None:
    data = small()
    batch: Any = Batch.from_data_list([data, data])
    out = explain(DegreeHeuristic().fit(data), batch, 11)
    assert out.group == 11
    assert out.anchor is not None
    assert out.anchor.id == 5


def test_data_and_model_stay_as_they_are() -> None:
    data = planted()
    model = quick().fit(data)
    before, state = data.clone(), {k: v.clone() for k, v in model.state_dict().items()}
    list(Explainer(model, data).explain_all())
    assert data.to_dict().keys() == before.to_dict().keys()
    assert all(torch.equal(state[k], v) for k, v in model.state_dict().items())


@given(data=hypergraphs())
@SETTINGS
def test_any_hypergraph_is_explained(data: AnchorData) -> None:
    if not (data.known_mask & data.choice_mask).any():
        return
    data = AddTopologicalFeatures()(data)
    model = AnchorRadar(hidden_channels=2, num_epochs=2).fit(data)
    for out in Explainer(model, data).explain_all():
        assert isinstance(out, Explanation)
        assert out.sentences()
        assert all(math.isfinite(reason.contribution) for reason in out.reasons)


def test_second_device() -> None:
    data = planted()
    model = quick().fit(data)
    expected = [str(out) for out in Explainer(model, data).explain_all(range(20))]
    with second_device() as device:
        explainer = Explainer(model.to(device), data.to(device))
        found = [str(out) for out in explainer.explain_all(range(20))]
    assert found == expected
