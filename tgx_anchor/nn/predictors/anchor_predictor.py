"""AnchorPredictor: any encoder as a predictor of anchors."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear, Module, Parameter
from torch_geometric.nn.inits import reset
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import softmax
from typing_extensions import Self

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.add_missing import AddMissing
from tgx_anchor.nn.predictors.anchor_model import AnchorModel
from tgx_anchor.nn.predictors.calibrator import (
    Calibration,
    Calibrator,
    check_calibration,
)
from tgx_anchor.nn.predictors.fit_run import FitRun
from tgx_anchor.nn.predictors.held_out import HeldOut
from tgx_anchor.nn.predictors.known_anchors import check_data
from tgx_anchor.nn.predictors.model_file import ModelContent
from tgx_anchor.nn.predictors.packed_encoder import pack_encoder, unpack_encoder
from tgx_anchor.nn.predictors.paper_baselines import paper_baseline
from tgx_anchor.nn.predictors.people import People
from tgx_anchor.nn.predictors.represent import (
    asked_names,
    log_proba,
    node_features,
    represent,
)
from tgx_anchor.nn.predictors.training import PredictorTraining
from tgx_anchor.nn.predictors.training_options import Objective, TrainingOptions
from tgx_anchor.transforms import (
    AddRandomWalkEmbedding,
    AddTopologicalFeatures,
    AddWithinOrderRank,
)
from tgx_anchor.utils import kept_memory

# The size of embeddings for an encoder without 'in_channels'.
_IN_CHANNELS = 48


class AnchorPredictor(AnchorModel):
    r"""Turns an encoder of hypergraphs into a predictor of anchors.

    The encoder computes a vector :math:`\mathbf{z}_{v;e}` for every incidence, or
    vectors :math:`\mathbf{z}_v` and :math:`\mathbf{z}_e` for nodes and hyperedges,
    which are concatenated. One linear layer, the head, computes the logits of roles,

    .. math::
        \mathbf{l}_{v;e} = \mathbf{W} \left[ \mathbf{z}_e \, \Vert \, \mathbf{z}_v
        \right] + \mathbf{b},

    which are trained by cross-entropy on the roles of all members of the training
    hyperedges. The predicted anchor is the member with the highest probability of the
    anchor's role, as for the baselines of the `"Identifying Group Anchors in Real-World
    Group Interactions Under Label Scarcity" <https://arxiv.org/abs/2509.20762>`_ paper.
    With :obj:`objective="anchor"` there is one logit per incidence, trained directly by
    the softmax over the members of a hyperedge. The part of the logit that comes from
    :math:`\mathbf{z}_e` is then the same for all members, and has no effect.

    The features of nodes :obj:`data.x` initialise a table that is trained along with
    the encoder. In another hypergraph, the people that the model knows by
    :obj:`node_id` keep their rows of the table (see :meth:`predict_proba`), and all
    others have the features :obj:`data.x`, which must then be comparable: random walks
    on another hypergraph give other coordinates.

    An encoder is any module whose :meth:`forward` takes :obj:`x` and
    :obj:`hyperedge_index`, such as :class:`torch_geometric.nn.HypergraphConv`. It
    returns the vectors of incidences, a pair of the vectors of nodes and of hyperedges,
    or the vectors of nodes alone, whose mean over the members of a hyperedge then
    stands for the hyperedge. Further arguments of :meth:`forward` are passed by name:
    any attribute of the data except for labels and splits, as well as :obj:`num_nodes`
    and :obj:`num_hyperedges`.

    To be trained in mini-batches, an encoder needs an integer attribute
    :obj:`num_layers`, the number of hops for which the loader draws neighbours of the
    target hyperedges. If the number of hops is not the number of layers, it can be set
    by the attribute :obj:`num_hops`, which takes precedence. A single layer of PyG
    needs neither: it is one hop. For any other encoder, set :obj:`batch_size=None`.

    .. note::
        The training differs from the reference implementations of the baselines in
        three ways. (1) All nodes learn their features; in the references, the first
        node is a padding row that never learns. (2) Validation and prediction are one
        pass over the whole hypergraph without dropout; the references validate on
        sampled neighbourhoods, and HCHA and HNN with dropout on the representations
        from before the last step. (3) A node draws its neighbours once for all layers
        of a mini-batch; the references draw again for each layer. This is simpler, and
        the same with :obj:`num_neighbors=-1` or one layer.

    .. code-block:: python

        data = AddRandomWalkEmbedding(48)(data)
        model = AnchorPredictor(HGNN(48, 64, 2, 128)).fit(data, progress=True)
        model.history[-1]['val_accuracy']

    If there is a :obj:`data.val_mask`, :meth:`fit` validates every :obj:`eval_every`
    epochs, keeps the best state, and stops early. The best state is the one of highest
    :obj:`val_role_accuracy`, the accuracy of the roles of all members, as in the paper;
    where roles are not learnt, the one of highest :obj:`val_accuracy`, the accuracy of
    anchors. :obj:`history` has both.

    If a process group of :mod:`torch.distributed` is initialised, its processes train
    one model together, each on the same data: every process computes its part of the
    hyperedges of each batch, and :class:`~torch.nn.parallel.DistributedDataParallel`
    adds up the gradients. A batch has :obj:`batch_size` hyperedges, however many
    processes share it, so that the steps are those of one process up to rounding;
    only dropout and the neighbours that are drawn differ in mini-batches. With
    :obj:`batch_size=None`, every process encodes the whole hypergraph with the same
    dropout, and computes the loss of its part. At the end all processes have the same
    model. Only the first one shows progress, calls :obj:`callback`, and reads and
    writes the checkpoint, which any number of processes can continue. Ctrl-C ends the
    run, whatever :obj:`on_interrupt` says.

    .. code-block:: python

        torch.distributed.init_process_group('gloo')  # under torchrun
        model = AnchorPredictor(HGNN(48, 64, 2, 128)).fit(data, checkpoint='hgnn.pt')

    A checkpoint of another model is refused. Encoders that are not of this package are
    told apart by the name of their class and their weights only.

    Args:
        encoder (torch.nn.Module): The encoder. If it has :meth:`reset_parameters`,
            training starts from newly drawn weights, else from the present ones. If it
            has :obj:`parameter_groups`, the optimiser gets these groups.
        num_roles (int, optional): The number of roles; if :obj:`None`, the number of
            roles in the hyperedges to learn from. (default: :obj:`None`)
        objective (str, optional): :obj:`"role"` to learn the roles of all members, or
            :obj:`"anchor"` to learn the anchors only. If the anchors are not exactly
            the members of one role, there are two roles: anchors and others.
            (default: :obj:`"role"`)
        lr (float, optional): The learning rate, also of those of the encoder's
            :obj:`parameter_groups` that do not set one. (default: :obj:`0.001`)
        batch_size (int, optional): The number of hyperedges in a mini-batch, or
            :obj:`None` for one step per epoch on the whole hypergraph.
            (default: :obj:`64`)
        num_neighbors (int or list[int], optional): The number of hyperedges that a node
            receives from in a mini-batch, also as a list with one number for each hop
            from the targets; :obj:`-1` for all. (default: :obj:`-1`)
        num_epochs (int, optional): The largest number of epochs. (default: :obj:`100`)
        weight_decay (float, optional): The weight decay, also of groups that do not set
            one. (default: :obj:`0.0`)
        eps (float, optional): The :math:`\epsilon` of Adam. (default: :obj:`1e-8`)
        gamma (float, optional): The factor by which the learning rate decays in every
            epoch. (default: :obj:`0.99`)
        max_norm (float, optional): If given, the gradients of table, encoder and head
            are each clipped to this norm. (default: :obj:`None`)
        eval_every (int, optional): The number of epochs between two validations.
            (default: :obj:`5`)
        patience (int, optional): The number of validations in a row without improvement
            after which training stops. (default: :obj:`6`)
        seed (int, optional): The seed of all random draws. (default: :obj:`0`)
        calibration (str, optional): If set to :obj:`"auto"`, probabilities are
            calibrated on :obj:`data.val_mask`, if there is one that is not learnt from.
            (default: :obj:`"auto"`)
    """

    #: The class of the training loop, which a subclass may replace.
    training_class: type[PredictorTraining] = PredictorTraining

    head: Linear | None
    table: Parameter | None
    fitted_on: Tensor
    anchor_role: Tensor

    def __init__(
        self,
        encoder: Module,
        num_roles: int | None = None,
        objective: Objective = 'role',
        lr: float = 0.001,
        batch_size: int | None = 64,
        num_neighbors: int | Sequence[int] = -1,
        num_epochs: int = 100,
        weight_decay: float = 0.0,
        eps: float = 1e-8,
        gamma: float = 0.99,
        max_norm: float | None = None,
        eval_every: int = 5,
        patience: int = 6,
        seed: int = 0,
        calibration: Calibration | None = 'auto',
    ) -> None:
        super().__init__(seed)
        check_calibration(calibration)
        self.calibration = calibration
        if not isinstance(encoder, Module):
            raise ValueError(f"'encoder' must be a module (got {encoder!r})")
        self.encoder = encoder
        self.num_roles = num_roles
        self.objective: Objective = objective
        self.lr = float(lr)
        self.batch_size = batch_size
        self.num_neighbors = (
            list(num_neighbors)
            if isinstance(num_neighbors, Iterable)
            and not isinstance(num_neighbors, str)
            else num_neighbors
        )
        self.num_epochs = num_epochs
        self.weight_decay = float(weight_decay)
        self.eps = float(eps)
        self.gamma = float(gamma)
        self.max_norm = max_norm
        self.eval_every = eval_every
        self.patience = patience
        self._options()
        self.register_module('head', None)
        self.register_parameter('table', None)
        self.people = People()
        self.register_buffer('fitted_on', torch.full((5,), -1))
        self.register_buffer('anchor_role', torch.tensor(0))

    @classmethod
    def from_paper(cls, method: str, setting: str, **kwargs: Any) -> Self:
        r"""Makes a baseline of the paper with its published hyperparameters.

        Args:
            method (str): :obj:`"WHATsNet"`, :obj:`"CoNHD-U"`, :obj:`"CoNHD-I"`,
                :obj:`"HNHN"`, :obj:`"HGNN"`, :obj:`"HAT"`, :obj:`"UniGCN"`,
                :obj:`"HCHA"` or :obj:`"HNN"`.
            setting (str): The dataset, with its kind of anchor where there are
                several: :obj:`"qaBI"`, :obj:`"coDB_last"`.
            **kwargs: Further arguments of the constructor, which take precedence.
        """
        return cls(**{**paper_baseline(method, setting), **kwargs})

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters of the encoder, and removes the head and the
        table, whose sizes depend on the data. The model must then be fitted again.
        """
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(self.seed)
            reset(self.encoder)
        self.head = self.table = None
        self.people = People().to(self.fitted_on.device)
        self.fitted_on = torch.full_like(self.fitted_on, -1)
        self.anchor_role = torch.zeros_like(self.anchor_role)
        self.calibrator, self.held_out = Calibrator(), HeldOut()
        self.history, self.interrupted = [], False

    def forward(self, data: AnchorData, same_people: bool | None = None) -> Tensor:
        r"""Computes the logits of the roles of each incidence, or one logit with
        :obj:`objective="anchor"`.

        Args:
            data (AnchorData): The hypergraph the model was fitted on, or another one.
            same_people (bool, optional): As in :meth:`predict_proba`.
                (default: :obj:`None`)

        Shapes:
            - **output:** :math:`(P, C)`
        """
        if self.head is None:
            raise ValueError("'AnchorPredictor' is not fitted yet: call 'fit' first")
        check_data(data)
        x = self._node_features(data, same_people)
        out: Tensor = self.head(represent(self.encoder, data, x))
        return out

    def _node_features(self, data: AnchorData, same_people: bool | None) -> Tensor:
        # The learnt rows of nodes that were fitted, the features of all others.
        if self.table is None or same_people is False:
            return node_features(data)
        if self._is_same(self.fitted_on, self._fingerprint(data)):
            return self.table
        if not self.people.are_in(data, same_people):
            return node_features(data)
        place = self.people.find(data)
        if bool((place >= 0).all()):
            return self.table[place]
        x = node_features(data)
        if x.size(1) != self.table.size(1):
            raise ValueError(
                f"'x' must have {self.table.size(1)} columns, as the model was fitted "
                f'with (got {x.size(1)})'
            )
        return torch.where((place >= 0).unsqueeze(1), self.table[place], x)

    # Learning ################################################################

    def required_transform(self, progress: bool = False) -> BaseTransform:
        r"""Returns a transform that adds random-walk embeddings :obj:`x`, and the ranks
        (:obj:`incidence_rank`) and topological features (:obj:`incidence_attr`) if the
        encoder takes them; each only if the data does not have it.

        Args:
            progress (bool, optional): If set to :obj:`True`, shows progress bars.
                (default: :obj:`False`)
        """
        transforms: dict[str, BaseTransform] = {}
        names = asked_names(self.encoder)
        if 'incidence_rank' in names:
            transforms['incidence_rank'] = AddWithinOrderRank()
        if 'incidence_attr' in names:
            transforms['incidence_attr'] = AddTopologicalFeatures()
        width = getattr(self.encoder, 'in_channels', None)
        if not isinstance(width, int) or width < 1:
            width = _IN_CHANNELS
        transforms['x'] = AddRandomWalkEmbedding(
            width, seed=self.seed, progress=progress
        )
        return AddMissing(transforms)

    def _options(self) -> TrainingOptions:
        values = {
            each.name: getattr(self, each.name) for each in fields(TrainingOptions)
        }
        return TrainingOptions(**values)

    def _fit(self, data: AnchorData, run: FitRun) -> None:
        training = self.training_class(self.encoder, data, self._options(), run.use_val)
        training.resume(run.checkpoint)
        run.history = training.history.copy()
        name = type(self.encoder).__name__
        with kept_memory():
            run.epochs(training.run(), name, self.num_epochs, num_done=training.epoch)
        training.finish()
        self.encoder, self.head = training.encoder, training.head
        self.table = training.table
        self.people = People.of(data)
        self.fitted_on = self._fingerprint(data)
        self.anchor_role = torch.tensor(
            training.anchor_role, device=training.table.device
        )
        self.eval()

    # Predicting ##############################################################

    def predict_proba(
        self, data: AnchorData, same_people: bool | None = None
    ) -> Tensor:
        r"""Computes the probability that each member is the anchor of its hyperedge, in
        one pass over the whole hypergraph, without sampling or dropout:

        .. math::
            \frac{\Pr [ \mathrm{role}_{v;e} = \mathrm{anchor} ]}{\sum_{u \in e}
            \Pr [ \mathrm{role}_{u;e} = \mathrm{anchor} ]}

        They are then calibrated, if the model is (:obj:`calibrated`), which does not
        change the order of members.

        Args:
            data (AnchorData): The hypergraph the model was fitted on, or another one.
            same_people (bool, optional): Whether equal :obj:`node_id` are the same
                people, who keep their learnt features; if :obj:`None`, :obj:`source`
                decides. (default: :obj:`None`)

        Shapes:
            - **output:** :math:`(P)`, sums to one in each hyperedge; in double
              precision if calibrated
        """
        out: Tensor = self.calibrator(self._raw_proba(data, same_people), data)
        return out

    def _raw_proba(self, data: AnchorData, same_people: bool | None = None) -> Tensor:
        return softmax(
            log_proba(self._logits(data, same_people), int(self.anchor_role)),
            data.hyperedge_index[1],
            num_nodes=data.num_hyperedges,
        )

    def rank_score(self, data: AnchorData) -> Tensor:
        r"""Computes the logit of the anchor's role, regardless of the logits of the
        other roles: the paper picks the anchors of baselines by probability, but ranks
        members by logit for MRR and NDCG.

        Args:
            data (AnchorData): The hypergraph the model was fitted on, or another one.

        Shapes:
            - **output:** :math:`(P)`
        """
        return self._logits(data)[:, int(self.anchor_role)]

    def _logits(self, data: AnchorData, same_people: bool | None = None) -> Tensor:
        modes = [(module, module.training) for module in self.modules()]
        self.eval()
        try:
            with torch.no_grad():
                out: Tensor = self(data, same_people)
        finally:
            for module, mode in modes:
                module.training = mode
        return out

    # Files ###################################################################

    def _packed_params(self) -> dict[str, Any]:
        return {**self.get_params(), 'encoder': pack_encoder(self.encoder)}

    @classmethod
    def _unpacked_params(cls, content: ModelContent, **kwargs: Any) -> dict[str, Any]:
        if 'encoder' not in kwargs:
            packed = content.params['encoder']
            kwargs['encoder'] = unpack_encoder(packed, len(content.state))
        return {**content.params, **kwargs}

    def _allocate(self, state: Mapping[str, Any]) -> None:
        device = self.fitted_on.device
        self.head = self.table = None
        if 'head.weight' in state:
            num_outputs, size = state['head.weight'].size()
            self.head = Linear(size, num_outputs).to(device)
        if 'table' in state:
            self.table = Parameter(torch.empty_like(state['table'], device=device))
        self.people = People().to(device)
        # A copy, so that a state that does not fit leaves no trace.
        self.encoder = copy.deepcopy(self.encoder)
        for name in ('fitted_on', 'anchor_role'):
            if name in state:
                setattr(self, name, torch.empty_like(state[name], device=device))

    def _check_state(self) -> None:
        self.people.validate()
        if self.table is not None and len(self.people) != self.table.size(0):
            raise ValueError("'people' must have one id per row of the table")

    def __repr__(self) -> str:
        params = ', '.join(f'{k}={v!r}' for k, v in self.get_params().items())
        return f'{self.__class__.__name__}({params})'
