"""The encoder HypergraphSetTransformer."""

from torch import Tensor

from tgx_anchor.data.hyperedge_index import HyperedgeIndex
from tgx_anchor.nn.conv.whatsnet_conv import WHATsNetConv
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder


class HypergraphSetTransformer(HypergraphEncoder):
    r"""The `"Set Transformer: A Framework for Attention-based Permutation-Invariant
    Neural Networks" <https://arxiv.org/abs/1810.00825>`_ on hypergraphs, as
    compared in the `"Classification of Edge-dependent Labels of Nodes in Hypergraphs"
    <https://arxiv.org/abs/2306.03032>`_ paper: members of each hyperedge, then
    hyperedges of each node, attend to each other
    (:class:`~tgx_anchor.nn.conv.InducedSetAttention`), and learned seeds to them
    (:class:`~tgx_anchor.nn.conv.SeededAttention`), without activations between layers.
    Dropout is active in all layers.

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
        num_inducing (int, optional): The number of inducing points.
            (default: :obj:`4`)
        num_isabs (int, optional): The number of blocks of attention among members in
            each direction. (default: :obj:`2`)
    """

    # The number of maps after the attention of seeds.
    _num_maps = 1

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.0,
        attention_channels: int = 128,
        heads: int = 4,
        num_inducing: int = 4,
        num_isabs: int = 2,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_layers, out_channels, dropout
        )
        self.attention_channels = attention_channels
        self.heads = heads
        self.num_inducing = num_inducing
        self.num_isabs = num_isabs
        widths = self.channel_list
        for i in range(num_layers):
            self.convs.append(
                WHATsNetConv(
                    widths[i],
                    widths[i + 1],
                    hyperedge_channels=None,
                    rank_channels=0,
                    channels=attention_channels,
                    heads=heads,
                    num_inducing=num_inducing,
                    num_isabs=num_isabs,
                    num_layers=self._num_maps,
                    dropout=dropout,
                )
            )

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor | HyperedgeIndex,
        num_hyperedges: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass, see :class:`HypergraphEncoder`."""
        return self._propagate(x, hyperedge_index, num_hyperedges)

    def _drop(self, value: Tensor, layer: int) -> Tensor:  # noqa: ARG002
        # The layers have their own dropout.
        return value
