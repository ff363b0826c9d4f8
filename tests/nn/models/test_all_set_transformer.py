from tests.nn.conv.slow_sets import num_parameters
from tests.strategies import one_line_error
from tgx_anchor.nn import AllSetTransformer


def test_number_of_parameters() -> None:
    # What it computes is tested along with HypergraphSetTransformer.
    assert num_parameters(AllSetTransformer(48, 64, 1, 128)) == 177_920
    assert num_parameters(AllSetTransformer(48, 64, 2, 128)) == 327_040


def test_bad_arguments_and_repr() -> None:
    with one_line_error("'heads'", '3'):
        AllSetTransformer(5, 6, 1, heads=3)
    model = AllSetTransformer(5, 6, 2, 3)
    assert repr(model) == 'AllSetTransformer(5, 3, num_layers=2)'
