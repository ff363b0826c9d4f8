"""The encoder AllSetTransformer."""

from tgx_anchor.nn.models.hypergraph_set_transformer import HypergraphSetTransformer


class AllSetTransformer(HypergraphSetTransformer):
    r"""The AllSetTransformer of the `"You are AllSet: A Multiset Function Framework for
    Hypergraph Neural Networks" <https://arxiv.org/abs/2106.13264>`_ paper as
    compared in the `"Classification of Edge-dependent Labels of Nodes in Hypergraphs"
    <https://arxiv.org/abs/2306.03032>`_ paper: learned seeds attend to the members of
    each hyperedge, then to the hyperedges of each node
    (:class:`~tgx_anchor.nn.conv.SeededAttention` with two maps after the attention),
    without activations between layers. Dropout is active in all layers.

    Args:
        in_channels (int): The number of features of a node; :obj:`48` in the paper.
        hidden_channels (int): The width between two layers; :obj:`64` in the paper.
        num_layers (int): The number of layers.
        out_channels (int, optional): The width of the output; :obj:`128` in the
            paper. :obj:`hidden_channels` if :obj:`None`. (default: :obj:`None`)
        dropout (float, optional): The probability of dropout. (default: :obj:`0.0`)
        attention_channels (int, optional): The width of attention, in all layers.
            (default: :obj:`128`)
        heads (int, optional): The number of heads. (default: :obj:`4`)
    """

    _num_maps = 2

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.0,
        attention_channels: int = 128,
        heads: int = 4,
    ) -> None:
        super().__init__(
            in_channels,
            hidden_channels,
            num_layers,
            out_channels,
            dropout,
            attention_channels,
            heads,
            num_isabs=0,
        )
