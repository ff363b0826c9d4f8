"""The base class of all predictors of anchors."""

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch_geometric.transforms import BaseTransform
from typing_extensions import Self

from tgx_anchor.data import AnchorData
from tgx_anchor.io.files import replace_file
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn.predictors.add_missing import AddMissing
from tgx_anchor.nn.predictors.assessment import Assessment
from tgx_anchor.nn.predictors.calibrator import Calibration, Calibrator
from tgx_anchor.nn.predictors.cross_fit import HeldOutScores, cross_fit
from tgx_anchor.nn.predictors.degree_score import degree_sign, log_degree
from tgx_anchor.nn.predictors.fit_run import FitRun, OnInterrupt, Record
from tgx_anchor.nn.predictors.held_out import HeldOut
from tgx_anchor.nn.predictors.known_anchors import check_labels, training_mask
from tgx_anchor.nn.predictors.suggestion import suggest_groups
from tgx_anchor.utils import (
    distinct_hyperedges,
    group_topk,
    hypergraph_fingerprint,
)
from tgx_anchor.utils.messages import one_line

if TYPE_CHECKING:
    import pyarrow as pa

_FORMAT = 'tgx_anchor model 1'
# The least number of distinct groups to calibrate and assess a model with.
_MIN_HELD_OUT = 20


class AnchorModel(torch.nn.Module, ABC):
    r"""An abstract predictor of group anchors: learns from the hyperedges whose anchor
    is known, and gives every member of every hyperedge a probability.

    A subclass supplies :meth:`_fit` and :meth:`predict_proba`. It keeps the arguments
    of its constructor under their own names, and what it learns as parameters and
    buffers. If their shapes depend on the data, it also supplies :meth:`_allocate`; if
    it needs more of the data than incidences and anchors, :meth:`required_transform`.

    .. code-block:: python

        class OldestMember(AnchorModel):
            def _fit(self, data, run):
                pass

            def predict_proba(self, data):
                node, hyperedge = data.hyperedge_index
                size = data.num_hyperedges
                return softmax(data.node_age[node], hyperedge, num_nodes=size)

    Args:
        seed (int, optional): The seed of all random draws of the model, also between
            equally likely members. (default: :obj:`0`)
    """

    seed: int
    history: list[Record]
    interrupted: bool
    calibrator: Calibrator
    held_out: HeldOut
    #: Whether :meth:`fit` calibrates probabilities, if it can.
    calibration: Calibration | None = None

    # Whether a model is fitted so quickly that it can be fitted again without some of
    # the known anchors, to see whether it finds them.
    _is_quick = False

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        if not isinstance(seed, Integral):
            raise ValueError(f"'seed' must be an integer (got {seed!r})")
        self.seed = int(seed)
        self.history = []
        self.interrupted = False
        self.calibrator = Calibrator()
        self.held_out = HeldOut()

    # Learning ################################################################

    def fit(
        self,
        data: AnchorData,
        *,
        progress: bool = False,
        callback: Callable[[Record], object] | None = None,
        on_interrupt: OnInterrupt = 'keep_best',
        checkpoint: str | Path | None = None,
        use_val: bool = False,
    ) -> Self:
        r"""Learns from :obj:`data.train_mask`, or without one from all hyperedges with
        a known anchor that leave a choice. If it raises an error, the model stays as it
        was.

        The records of all epochs are kept in :obj:`history`. Each has :obj:`epoch`,
        :obj:`num_epochs` and :obj:`seconds`, also :obj:`loss` where it is known,
        :obj:`val_accuracy` (the accuracy of anchors on :obj:`data.val_mask`) if the
        epoch was validated, and :obj:`stage` if the model learns in stages.

        Args:
            data (AnchorData): The hypergraph.
            progress (bool, optional): If set to :obj:`True`, shows a progress bar.
                (default: :obj:`False`)
            callback (callable, optional): Called after each epoch with its record in
                :obj:`history`, which it may add to. (default: :obj:`None`)
            on_interrupt (str, optional): If set to :obj:`"keep_best"`, Ctrl-C ends
                training with the best state so far, a warning, and
                :obj:`model.interrupted` set to :obj:`True`; where there is no state to
                keep yet, :class:`KeyboardInterrupt` is raised all the same. If set to
                :obj:`"raise"`, it is always raised, and the model stays as it was.
                (default: :obj:`"keep_best"`)
            checkpoint (str, optional): A file that keeps the state of training, or an
                existing folder, in which a file named after the training is used. If
                the file exists, training continues from it, and ends as if it had never
                stopped. Models that fit in seconds do not use it.
                (default: :obj:`None`)
            use_val (bool, optional): If set to :obj:`True`, learns from
                :obj:`data.val_mask`, too, so that no epoch is validated.
                (default: :obj:`False`)
        """
        run = FitRun(progress, callback, on_interrupt, checkpoint, use_val)
        before = self._parts()
        self._fit(data, run)
        try:
            self._hold_out(data, run)
        except BaseException:
            self._modules, self._parameters, self._buffers = before
            raise
        self.history, self.interrupted = run.history, run.interrupted
        if run.interrupted:
            last = run.history[-1]
            warnings.warn(
                f"'fit' was interrupted after epoch {last['epoch']:.0f} of "
                f'{last["num_epochs"]:.0f}; the best state so far is kept',
                stacklevel=2,
            )
        return self

    @abstractmethod
    def _fit(self, data: AnchorData, run: FitRun) -> None:
        # Learns, and changes the model only once all is learnt. Models that learn in
        # epochs pass them to 'run.epochs'.
        ...

    def required_transform(self, progress: bool = False) -> BaseTransform:  # noqa: ARG002
        r"""Returns a transform that adds to a hypergraph what this model needs and what
        is not there yet; by default, nothing.

        .. code-block:: python

            data = model.required_transform()(data)
            model.fit(data)

        Args:
            progress (bool, optional): If set to :obj:`True`, slow transforms show a
                progress bar. (default: :obj:`False`)
        """
        return AddMissing()

    @staticmethod
    def _fingerprint(data: AnchorData) -> Tensor:
        # Tells the hypergraph that a model was fitted on from all others.
        return hypergraph_fingerprint(
            data.hyperedge_index, int(data.num_nodes or 0), data.num_hyperedges
        )

    # Doubt ###################################################################

    @property
    def calibrated(self) -> bool:
        r"""Whether :meth:`predict_proba` returns calibrated probabilities."""
        return self.calibrator.is_fitted

    def assess(self, data: AnchorData) -> Assessment:
        r"""Returns the accuracy to expect where the anchor is not known, and warnings.

        The accuracy is measured in :meth:`fit`, on known groups that the model did not
        learn from: those in :obj:`data.val_mask`, or without one those that models
        like this one were not shown, if that takes seconds only.

        .. code-block:: python

            print(*model.assess(data).sentences(), sep='\n')

        Args:
            data (AnchorData): The hypergraph that the model was fitted on.
        """
        return Assessment.of(self.held_out, data, self.calibrated)

    def suggest(
        self, data: AnchorData, n: int = 50, mask: Tensor | None = None
    ) -> 'pa.Table':
        r"""Returns the groups whose anchor would help most if it were known, the best
        first, as a table of Arrow (:func:`~tgx_anchor.nn.predictors.suggestion.
        suggest_groups`).

        Args:
            data (AnchorData): The hypergraph. Known are the anchors in
                :obj:`data.train_mask` if there is one, else all in :obj:`data.y`.
            n (int, optional): The number of groups. (default: :obj:`50`)
            mask (torch.Tensor, optional): The groups to choose from; all if
                :obj:`None`. (default: :obj:`None`)

        Shapes:
            - **mask:** :math:`(M)`
        """
        return suggest_groups(self.predict_proba(data), data, n, mask)

    def _raw_proba(self, data: AnchorData) -> Tensor:
        # Probabilities that are not calibrated.
        return self.predict_proba(data)

    def _hold_out(self, data: AnchorData, run: FitRun) -> None:
        # Calibrates the fitted model, and keeps how well it predicts known anchors that
        # it has not learnt from.
        self.calibrator = Calibrator().train(self.training)
        self.held_out = HeldOut().train(self.training)
        if data.get('y') is None or data.num_incidences == 0:
            return
        self.calibrator.to(data.hyperedge_index.device)
        number = distinct_hyperedges(
            data.hyperedge_index, int(data.num_nodes or 0), data.num_hyperedges
        )
        scores = self._held_out_scores(data, run, number)
        if scores is None:
            return
        stated = None
        if self.calibration is not None:
            mask = scores.mask
            stated = self.calibrator.fit(scores.proba, data, mask, number)
        self.held_out.keep(scores, data, stated, number)

    def _held_out_scores(
        self, data: AnchorData, run: FitRun, number: Tensor
    ) -> HeldOutScores | None:
        shape = [data.num_hyperedges]
        train, val = data.get('train_mask'), data.get('val_mask')
        has_both = train is not None and val is not None and not run.use_val
        if has_both and list(train.size()) == list(val.size()) == shape:
            mask = val & ~train & data.known_mask & data.choice_mask
            if _count_distinct(number, mask) >= _MIN_HELD_OUT and train.any():
                score = degree_sign(data, train) * log_degree(data)
                return HeldOutScores(mask, self._raw_proba(data).double(), score)
        if not self._is_quick or self.calibration is None or run.interrupted:
            return None
        mask = training_mask(data, run.use_val) & data.choice_mask
        if _count_distinct(number, mask) < _MIN_HELD_OUT:
            return None

        def fit_predict(part: AnchorData) -> Tensor:
            twin = type(self)(**self.get_params()).to(number.device)
            twin._fit(part, FitRun(on_interrupt='raise'))
            return twin._raw_proba(part)

        try:
            return cross_fit(data, mask, number, fit_predict, self.seed)
        except KeyboardInterrupt:
            if run.on_interrupt == 'raise':
                raise
            # The model itself is complete.
            run.interrupted = True
            return None

    # Predicting ##############################################################

    @abstractmethod
    def predict_proba(self, data: AnchorData) -> Tensor:
        r"""Computes the probability that each member is the anchor of its hyperedge.

        Args:
            data (AnchorData): The hypergraph.

        Shapes:
            - **output:** :math:`(P)`, sums to one in each hyperedge
        """

    def rank_score(self, data: AnchorData) -> Tensor:
        r"""Computes the score that ranks the members of a hyperedge in measures of the
        whole ranking, such as MRR and NDCG; by default :meth:`predict_proba`.

        Args:
            data (AnchorData): The hypergraph.

        Shapes:
            - **output:** :math:`(P)`
        """
        return self.predict_proba(data)

    def predict(self, data: AnchorData, k: int = 1) -> Tensor:
        r"""Returns the most likely anchors of each hyperedge. Ties are drawn with
        :obj:`seed`.

        Args:
            data (AnchorData): The hypergraph.
            k (int, optional): The number of anchors per hyperedge.
                (default: :obj:`1`)

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
        r"""Computes the accuracy on the hyperedges in :obj:`mask`.

        Args:
            data (AnchorData): The hypergraph.
            mask (torch.Tensor, optional): The hyperedges to evaluate; all with a known
                anchor that leave a choice if :obj:`None`. (default: :obj:`None`)

        Shapes:
            - **mask:** :math:`(M)`
        """
        check_labels(data)
        if mask is None:
            mask = data.known_mask & data.choice_mask
            if not mask.any():
                raise ValueError(
                    "'data' has no hyperedge to evaluate: none has a known anchor and "
                    "another member ('data.y' marks the anchors)"
                )
        return AnchorEvaluator().eval(self.predict_proba(data), data, mask)['accuracy']

    # Files ###################################################################

    def get_params(self) -> dict[str, Any]:
        r"""Returns the arguments of the constructor, by name."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != 'self'}

    def save(self, path: str | Path) -> None:
        r"""Saves the model to a file that holds no code, for :meth:`load`.

        Args:
            path (str): The file. An older one is replaced once the new one is complete.
        """
        content = {
            'format': _FORMAT,
            'model': type(self).__name__,
            'params': self._packed_params(),
            'state': self.state_dict(),
        }
        if not Path(path).absolute().parent.is_dir():
            raise ValueError(
                f"'{path}' must lie in a folder that exists: create it first"
            )
        with replace_file(Path(path)) as part:
            torch.save(content, part)

    def _packed_params(self) -> dict[str, Any]:
        # The arguments as plain values, for a file that holds no code.
        return self.get_params()

    @classmethod
    def _unpacked_params(cls, params: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        # The inverse; 'kwargs' holds those that a file cannot hold.
        return {**params, **kwargs}

    @classmethod
    def load(cls, path: str | Path, **kwargs: Any) -> Self:
        r"""Loads a model that was saved by :meth:`save`.

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
                # A damaged file fails with any kind of error.
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
        r"""Copies the state of another model of this class, also into a model that has
        not been fitted yet.
        """
        before = self._parts()
        try:
            return super().load_state_dict(state_dict, strict, assign)
        except Exception:
            # A state that does not fit must leave no trace.
            self._modules, self._parameters, self._buffers = before
            raise

    def _parts(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        return self._modules.copy(), self._parameters.copy(), self._buffers.copy()

    def _load_from_state_dict(
        self, state_dict: Mapping[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        # As a part of another module, its keys begin with the name of the part.
        self._allocate(
            {
                key.removeprefix(prefix): value
                for key, value in state_dict.items()
                if key.startswith(prefix)
            }
        )
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def _allocate(self, state: Mapping[str, Any]) -> None:
        # Makes parameters and buffers for a state whose shapes depend on the data.
        pass


def _count_distinct(number: Tensor, mask: Tensor) -> int:
    return int(torch.unique(number[mask]).numel())
