import inspect
from typing import Any

import pytest

import tgx_anchor
from tgx_anchor.nn import AnchorModel, AnchorRadar
from tgx_site import exports


def test_rooms_have_all_exports() -> None:
    rooms = exports.rooms()
    assert 'tgx_anchor.data' in rooms
    assert 'tgx_anchor.nn.conv' in rooms
    assert 'tgx_anchor.nn' not in rooms
    packages = {room.split('.')[1] for room in rooms}
    assert packages == set(tgx_anchor.__all__) - {'__version__'}
    listed = {
        export.name.rpartition('.')[2]
        for room in rooms
        if room.startswith('tgx_anchor.nn.')
        for export in exports.exports(room)
    }
    assert listed == set(tgx_anchor.nn.__all__)


def test_exports_have_a_kind_and_a_name_to_import() -> None:
    assert exports.exports('tgx_anchor.nn.conv')[0] == (
        'tgx_anchor.nn.CoNHDConv',
        'class',
    )
    kinds = {e.name: e.kind for e in exports.exports('tgx_anchor.datasets')}
    assert kinds['tgx_anchor.datasets.CATALOG'] == 'data'
    assert kinds['tgx_anchor.datasets.catalog_table'] == 'function'


@pytest.mark.parametrize('room', exports.rooms())
def test_reference_has_every_export(room: str) -> None:
    text = exports.reference(room)
    for export in exports.exports(room):
        name = export.name.rpartition('.')[2]
        line = f'.. py:data:: {name}'
        if export.kind != 'data':
            line = f'.. auto{export.kind}:: {export.name}'
        assert f'\n{line}\n' in text
    # Nothing is left without words.
    rows = [line for line in text.splitlines() if line.startswith('     - ')]
    assert len(rows) == len(exports.exports(room))
    assert all(line.removeprefix('     - ').endswith(('.', ')')) for line in rows), rows


def test_new_export_appears(monkeypatch: pytest.MonkeyPatch) -> None:
    def double() -> None:
        r"""Doubles everything,

        .. math:: 2 x
        """

    module: Any = tgx_anchor.utils
    monkeypatch.setattr(module, 'double', double, raising=False)
    monkeypatch.setattr(module, '__all__', [*module.__all__, 'double'])
    text = exports.reference('tgx_anchor.utils')
    assert '.. autofunction:: tgx_anchor.utils.double' in text
    assert '     - Doubles everything.' in text.splitlines()


def test_summaries_are_markdown() -> None:
    text = exports.summaries('tgx_anchor.nn.models')
    assert '{py:class}`~tgx_anchor.nn.HGNN`\n: ' in text
    assert ':obj:' not in text
    assert '>`_' not in text
    assert 'https://' in text


def test_foreign_bases_are_documented_elsewhere() -> None:
    class Inner(AnchorRadar):
        pass

    Inner.__module__ = 'tgx_anchor.nn.predictors.inner'
    bases = exports.foreign_bases(Inner)
    assert bases[:2] == [AnchorRadar, AnchorModel]
    assert bases == list(inspect.getmro(Inner)[1:])
    hidden = type('Hidden', (), {'__module__': 'tgx_anchor.inner'})
    shown = type('Shown', (hidden,), {'__module__': 'tgx_anchor.inner'})
    assert exports.foreign_bases(shown) == [object]


def test_find_object_prefers_what_a_package_exports() -> None:
    from tgx_anchor.metrics.anchor_accuracy import anchor_accuracy

    name = 'tgx_anchor.metrics.anchor_accuracy'
    assert exports.find_object(name) is anchor_accuracy
    assert exports.find_object(f'{name}.anchor_accuracy') is anchor_accuracy
    fit = exports.find_object('tgx_anchor.nn.AnchorRadar.fit')
    assert fit is AnchorModel.fit
    with pytest.raises(AttributeError, match='bogus'):
        exports.find_object('tgx_anchor.nn.bogus')


def test_constants_have_comments() -> None:
    text = exports.data_comment(tgx_anchor.datasets, 'CATALOG')
    assert text == 'All datasets by their names.'


def test_fields_of_named_tuples_are_left_out() -> None:
    field = exports.find_object('tgx_anchor.nn.functional.VirtualLabelLoss.local')
    app: Any = None
    assert exports.skip_member(app, 'class', 'local', field, False, None)
    assert (
        exports.skip_member(app, 'class', 'fit', AnchorModel.fit, False, None) is None
    )
    assert exports.skip_member(app, 'class', 'fit', AnchorModel.fit, True, None)


def test_docstrings_of_properties_are_kept() -> None:
    app: Any = None
    for what, before in (('property', ['..', '']), ('class', [])):
        lines = ['Ids: a, b']
        exports.keep_colons(app, what, 'name', None, None, lines)
        assert lines == [*before, 'Ids: a, b']
