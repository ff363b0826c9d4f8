"""The weight of a prediction against known anchors of copies of the same group."""

from torch import Tensor

from tgx_anchor.nn.predictors.known_sets import KnownSets
from tgx_anchor.utils import NodeSets

_CANDIDATES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
# Without copies to learn from, a prediction counts as much as one known copy.
_DEFAULT = 1.0


def copy_prior(sets: NodeSets, known: KnownSets, belief: Tensor) -> float:
    r"""Chooses the number :math:`\kappa` of known copies that a prediction is worth: of
    a few candidates, the one with the highest likelihood

    .. math::
        \sum_e \frac{1}{1 + 0.1 (n_e - 1)} \sum_{v \in e} a_{v;e} \log \frac{\kappa \,
        p_{v;e} + a_{v;e} - 1}{\kappa + n_e - 1}

    over node sets with :math:`n_e \geq 2` known copies, of which :math:`v` anchors
    :math:`a_{v;e}`; each copy is predicted from the others. Several anchors of a copy
    have equal shares in it.

    Args:
        sets (NodeSets): The node sets.
        known (KnownSets): The known anchors.
        belief (torch.Tensor): The predictions, from models that have not seen the
            anchors of the set.

    Shapes:
        - **belief:** :math:`(R)`
    """
    number = sets.hyperedge_index[1]
    count = known.num_known[number]
    row = (count > 1) & (known.anchored > 0)
    if not row.any():
        return _DEFAULT
    count, belief = count[row], belief[row].double().clamp(min=1e-9)
    anchored, credit = known.anchored[row], known.credit[row]
    # Without one of the copies that the member anchors.
    rest = credit * (1 - 1 / anchored)
    # Copies of one set err together: a set counts no more than ten copies.
    weight = credit / (1 + 0.1 * (count - 1))

    def likelihood(kappa: float) -> float:
        proba = (kappa * belief + rest) / (kappa + count - 1)
        return float((weight * proba.log()).sum())

    return max(_CANDIDATES, key=likelihood)
