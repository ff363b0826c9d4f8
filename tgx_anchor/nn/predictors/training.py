"""The training loop of all encoders."""

import copy
import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear, Module, Parameter
from torch.nn.functional import cross_entropy

from tgx_anchor.data import AnchorData, HyperedgeIndex
from tgx_anchor.loader import HyperedgeLoader, TargetPart
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn.functional import anchor_cross_entropy
from tgx_anchor.nn.predictors.checkpoint import Checkpoint
from tgx_anchor.nn.predictors.fit_run import Record
from tgx_anchor.nn.predictors.known_anchors import labelled_mask, training_mask
from tgx_anchor.nn.predictors.packed_encoder import pack_encoder
from tgx_anchor.nn.predictors.represent import (
    asked_names,
    log_proba,
    node_features,
    num_hops,
    represent,
)
from tgx_anchor.nn.predictors.training_options import TrainingOptions
from tgx_anchor.nn.predictors.training_ranks import TrainingRanks
from tgx_anchor.utils import digest, hypergraph_fingerprint

# Arguments of encoders that are no attributes of the data.
_GIVEN = ('num_nodes', 'num_hyperedges', 'num_targets')
# A large prime, so that models of nearby seeds do not share the seeds of epochs.
_SEED_STEP = 1_000_003
# Tells the seeds of processes apart, also by their last 32 bits, which are all that
# PyTorch uses on the CPU.
_RANK_STEP = 2_654_435_761


class PredictorTraining:
    r"""Trains an encoder to predict anchors, epoch by epoch.

    Every epoch draws from generators of its own, so that a training that continues from
    a checkpoint ends bit for bit where an uninterrupted one does.

    If a process group of :mod:`torch.distributed` is initialised, its processes train
    together. Each computes a part of the targets of every batch, and the gradients are
    added up to those of the whole batch; everything else is the same in all processes.

    A subclass may change how the training sees the hypergraph by overriding
    :meth:`loss` and :meth:`logits`.

    Args:
        encoder (torch.nn.Module): The encoder, of which a copy is trained.
        data (AnchorData): The hypergraph.
        options (TrainingOptions): The hyperparameters.
        use_val (bool, optional): If set to :obj:`True`, learns from
            :obj:`data.val_mask`, too, and does not validate. (default: :obj:`False`)
    """

    #: The loss of a batch, whose gradients are averaged over processes.
    step: Module

    def __init__(
        self,
        encoder: Module,
        data: AnchorData,
        options: TrainingOptions,
        use_val: bool = False,
    ) -> None:
        self.options = options
        self.data = data
        self.mask = training_mask(data, use_val)
        self.val_mask = None
        if data.get('val_mask') is not None and not use_val:
            judged = labelled_mask(data, 'val_mask')
            self.val_mask = judged if judged.any() else None
        feature = node_features(data)
        self.ranks = TrainingRanks(feature.device)
        self.role, self.anchor_role, num_outputs = _targets(options, data, self.mask)
        with _seeded(options.seed, data.hyperedge_index.device):
            self.encoder = copy.deepcopy(encoder).to(feature.device)
            reset = getattr(self.encoder, 'reset_parameters', None)
            if reset is not None:
                reset()
            self.table = Parameter(feature.clone())
            size = self._width()
            self.head = Linear(size, num_outputs).to(feature.device)
        self.identity = self._agree(encoder)
        # Of the whole hypergraph, so that it is sorted once and not in every epoch.
        self.index = HyperedgeIndex.from_data(data)
        self.generator = torch.Generator()
        self.loader = self._new_loader()
        self.part = TargetPart.of(
            self.mask.nonzero().view(-1),
            data.hyperedge_size,
            self.ranks.rank,
            self.ranks.size,
        )
        self.part_mask = torch.zeros_like(self.mask)
        self.part_mask[self.part.target] = True
        # One kernel per step, which not every device has.
        fused = feature.device.type in ('cpu', 'cuda')
        self.optimizer = torch.optim.Adam(
            self._parameter_groups(), lr=options.lr, eps=options.eps, fused=fused
        )
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(
            self.optimizer, options.gamma
        )
        self.epoch = 0
        self.stale = 0
        self.best_accuracy = -1.0
        self.best: dict[str, Any] | None = None
        self.history: list[Record] = []
        self.checkpoint: Checkpoint | None = None

    def _width(self) -> int:
        # The size of what the encoder returns, tried on a single hyperedge.
        first = torch.zeros_like(self.mask)
        first[self.mask.nonzero()[0]] = True
        tiny = self.data.hyperedge_subgraph(first)
        encoder = copy.deepcopy(self.encoder).eval()
        with torch.no_grad():
            return represent(encoder, tiny, node_features(tiny)).size(1)

    def _new_loader(self) -> HyperedgeLoader | None:
        options = self.options
        if options.batch_size is None:
            return None
        depth = num_hops(self.encoder)
        if depth is None:
            raise ValueError(
                f"'encoder' must have an integer attribute 'num_layers', the number of "
                f'its layers, to learn in mini-batches: add it to '
                f"{type(self.encoder).__name__!r}, or pass 'batch_size=None' "
                f'(got batch_size={options.batch_size})'
            )
        return HyperedgeLoader(
            self._slim_data(),
            num_neighbors=options.num_neighbors,
            num_layers=depth,
            input_hyperedges=self.mask,
            batch_size=options.batch_size,
            shuffle=True,
            generator=self.generator,
            num_parts=self.ranks.size,
            part=self.ranks.rank,
        )

    def _slim_data(self) -> AnchorData:
        # Cutting batches takes time: only attributes that the encoder takes are kept.
        names = asked_names(self.encoder)
        return AnchorData(
            self.data.hyperedge_index,
            self.data.num_nodes,
            self.data.num_hyperedges,
            y=self.data['y'],
            **{
                name: self.data[name]
                for name in names
                if name not in _GIVEN and self.data.get(name) is not None
            },
        )

    def _parameter_groups(self) -> list[dict[str, Any]]:
        decay = self.options.weight_decay
        groups = getattr(self.encoder, 'parameter_groups', None)
        own = groups() if groups else [{'params': list(self.encoder.parameters())}]
        return [
            *({'weight_decay': decay, **group} for group in own if group['params']),
            {'params': [self.table], 'weight_decay': decay},
            {'params': list(self.head.parameters()), 'weight_decay': decay},
        ]

    # The loop ################################################################

    def run(self) -> Iterator[Record]:
        r"""Trains one epoch at a time, and yields its record."""
        with self.ranks.explained():
            self.step = self.ranks.parallel(_Step(self))
            yield from self._epochs()

    def _epochs(self) -> Iterator[Record]:
        options = self.options
        while self.epoch < options.num_epochs and self.stale < options.patience:
            start = time.perf_counter()
            loss = self._train_epoch()
            if not math.isfinite(loss):
                raise ValueError(
                    f"'lr' must be smaller: training diverged (got {options.lr}, and a "
                    f'loss of {loss} in epoch {self.epoch + 1})'
                )
            self.scheduler.step()
            self.epoch += 1
            record: Record = {
                'epoch': float(self.epoch),
                'num_epochs': float(options.num_epochs),
                'loss': loss,
            }
            is_last = self.epoch == options.num_epochs
            is_due = self.epoch % options.eval_every == 0
            if (is_last or is_due) and self.val_mask is not None:
                record.update(self._validate(self.val_mask))
            record['seconds'] = time.perf_counter() - start
            self.history.append(record)
            yield record
            # After the callback, which may add to the record. Not after a validation
            # that a longer training would not have: it may change the best state.
            if is_due and self.checkpoint is not None:
                self.checkpoint.write(self._progress())

    def _train_epoch(self) -> float:
        self.encoder.train()
        seed = ((self.options.seed + 1) * _SEED_STEP + self.epoch) % 2**63
        self.generator.manual_seed(seed)
        if self.loader is not None:
            # On the whole hypergraph, processes drop the same values as one alone.
            seed = (seed + self.ranks.rank * _RANK_STEP) % 2**63
        total = torch.zeros((), device=self.table.device)
        with _seeded(seed, self.table.device), self.ranks.quiet():
            batches = [self.data] if self.loader is None else self.loader
            for batch in batches:
                self.optimizer.zero_grad()
                loss = self.step(batch) * self._share(batch)
                # The mean over the processes is taken, and the sum is needed.
                (loss * self.ranks.size).backward()
                if self.options.max_norm is not None:
                    for part in (self.table, self.encoder, self.head):
                        given = part if isinstance(part, Tensor) else part.parameters()
                        torch.nn.utils.clip_grad_norm_(given, self.options.max_norm)
                self.optimizer.step()
                total += loss.detach()
        # Of layers that keep averages over batches.
        self.ranks.share_(self.encoder.buffers())
        return float(self.ranks.sum_(total)) / len(batches)

    def _share(self, batch: AnchorData) -> float:
        # The share of this process in the mean that is the loss of a batch.
        name = 'members' if self.options.objective == 'role' else 'targets'
        part = self.part._asdict() if self.loader is None else batch
        return float(part.get(f'share_of_{name}', 1.0))

    def loss(self, batch: AnchorData) -> Tensor:
        r"""Computes the loss of the target hyperedges of a mini-batch, or of all
        hyperedges to learn from (:obj:`part_mask`, which are only a part of them if
        several processes train together), as a mean over members or hyperedges.

        Args:
            batch (AnchorData): The mini-batch, or the whole hypergraph.
        """
        hyperedge = batch.hyperedge_index[1]
        x: Tensor = self.table
        index = num_targets = None
        if self.loader is None:
            mask, role, index = self.part_mask, self.role, self.index
        else:
            num_targets = int(batch['num_targets'])
            x = self.table.index_select(0, batch['node_origin'])
            mask = torch.arange(batch.num_hyperedges, device=hyperedge.device)
            mask = mask < num_targets
            role = self.role.index_select(0, batch['incidence_origin'])
        row = mask[hyperedge].nonzero().view(-1)
        vector = represent(self.encoder, batch, x, row, num_targets, index)
        logit = self.head(vector)
        if self.options.objective == 'role':
            return cross_entropy(logit, role[row])
        score, y = logit.squeeze(1), batch['y'][row]
        return anchor_cross_entropy(score, y, hyperedge[row], mask) / mask.sum()

    def logits(self, row: Tensor) -> Tensor:
        r"""Computes the logits that are validated.

        Args:
            row (torch.Tensor): The incidences.

        Shapes:
            - **row:** :math:`(R)`
            - **output:** :math:`(R, C)`
        """
        self.encoder.eval()
        vector = represent(self.encoder, self.data, self.table, row, index=self.index)
        out: Tensor = self.head(vector)
        return out

    def _validate(self, mask: Tensor) -> Record:
        accuracies = self._accuracy(mask)
        # All must come to the same decision, whatever their rounding errors.
        found = self.ranks.from_first(lambda: accuracies)
        # The paper chooses the epoch by the accuracy of roles.
        accuracy = found.get('val_role_accuracy', found['val_accuracy'])
        if accuracy > self.best_accuracy:
            self.best_accuracy, self.stale = accuracy, 0
            self.best = copy.deepcopy(self._state())
        else:
            self.stale += 1
        return found

    def _accuracy(self, mask: Tensor) -> Record:
        # The accuracy of anchors, and of roles where they are learnt and known.
        row = mask[self.data.hyperedge_index[1]].nonzero().view(-1)
        with torch.no_grad():
            logit = self.logits(row)
        score = logit.new_zeros(self.data.num_incidences, dtype=torch.double)
        score[row] = log_proba(logit, self.anchor_role)
        out = {
            'val_accuracy': AnchorEvaluator().eval(score, self.data, mask)['accuracy']
        }
        role = self.role[row]
        known = role >= 0
        if self.options.objective == 'role' and known.any():
            right = (logit.argmax(dim=1) == role)[known]
            out['val_role_accuracy'] = float(right.double().mean())
        return out

    # States ##################################################################

    def _state(self) -> dict[str, Any]:
        return {
            'encoder': self.encoder.state_dict(),
            'head': self.head.state_dict(),
            'table': self.table.detach(),
        }

    def _take(self, state: dict[str, Any]) -> None:
        self.encoder.load_state_dict(state['encoder'])
        self.head.load_state_dict(state['head'])
        with torch.no_grad():
            self.table.copy_(state['table'])

    def finish(self) -> None:
        r"""Goes back to the best state, if any epoch was validated."""
        if self.best is not None:
            self._take(self.best)
        self.encoder.eval()

    def resume(self, path: str | Path | None) -> None:
        r"""Continues from a checkpoint if there is one, and keeps it up to date. Only
        the first of several processes reads and writes it.

        Args:
            path (str, optional): The file, or an existing folder.
        """
        with self.ranks.explained():
            state = self.ranks.from_first(lambda: self._open(path))
        if state is None:
            return
        self._take(state['parameters'])
        self.optimizer.load_state_dict(state['optimizer'])
        self.scheduler.load_state_dict(state['scheduler'])
        for name in ('epoch', 'stale', 'best_accuracy', 'best', 'history'):
            setattr(self, name, state[name])
        if state['anchor_role'] != self.anchor_role:
            # The same roles, learnt for another kind of anchor.
            for record in self.history:
                record.pop('val_accuracy', None)

    def _open(self, path: str | Path | None) -> dict[str, Any] | None:
        if path is None:
            return None
        name = type(self.encoder).__name__
        self.checkpoint = Checkpoint(path, name, self.identity)
        # To the CPU, since other processes have other devices.
        state = self.checkpoint.read(torch.device('cpu'))
        epoch = 0 if state is None else int(state['epoch'])
        if epoch > self.options.num_epochs:
            raise ValueError(
                f"'num_epochs' must be at least {epoch}, the number of epochs in "
                f"'{self.checkpoint.path}' (got {self.options.num_epochs})"
            )
        return state

    def _progress(self) -> dict[str, Any]:
        return {
            'epoch': self.epoch,
            'stale': self.stale,
            'best_accuracy': self.best_accuracy,
            'best': self.best,
            'anchor_role': self.anchor_role,
            'parameters': self._state(),
            'optimizer': self.optimizer.state_dict(),
            'scheduler': self.scheduler.state_dict(),
            'history': self.history,
        }

    def _agree(self, encoder: Module) -> str:
        # Makes sure that all processes train the same, and returns its identity.
        state = self.encoder.state_dict()
        if self.ranks.size > 1:
            shapes = [(name, list(value.size())) for name, value in state.items()]
            self.ranks.check_same(
                digest(self._identify(encoder, shapes), self.options.num_epochs)
            )
            # Encoders that do not reset themselves are drawn anew in every process.
            self.ranks.share_(state.values())
        return self._identify(encoder, state.values())

    def _identify(self, encoder: Module, weights: Iterable[Any]) -> str:
        # Everything that decides how training proceeds, but for the number of epochs.
        # The number of processes is left out, so that fewer can go on if one is lost.
        data = self.data
        size = int(data.num_nodes or 0), data.num_hyperedges
        return digest(
            sorted({**asdict(self.options), 'num_epochs': None}.items()),
            pack_encoder(encoder),
            hypergraph_fingerprint(data.hyperedge_index, *size),
            self.role,
            self.mask,
            self.val_mask,
            self.table,
            *weights,
            *(data.get(name) for name in asked_names(self.encoder)),
        )


class _Step(Module):
    # The loss as a module, which is what PyTorch trains in parallel.
    def __init__(self, owner: PredictorTraining) -> None:
        super().__init__()
        self.encoder, self.head = owner.encoder, owner.head
        self.table = owner.table
        # PyTorch prints a warning unless some parameter takes no part.
        self.unused = Parameter(torch.zeros(1, device=owner.table.device))
        self.loss = owner.loss

    def forward(self, batch: AnchorData) -> Tensor:
        return self.loss(batch)


def _targets(
    options: TrainingOptions, data: AnchorData, mask: Tensor
) -> tuple[Tensor, int, int]:
    # The class of each incidence, the class of anchors, and the number of outputs.
    y = data['y']
    if options.objective == 'anchor':
        return y.long(), 0, 1
    role: Tensor | None = data.get('role')
    row = mask[data.hyperedge_index[1]]
    if role is not None:
        if role.is_floating_point() or role.dim() != 1:
            raise ValueError(
                f"'role' must hold one integer per incidence (got {role.dtype} of "
                f'shape {list(role.size())})'
            )
        role = role.long()
        anchor = int(role[row & y].mode().values)
        # Roles are learnt only if the anchors are exactly the members of one role.
        if bool(((role == anchor) == y)[row].all()) and int(role[row].min()) >= 0:
            # Roles may be any numbers; one that no training hyperedge has gets a number
            # beyond the outputs, so that no prediction of it is right.
            seen = role[row].unique()
            number = torch.searchsorted(seen, role).clamp(max=seen.numel() - 1)
            count = _num_outputs(options, seen.numel())
            number = torch.where(seen[number] == role, number, count)
            number = torch.where(role >= 0, number, -1)
            return number, int(torch.searchsorted(seen, anchor)), count
    return y.long(), 1, _num_outputs(options, 2)


def _num_outputs(options: TrainingOptions, number: int) -> int:
    if options.num_roles is not None and options.num_roles < number:
        raise ValueError(
            f"'num_roles' must be at least {number}, the number of roles in the data "
            f'(got {options.num_roles})'
        )
    return options.num_roles or number


@contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    # Draws from a seed inside, and restores the generators afterwards.
    is_cuda = device.type == 'cuda'
    with torch.random.fork_rng(devices=[device] if is_cuda else []):
        torch.default_generator.manual_seed(seed)
        if is_cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield
