"""What every predictor of anchors can do."""

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from typing_extensions import Self

from tgx_anchor.data import AnchorData
from tgx_anchor.io.files import replace_file
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.utils import group_topk, incidence_fingerprint

_FORMAT = 'tgx_anchor model 1'


class AnchorModel(torch.nn.Module, ABC):
    r"""A predictor of group anchors: learns from the groups whose anchor is known,
    and gives every member of every group a probability.

    A subclass supplies :meth:`fit` and :meth:`predict_proba`, keeps the arguments of
    its constructor under their own names, and what it learns as parameters and buffers.
    If their shapes depend on the data, it also supplies :meth:`_allocate`.

    Args:
        seed (int, optional): Decides all random draws of the model, those between
            equally likely members included. (default: :obj:`0`)
    """

    seed: int

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        if not isinstance(seed, Integral):
            raise ValueError(f"'seed' must be an integer (got {seed!r})")
        self.seed = int(seed)

    @abstractmethod
    def fit(self, data: AnchorData) -> Self:
        r"""Learns from :obj:`data.train_mask`, or without one from all hyperedges
        with a known anchor that leave a choice.

        Args:
            data (AnchorData): The hypergraph.
        """

    @abstractmethod
    def predict_proba(self, data: AnchorData) -> Tensor:
        r"""The probability that each member is the anchor of its hyperedge.

        Args:
            data (AnchorData): The hypergraph.

        Shapes:
            - **output:** :math:`(P)`, sums to one in each hyperedge
        """

    def rank_score(self, data: AnchorData) -> Tensor:
        r"""What the members of a hyperedge are ranked by where all their places count,
        as in MRR and NDCG: :meth:`predict_proba`, unless a model says otherwise.

        Args:
            data (AnchorData): The hypergraph.

        Shapes:
            - **output:** :math:`(P)`
        """
        return self.predict_proba(data)

    def predict(self, data: AnchorData, k: int = 1) -> Tensor:
        r"""The most likely anchors of each hyperedge. Ties are drawn with
        :obj:`seed`.

        Args:
            data (AnchorData): The hypergraph.
            k (int, optional): How many anchors per hyperedge. (default: :obj:`1`)

        Shapes:
            - **output:** :math:`(M)` node numbers, or :math:`(M, k)` if :obj:`k` is
              larger than one, best first; :obj:`-1` where members run out
        """
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"'k' must be a positive integer (got {k})")
        generator = torch.Generator().manual_seed(self.seed)
        best = group_topk(
            self.predict_proba(data),
            data.hyperedge_index,
            data.num_hyperedges,
            k,
            generator,
        )
        return best.squeeze(1) if k == 1 else best

    def score(self, data: AnchorData, mask: Tensor | None = None) -> float:
        r"""The accuracy on the hyperedges in :obj:`mask`.

        Args:
            data (AnchorData): The hypergraph.
            mask (torch.Tensor, optional): The hyperedges to judge by; all with a known
                anchor that leave a choice if :obj:`None`. (default: :obj:`None`)

        Shapes:
            - **mask:** :math:`(M)`
        """
        return AnchorEvaluator().eval(self.predict_proba(data), data, mask)['accuracy']

    def get_params(self) -> dict[str, Any]:
        r"""The arguments that a model like this one is made with."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != 'self'}

    def save(self, path: str | Path) -> None:
        r"""Saves the model, without any code, so that :meth:`load` makes it again.

        Args:
            path (str): The file, replaced only when all is written.
        """
        content = {
            'format': _FORMAT,
            'model': type(self).__name__,
            'params': self._packed_params(),
            'state': self.state_dict(),
        }
        if not Path(path).absolute().parent.is_dir():
            raise ValueError(f"'{path}' must lie in a folder that exists (got none)")
        with replace_file(Path(path)) as part:
            torch.save(content, part)

    def _packed_params(self) -> dict[str, Any]:
        # The arguments as plain values, for a file that holds no code.
        return self.get_params()

    @classmethod
    def _unpacked_params(cls, params: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        # The inverse; 'kwargs' are those that a file cannot hold.
        return {**params, **kwargs}

    @classmethod
    def load(cls, path: str | Path, **kwargs: Any) -> Self:
        r"""Makes a model that was saved by :meth:`save`.

        Args:
            path (str): The file.
            **kwargs: Arguments of the constructor that a file cannot hold, such as an
                encoder that is not of this package.
        """
        with Path(path).open('rb') as file, warnings.catch_warnings():
            warnings.simplefilter('ignore')
            try:
                content = torch.load(file, map_location='cpu', weights_only=True)
            except Exception as error:
                # A damaged file fails in any way: as a key, an index, a struct.
                raise ValueError(
                    f"'{path}' must be a saved model (got: {one_line(error)})"
                ) from None
        found = content.get('format') if isinstance(content, dict) else None
        if found != _FORMAT:
            raise ValueError(
                f"'{path}' must be a saved model of the format {_FORMAT!r} "
                f'(got {found!r})'
            )
        if content.get('model') != cls.__name__:
            raise ValueError(
                f"'{path}' must hold a model of the class {cls.__name__!r} "
                f'(got {content.get("model")!r})'
            )
        try:
            model = cls(**cls._unpacked_params(content['params'], **kwargs))
            model.load_state_dict(content['state'])
        except (AttributeError, LookupError, RuntimeError, TypeError) as error:
            raise ValueError(
                f"'{path}' must hold all of a model (got: {one_line(error)})"
            ) from None
        return model

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        r"""Takes over what another model of this class has learnt, also where this
        one has not been fitted yet.
        """
        before = (
            self._modules.copy(),
            self._parameters.copy(),
            self._buffers.copy(),
        )
        try:
            return super().load_state_dict(state_dict, strict, assign)
        except Exception:
            # What does not fit must leave no trace.
            self._modules, self._parameters, self._buffers = before
            raise

    def _load_from_state_dict(
        self, state_dict: Mapping[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        # Also as a part of another module, whose names come first.
        self._allocate(
            {
                key.removeprefix(prefix): value
                for key, value in state_dict.items()
                if key.startswith(prefix)
            }
        )
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def _allocate(self, state: Mapping[str, Any]) -> None:
        # Makes room for a state whose shapes the constructor could not know.
        pass


def one_line(error: BaseException) -> str:
    r"""What an error says, in one line that is not too long.

    Args:
        error (Exception): The error.
    """
    return ' '.join(str(error).split())[:200] or type(error).__name__


def check_data(data: AnchorData) -> None:
    r"""Checks that :obj:`data` is a hypergraph whose attributes fit together.

    Args:
        data (AnchorData): The hypergraph.
    """
    if not isinstance(data, AnchorData):
        raise ValueError(f"'data' must be an AnchorData (got {type(data).__name__})")
    data.validate()


def training_mask(data: AnchorData, use_val: bool = False) -> Tensor:
    r"""The hyperedges to learn from: :obj:`data.train_mask` where there is one, else
    all with a known anchor that leave a choice.

    Args:
        data (AnchorData): The hypergraph.
        use_val (bool, optional): If set to :obj:`True`, :obj:`data.val_mask` is learnt
            from, too. (default: :obj:`False`)

    Shapes:
        - **output:** :math:`(M)`
    """
    check_data(data)
    if data.get('y') is None:
        raise ValueError("'data' must have 'y', the known anchors (got none)")
    if data.get('train_mask') is None:
        if use_val:
            raise ValueError("'data' must have 'train_mask' with 'use_val' (got none)")
        mask = data.known_mask & data.choice_mask
    else:
        mask = known_hyperedges(data, 'train_mask')
        if use_val:
            mask = mask | known_hyperedges(data, 'val_mask')
    if not mask.any():
        raise ValueError("'data' must have a known anchor to learn from (got none)")
    return mask


def known_hyperedges(data: AnchorData, name: str) -> Tensor:
    r"""The mask :obj:`data[name]`, if it holds hyperedges with a known anchor only.

    Args:
        data (AnchorData): The hypergraph.
        name (str): The name of the mask.

    Shapes:
        - **output:** :math:`(M)`
    """
    mask: Tensor | None = data.get(name)
    if mask is None:
        raise ValueError(f"'data' must have '{name}' (got none)")
    if mask.dtype != torch.bool or list(mask.size()) != [data.num_hyperedges]:
        raise ValueError(
            f"'{name}' must hold {data.num_hyperedges} booleans, one per hyperedge "
            f'(got {mask.dtype} of shape {list(mask.size())}; of several splits take '
            f'one column)'
        )
    unknown = mask & ~data.known_mask
    if unknown.any():
        raise ValueError(
            f"'{name}' must hold hyperedges with a known anchor only "
            f'(got hyperedge {int(unknown.nonzero()[0])})'
        )
    return mask


def topology(data: AnchorData) -> tuple[Tensor, int, int]:
    r"""The incidences, the number of nodes and the number of hyperedges.

    Args:
        data (AnchorData): The hypergraph.
    """
    return data.hyperedge_index, int(data.num_nodes or 0), data.num_hyperedges


def fingerprint(data: AnchorData) -> Tensor:
    r"""Numbers that tell hypergraphs apart.

    Args:
        data (AnchorData): The hypergraph.

    Shapes:
        - **output:** :math:`(4)`
    """
    index, num_nodes, num_hyperedges = topology(data)
    code = incidence_fingerprint(index, num_nodes)
    sizes = [num_nodes, num_hyperedges, data.num_incidences, code]
    return torch.tensor(sizes, device=index.device)


def anchors_per_hyperedge(data: AnchorData, mask: Tensor) -> int:
    r"""How many anchors a hyperedge has, as far as those in :obj:`mask` tell; one if
    there are none.

    Args:
        data (AnchorData): The hypergraph.
        mask (torch.Tensor): The hyperedges with known anchors.

    Shapes:
        - **mask:** :math:`(M)`
    """
    anchors = int(data['y'][mask[data.hyperedge_index[1]]].sum())
    return max(1, round(anchors / max(int(mask.sum()), 1)))
