"""The base class of all predictors of anchors."""

import copy
import importlib
import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch
from torch import Tensor
from torch_geometric.transforms import BaseTransform
from typing_extensions import Self

from tgx_anchor.data import AnchorData, ShardedAnchorData
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn.predictors.add_missing import AddMissing
from tgx_anchor.nn.predictors.assessment import Assessment
from tgx_anchor.nn.predictors.calibrator import Calibration, Calibrator
from tgx_anchor.nn.predictors.cross_fit import HeldOutScores, cross_fit
from tgx_anchor.nn.predictors.degree_score import degree_sign, log_degree
from tgx_anchor.nn.predictors.fit_run import FitRun, OnInterrupt, Record
from tgx_anchor.nn.predictors.held_out import HeldOut
from tgx_anchor.nn.predictors.incidence_priority import incidence_priority
from tgx_anchor.nn.predictors.known_anchors import (
    as_hypergraph,
    check_data,
    check_labels,
    evidence_mask,
    given_mask,
    training_mask,
    without_anchors,
)
from tgx_anchor.nn.predictors.memory import Memory
from tgx_anchor.nn.predictors.model_file import ModelContent, read_model, write_model
from tgx_anchor.nn.predictors.people import has_ids, node_texts
from tgx_anchor.nn.predictors.prediction_table import doubt_table, prediction_table
from tgx_anchor.nn.predictors.set_numbers import set_numbers
from tgx_anchor.nn.predictors.suggestion import suggest_groups
from tgx_anchor.nn.predictors.texts import Texts
from tgx_anchor.utils import (
    digest,
    group_topk,
    hypergraph_fingerprint,
)
from tgx_anchor.utils.messages import one_line, shorten

if TYPE_CHECKING:
    import pyarrow as pa

Known = Literal['keep', 'model']
# The least number of distinct groups to calibrate and assess a model with.
_MIN_HELD_OUT = 20


def check_known(known: object) -> None:
    r"""Raises a :class:`ValueError` if there is no such way with known anchors.

    Args:
        known (str): :obj:`"keep"` or :obj:`"model"`.
    """
    if known not in get_args(Known):
        raise ValueError(
            f"'known' must be one of {', '.join(get_args(Known))} (got {known!r})"
        )


class AnchorModel(torch.nn.Module, ABC):
    r"""An abstract predictor of group anchors: learns from the hyperedges whose anchor
    is known, and gives every member of every hyperedge a probability.

    A subclass supplies :obj:`_fit` and :meth:`predict_proba`. It keeps the arguments
    of its constructor under their own names, and what it learns as parameters and
    buffers. If their shapes depend on the data, it also supplies :obj:`_allocate`; if
    it needs more of the data than incidences and anchors, :meth:`required_transform`.

    .. code-block:: python

        class OldestMember(AnchorModel):
            def _fit(self, data, run):
                pass

            def predict_proba(self, data, same_people=None):
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

    # Whether a model can be fitted on a part of a hypergraph in shards.
    _takes_shards = False

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
        data: AnchorData | ShardedAnchorData,
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
            data (AnchorData or ShardedAnchorData): The hypergraph. With shards, every
                process of :obj:`torch.distributed` works on its own
                (:meth:`~tgx_anchor.data.ShardedAnchorData.part`), and all get the same
                model.
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
                stopped. Models that fit in seconds do not use it, except for shards.
                (default: :obj:`None`)
            use_val (bool, optional): If set to :obj:`True`, learns from
                :obj:`data.val_mask`, too, so that no epoch is validated.
                (default: :obj:`False`)
        """
        run = FitRun(progress, callback, on_interrupt, checkpoint, use_val)
        if isinstance(data, ShardedAnchorData) and not self._takes_shards:
            raise ValueError(
                f"{type(self).__name__} cannot be fitted on shards: use 'AnchorRadar', "
                f"or 'shards.to_data()' if it fits into memory"
            )
        data = as_hypergraph(data)
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
        r"""Returns a transform that adds the attributes that this model needs and the
        hypergraph does not have yet; by default, none.

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
        # Five numbers that identify the hypergraph that a model was fitted on; the last
        # one is a hash of the ids of its nodes, or zero without ids.
        code = 0
        if has_ids(data):
            texts = Texts(node_texts(data))
            code = int(digest(texts.code, texts.end)[:15], 16)
        sizes = hypergraph_fingerprint(
            data.hyperedge_index,
            int(data.num_nodes or 0),
            data.num_hyperedges,
            0 if data.part is None else data.part.first_hyperedge,
            data.ranks,
        )
        return torch.cat([sizes, sizes.new_tensor([code])])

    @staticmethod
    def _is_same(first: Tensor, second: Tensor) -> bool:
        # Compares two fingerprints; ids that are not there differ from none.
        codes = first[4], second[4]
        same_ids = codes[0] == codes[1] or 0 in codes
        return bool(same_ids) and torch.equal(first[:4], second[:4])

    # Doubt ###################################################################

    @property
    def calibrated(self) -> bool:
        r"""Whether :meth:`predict_proba` returns calibrated probabilities."""
        return self.calibrator.is_fitted

    def assess(self, data: AnchorData | ShardedAnchorData) -> Assessment:
        r"""Returns the expected accuracy where the anchor is not known, and warnings.

        The accuracy is measured in :meth:`fit`, on known groups that the model did not
        learn from: those in :obj:`data.val_mask`, or without one those that models
        like this one were not shown, if that takes seconds only.

        .. code-block:: python

            print(*model.assess(data).sentences(), sep='\n')

        Args:
            data (AnchorData or ShardedAnchorData): The hypergraph that the model was
                fitted on.
        """
        return Assessment.of(self.held_out, as_hypergraph(data), self.calibrated)

    def suggest(
        self, data: AnchorData, n: int = 50, mask: Tensor | None = None
    ) -> 'pa.Table':
        r"""Returns the groups whose anchor would help most if it were known, the best
        first, as an Arrow table
        (:func:`~tgx_anchor.nn.predictors.suggestion.suggest_groups`).

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

    def _raw_proba(self, data: AnchorData, same_people: bool | None = None) -> Tensor:
        # Probabilities that are not calibrated.
        return self._proba(data, same_people)

    def _hold_out(self, data: AnchorData, run: FitRun) -> None:
        # Calibrates the fitted model, and keeps how well it predicts known anchors that
        # it has not learnt from.
        device = data.hyperedge_index.device
        self.calibrator = Calibrator().train(self.training).to(device)
        self.held_out = HeldOut().train(self.training).to(device)
        if data.get('y') is None or not data.ranks.total(data.num_incidences):
            return
        number = set_numbers(data, data.known_mask)
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
            enough = _count_distinct(number, mask, data) >= _MIN_HELD_OUT
            if enough and data.ranks.any(train):
                score = degree_sign(data, train) * log_degree(data)
                proba = self._validated_proba(data, mask).double()
                return HeldOutScores(mask, proba, score)
        if not self._is_quick or self.calibration is None or run.interrupted:
            return None
        mask = training_mask(data, run.use_val) & data.choice_mask
        if _count_distinct(number, mask, data) < _MIN_HELD_OUT:
            return None

        def fit_predict(part: AnchorData) -> Tensor:
            return self._fit_predict(part, run.checkpoint)

        try:
            scores = cross_fit(data, mask, number, fit_predict, self.seed)
            return self._from_held_out(scores, data)
        except KeyboardInterrupt:
            if run.on_interrupt == 'raise':
                raise
            # The model itself is complete.
            run.interrupted = True
            return None

    def _validated_proba(self, data: AnchorData, mask: Tensor) -> Tensor:  # noqa: ARG002
        # The probabilities of validation hyperedges, to judge the model by.
        return self._raw_proba(data)

    def _fit_predict(
        self, data: AnchorData, checkpoint: str | Path | None = None
    ) -> Tensor:
        # Fits another model like this one, and returns its probabilities, or columns
        # from which '_from_held_out' computes them.
        twin = type(self)(**self.get_params()).to(data.hyperedge_index.device)
        twin._fit(data, FitRun(on_interrupt='raise', checkpoint=checkpoint))
        return twin._raw_proba(data)

    def _from_held_out(
        self,
        scores: HeldOutScores,
        data: AnchorData,  # noqa: ARG002
    ) -> HeldOutScores:
        # Learns from the predictions of groups that were held out, if there is anything
        # left to learn, and returns their probabilities.
        return scores

    # Predicting ##############################################################

    @abstractmethod
    def predict_proba(
        self, data: AnchorData, same_people: bool | None = None
    ) -> Tensor:
        r"""Computes the probability that each member is the anchor of its hyperedge.

        Args:
            data (AnchorData): The hypergraph.
            same_people (bool, optional): Whether equal :obj:`node_id` in this
                hypergraph and in the one that the model was fitted on are the same
                people, so that a model may use what it knows of them. If :obj:`None`,
                they are if both have the same :obj:`data.source` (tables of your own
                have none). (default: :obj:`None`)

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

    def predict(
        self,
        data: AnchorData | ShardedAnchorData,
        k: int = 1,
        same_people: bool | None = None,
    ) -> Tensor:
        r"""Returns the most likely anchors of each hyperedge, also of those whose
        anchor is known. Ties are drawn with :obj:`seed`. For a table with the ids of
        people, see :meth:`predictions`.

        Args:
            data (AnchorData or ShardedAnchorData): The hypergraph; of shards, those of
                this process are predicted.
            k (int, optional): The number of anchors per hyperedge.
                (default: :obj:`1`)
            same_people (bool, optional): As in :meth:`predict_proba`.
                (default: :obj:`None`)

        Shapes:
            - **output:** :math:`(M)` node numbers, or :math:`(M, k)` if :obj:`k` is
              larger than one, best first; :obj:`-1`, which is nobody, where members
              run out
        """
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"'k' must be a positive integer (got {k})")
        data = as_hypergraph(data)
        proba = self._proba(data, same_people)
        best = group_topk(
            proba,
            data.hyperedge_index,
            data.num_hyperedges,
            k,
            incidence_priority(data, self.seed),
        )
        return best.squeeze(1) if k == 1 else best

    def _proba(self, data: AnchorData, same_people: bool | None) -> Tensor:
        # A model that needs no ids need not take the argument.
        if same_people is None:
            return self.predict_proba(data)
        return self.predict_proba(data, same_people)

    def predictions(
        self,
        data: AnchorData,
        known: Known = 'keep',
        same_people: bool | None = None,
    ) -> 'pa.Table':
        r"""Returns the anchors of all hyperedges as an Arrow table, with one row per
        hyperedge in the order of the data.

        * :obj:`group`: the :obj:`hyperedge_id`, or the number of the hyperedge
        * :obj:`anchor`: the :obj:`node_id` of the anchor, or the number of the node
        * :obj:`probability`: the probability of the anchor
        * :obj:`runner_up`: the second most likely member
        * :obj:`runner_up_probability`: its probability
        * :obj:`margin`: the difference of the two probabilities
        * :obj:`source`: :obj:`"known"` or :obj:`"predicted"`

        What does not exist is null: there is no anchor of an empty hyperedge, and no
        runner-up of a single member, whose probability and margin are one. Known
        anchors are those of :obj:`data.train_mask` if there is one, else all in
        :obj:`data.y`; their probability and margin are one as well, without a
        runner-up. Of several known anchors, the table has the one that the model finds
        most likely.

        .. code-block:: python

            model.predictions(data).to_pandas()

        Args:
            data (AnchorData): The hypergraph.
            known (str, optional): If set to :obj:`"model"`, the table has the answer of
                the model for hyperedges with a known anchor, too.
                (default: :obj:`"keep"`)
            same_people (bool, optional): As in :meth:`predict_proba`.
                (default: :obj:`None`)
        """
        check_known(known)
        check_data(data)
        proba = self._proba(data, same_people)
        mask = given_mask(data) if known == 'keep' else None
        return prediction_table(proba, data, mask, self.seed)

    def doubts(self, data: AnchorData, same_people: bool | None = None) -> 'pa.Table':
        r"""Returns the hyperedges in which the model finds another member more likely
        than the known anchor, which may then be wrong, as an Arrow table: the largest
        difference first.

        The columns are :obj:`group`, the known :obj:`anchor`, its :obj:`probability`
        by the model, the member that the model :obj:`predicted`, the
        :obj:`predicted_probability`, and the difference of the two as :obj:`margin`.
        A hyperedge with several known anchors is in the table if the most likely member
        is none of them, with the most likely one of them.

        The model has seen the anchors that it was fitted on, and doubts them less than
        others.

        Args:
            data (AnchorData): The hypergraph with known anchors, as in
                :meth:`predictions`.
            same_people (bool, optional): As in :meth:`predict_proba`.
                (default: :obj:`None`)
        """
        check_data(data)
        check_labels(data)
        proba = self._proba(data, same_people)
        return doubt_table(proba, data, given_mask(data), self.seed)

    def evidence(
        self,
        data: AnchorData,
        same_people: bool | None = None,  # noqa: ARG002
    ) -> tuple[Memory, Tensor]:
        r"""Returns the groups that a prediction for a hypergraph takes into account,
        with their known anchors, and the number of each node among their people; by
        default, the groups of the hypergraph.

        Args:
            data (AnchorData): The hypergraph.
            same_people (bool, optional): As in :meth:`predict_proba`.
                (default: :obj:`None`)

        Shapes:
            - **output:** the memory, and :math:`(N)` numbers
        """
        check_data(data)
        unknown = torch.zeros(data.num_incidences, device=data.hyperedge_index.device)
        return Memory().extended(data, evidence_mask(data), unknown)

    def score(
        self, data: AnchorData | ShardedAnchorData, mask: Tensor | None = None
    ) -> float:
        r"""Computes the accuracy on the hyperedges in :obj:`mask`, whose anchors the
        model is not shown.

        Args:
            data (AnchorData or ShardedAnchorData): The hypergraph.
            mask (torch.Tensor, optional): The hyperedges to evaluate; all with a known
                anchor that leave a choice if :obj:`None`. (default: :obj:`None`)

        Shapes:
            - **mask:** :math:`(M)`
        """
        data = as_hypergraph(data)
        check_labels(data)
        if mask is None:
            mask = data.known_mask & data.choice_mask
            if not data.ranks.any(mask):
                raise ValueError(
                    "'data' has no hyperedge to evaluate: none has a known anchor and "
                    "another member ('data.y' marks the anchors)"
                )
        shown = data
        # The evaluator refuses masks that do not fit.
        if mask.dtype == torch.bool and list(mask.size()) == [data.num_hyperedges]:
            shown = without_anchors(data, mask)
        return AnchorEvaluator().eval(self.predict_proba(shown), data, mask)['accuracy']

    # Files ###################################################################

    def get_params(self) -> dict[str, Any]:
        r"""Returns the arguments of the constructor, by name."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != 'self'}

    def save(self, path: str | Path) -> None:
        r"""Saves the model to a file for :meth:`load`. The file has a version and a
        checksum, and holds no code. Models that recognise people hold the ids of the
        people and groups that they were fitted on.

        Args:
            path (str): The file. An older one is replaced once the new one is complete.
        """
        name = type(self).__name__
        write_model(path, ModelContent(name, self._packed_params(), self.state_dict()))

    def _packed_params(self) -> dict[str, Any]:
        # The arguments as plain values, for a file that holds no code.
        return self.get_params()

    @classmethod
    def _unpacked_params(cls, content: ModelContent, **kwargs: Any) -> dict[str, Any]:
        # The inverse; 'kwargs' holds those that a file cannot hold.
        return {**content.params, **kwargs}

    @classmethod
    def load(cls, path: str | Path, **kwargs: Any) -> Self:
        r"""Loads a model that was saved by :meth:`save`; :meth:`AnchorModel.load` loads
        any predictor of this package.

        Args:
            path (str): The file.
            **kwargs: Arguments of the constructor that a file cannot hold, such as an
                encoder that is not of this package.
        """
        content = read_model(path)
        kind = cls._named(content.name)
        if kind is None:
            right = (
                'a model of this package' if cls is AnchorModel else repr(cls.__name__)
            )
            raise ValueError(
                f"'{path}' must hold {right} (got {shorten(content.name)}; call 'load' "
                f'of its own class)'
            )
        try:
            # Nothing is allocated before the shapes are known to be those of the file.
            with torch.device('meta'):
                model = kind(**kind._unpacked_params(content, **kwargs))
                model.load_state_dict(content.state, assign=True)
            model._check_state()
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            raise ValueError(
                f"'{path}' does not hold a whole model (got: {one_line(error)})"
            ) from None
        return model

    @classmethod
    def _named(cls, name: str) -> 'type[Self] | None':
        # This class, or for the base class a predictor of this package.
        if cls is not AnchorModel:
            return cls if name == cls.__name__ else None
        predictors = importlib.import_module('tgx_anchor.nn.predictors')
        found = getattr(predictors, name, None) if name in predictors.__all__ else None
        is_model = isinstance(found, type) and issubclass(found, AnchorModel)
        return found if is_model and found is not AnchorModel else None

    def _check_state(self) -> None:
        # Raises an error if parts of the state, which has the right shapes, do not fit
        # together.
        pass

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        r"""Copies the state of another model of this class, also into a model that has
        not been fitted yet.
        """
        # A state that does not fit must leave no trace: it is tried on a copy.
        twin = copy.deepcopy(self)
        super(AnchorModel, twin).load_state_dict(state_dict, strict, assign)
        return super().load_state_dict(state_dict, strict, assign)

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


def _count_distinct(number: Tensor, mask: Tensor, data: AnchorData) -> int:
    return int(torch.unique(data.ranks.gather(torch.unique(number[mask]))).numel())
