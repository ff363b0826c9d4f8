"""The one training loop of all encoders."""

import copy
import hashlib
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import Linear, Parameter
from torch.nn.functional import cross_entropy

from tgx_anchor.data import AnchorData
from tgx_anchor.io.files import replace_file
from tgx_anchor.loader import HyperedgeLoader
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn.functional import anchor_cross_entropy
from tgx_anchor.nn.predictors.anchor_model import (
    fingerprint,
    known_hyperedges,
    one_line,
    training_mask,
)
from tgx_anchor.nn.predictors.represent import (
    asked_names,
    log_proba,
    node_features,
    represent,
)

if TYPE_CHECKING:
    from tgx_anchor.nn.predictors.anchor_predictor import AnchorPredictor

# What an encoder asks for without its being an attribute.
_GIVEN = ('num_nodes', 'num_hyperedges', 'num_targets')
_FORMAT = 'tgx_anchor checkpoint 1'
# Steps of a linear congruence keep the seeds of epochs of different models apart.
_SEED_STEP = 1_000_003


class PredictorTraining:
    r"""The training of an :class:`~tgx_anchor.nn.AnchorPredictor`, epoch by epoch.

    Every epoch draws from generators of its own, so that a run that was interrupted and
    goes on from a checkpoint ends bit for bit where an uninterrupted one does.

    Args:
        model (AnchorPredictor): The model, which stays as it is until :meth:`finish`.
        data (AnchorData): The hypergraph.
        checkpoint (str, optional): A file that takes the state of training.
            (default: :obj:`None`)
    """

    def __init__(
        self,
        model: 'AnchorPredictor',
        data: AnchorData,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.model = model
        self.data = data
        self.mask = training_mask(data)
        self.val_mask = None
        if data.get('val_mask') is not None:
            judged = known_hyperedges(data, 'val_mask')
            self.val_mask = judged if judged.any() else None
        feature = node_features(data)
        self.role, self.anchor_role, num_outputs = _targets(model, data, self.mask)
        with _seeded(model.seed, data.hyperedge_index.device):
            self.encoder = copy.deepcopy(model.encoder).to(feature.device)
            reset = getattr(self.encoder, 'reset_parameters', None)
            if reset is not None:
                reset()
            self.table = Parameter(feature.clone())
            size = self._width()
            self.head = Linear(size, num_outputs).to(feature.device)
        self._identity = self._identify()
        self.generator = torch.Generator()
        self.loader = self._new_loader()
        self.optimizer = torch.optim.Adam(
            self._parameter_groups(), lr=model.lr, eps=model.eps, fused=True
        )
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(
            self.optimizer, model.gamma
        )
        self.epoch = 0
        self.stale = 0
        self.best_accuracy = -1.0
        self.best: dict[str, Any] | None = None
        self.history: list[dict[str, float]] = []
        self.path: Path | None = None
        if checkpoint is not None:
            self.keep(checkpoint)

    def _width(self) -> int:
        # What the encoder returns, tried on a single hyperedge.
        first = torch.zeros_like(self.mask)
        first[self.mask.nonzero()[0]] = True
        tiny = self.data.hyperedge_subgraph(first)
        encoder = copy.deepcopy(self.encoder).eval()
        with torch.no_grad():
            return represent(encoder, tiny, node_features(tiny)).size(1)

    def _new_loader(self) -> HyperedgeLoader | None:
        model = self.model
        if model.batch_size is None:
            return None
        depth = getattr(self.encoder, 'num_layers', None)
        depth = getattr(self.encoder, 'num_hops', depth)
        if not isinstance(depth, int):
            raise ValueError(
                "'batch_size' must be None for an encoder that does not tell its "
                f"'num_layers' (got {model.batch_size})"
            )
        return HyperedgeLoader(
            self._slim_data(),
            num_neighbors=[model.num_neighbors] * depth,
            input_hyperedges=self.mask,
            batch_size=model.batch_size,
            shuffle=True,
            generator=self.generator,
        )

    def _slim_data(self) -> AnchorData:
        # Batches take time to cut: no attributes but those that are looked at.
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
        decay = self.model.weight_decay
        groups = getattr(self.encoder, 'parameter_groups', None)
        own = groups() if groups else [{'params': list(self.encoder.parameters())}]
        return [
            *({'weight_decay': decay, **group} for group in own if group['params']),
            {'params': [self.table], 'weight_decay': decay},
            {'params': list(self.head.parameters()), 'weight_decay': decay},
        ]

    # The loop ################################################################

    def run(self) -> Iterator[dict[str, float]]:
        r"""Trains, and gives a record of each epoch."""
        model = self.model
        while self.epoch < model.num_epochs and self.stale < model.patience:
            start = time.perf_counter()
            loss = self._train_epoch()
            if not math.isfinite(loss):
                raise ValueError(
                    f"'lr' must be so small that training does not diverge "
                    f'(got {model.lr}, and a loss of {loss} in epoch {self.epoch + 1})'
                )
            self.scheduler.step()
            self.epoch += 1
            record = {'epoch': float(self.epoch), 'loss': loss}
            is_last = self.epoch == model.num_epochs
            is_due = self.epoch % model.eval_every == 0
            if (is_last or is_due) and self.val_mask is not None:
                record['val_accuracy'] = self._look(self.val_mask)
            record['seconds'] = time.perf_counter() - start
            self.history.append(record)
            # A look that is not due must not be seen by a longer training.
            if is_due and self.path is not None:
                self._write(self.path)
            yield record

    def _train_epoch(self) -> float:
        self.encoder.train()
        seed = ((self.model.seed + 1) * _SEED_STEP + self.epoch) % 2**63
        self.generator.manual_seed(seed)
        total = torch.zeros((), device=self.table.device)
        with _seeded(seed, self.table.device):
            batches = [self.data] if self.loader is None else self.loader
            for batch in batches:
                self.optimizer.zero_grad()
                loss = self._loss(batch)
                loss.backward()
                if self.model.max_norm is not None:
                    for part in (self.table, self.encoder, self.head):
                        given = part if isinstance(part, Tensor) else part.parameters()
                        torch.nn.utils.clip_grad_norm_(given, self.model.max_norm)
                self.optimizer.step()
                total += loss.detach()
        return float(total) / len(batches)

    def _loss(self, batch: AnchorData) -> Tensor:
        # Over the targets of a mini-batch, or over the known ones of the whole.
        hyperedge = batch.hyperedge_index[1]
        x: Tensor = self.table
        num_targets = None
        if self.loader is None:
            mask, role = self.mask, self.role
        else:
            num_targets = int(batch['num_targets'])
            x = self.table.index_select(0, batch['node_origin'])
            mask = torch.arange(batch.num_hyperedges, device=hyperedge.device)
            mask = mask < num_targets
            role = self.role.index_select(0, batch['incidence_origin'])
        row = mask[hyperedge].nonzero().view(-1)
        logit = self.head(represent(self.encoder, batch, x, row, num_targets))
        if self.model.objective == 'role':
            return cross_entropy(logit, role[row])
        score, y = logit.squeeze(1), batch['y'][row]
        return anchor_cross_entropy(score, y, hyperedge[row], mask) / mask.sum()

    def _look(self, mask: Tensor) -> float:
        accuracy = self._accuracy(mask)
        if accuracy > self.best_accuracy:
            self.best_accuracy, self.stale = accuracy, 0
            self.best = copy.deepcopy(self._state())
        else:
            self.stale += 1
        return accuracy

    def _accuracy(self, mask: Tensor) -> float:
        # On hyperedges of a mask, of roles or of anchors.
        row = mask[self.data.hyperedge_index[1]].nonzero().view(-1)
        with torch.no_grad():
            logit = self._logit(row)
        role = self.role[row]
        known = role >= 0
        if self.model.objective == 'role' and known.any():
            return float((logit.argmax(dim=1) == role)[known].double().mean())
        # Where nobody's role is known, the anchors are.
        score = logit.new_zeros(self.data.num_incidences, dtype=torch.double)
        score[row] = log_proba(logit, self.anchor_role)
        return AnchorEvaluator().eval(score, self.data, mask)['accuracy']

    def _logit(self, row: Tensor) -> Tensor:
        self.encoder.eval()
        out: Tensor = self.head(represent(self.encoder, self.data, self.table, row))
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
        r"""Gives the model the best state, or the last where none was judged."""
        if self.best is not None:
            self._take(self.best)
        model = self.model
        model.encoder, model.head, model.table = self.encoder, self.head, self.table
        model.fitted_on = fingerprint(self.data)
        model.anchor_role = torch.tensor(self.anchor_role, device=self.table.device)
        model.history = self.history
        model.eval()

    def keep(self, path: str | Path) -> None:
        r"""Keeps the state of training in a file from now on, and goes on from what is
        there already.

        Args:
            path (str): The file.
        """
        self.path = Path(path)
        if not self.path.absolute().parent.is_dir():
            raise ValueError(f"'{path}' must lie in a folder that exists (got none)")
        if self.path.exists():
            self._resume(self.path)

    def identity(self) -> str:
        r"""Stands for all that decides how training goes, but the number of epochs."""
        return self._identity

    def _identify(self) -> str:
        params = {**self.model._packed_params(), 'num_epochs': None}
        code = hashlib.sha256(repr(sorted(params.items())).encode())
        values = [
            fingerprint(self.data),
            self.role,
            self.mask,
            self.val_mask,
            self.table,
            *self.encoder.state_dict().values(),
            *(self.data.get(name) for name in asked_names(self.encoder)),
        ]
        for value in values:
            if isinstance(value, Tensor):
                raw = value.detach().cpu().contiguous().flatten()
                code.update(f'{list(value.size())}{value.dtype}'.encode())
                code.update(raw.view(torch.uint8).numpy().data)
        return code.hexdigest()

    def _write(self, path: Path) -> None:
        content = {
            'format': _FORMAT,
            'identity': self.identity(),
            'epoch': self.epoch,
            'stale': self.stale,
            'best_accuracy': self.best_accuracy,
            'best': self.best,
            'state': self._state(),
            'optimizer': self.optimizer.state_dict(),
            'scheduler': self.scheduler.state_dict(),
            'history': self.history,
        }
        with replace_file(path) as part:
            torch.save(content, part)

    def _resume(self, path: Path) -> None:
        try:
            content = torch.load(
                path, map_location=self.table.device, weights_only=True
            )
            found = content['format'], content['identity']
            epoch = int(content['epoch'])
            fits = found == (_FORMAT, self.identity())
            if fits and epoch <= self.model.num_epochs:
                self._take(content['state'])
                self.optimizer.load_state_dict(content['optimizer'])
                self.scheduler.load_state_dict(content['scheduler'])
                for name in ('epoch', 'stale', 'best_accuracy', 'best', 'history'):
                    setattr(self, name, content[name])
                return
        except Exception as error:
            # A damaged file fails in any way: as a key, an index, a struct.
            raise ValueError(
                f"'{path}' must be a checkpoint, remove it to begin anew "
                f'(got: {one_line(error)})'
            ) from None
        if fits:
            raise ValueError(
                f"'num_epochs' must be at least {epoch}, which '{path}' has behind it "
                f'(got {self.model.num_epochs})'
            )
        raise ValueError(
            f"'{path}' must be a checkpoint of the same model on the same data "
            f'(got another)'
        )


def _targets(
    model: 'AnchorPredictor', data: AnchorData, mask: Tensor
) -> tuple[Tensor, int, int]:
    # The class of each incidence, the class of anchors, and the number of outputs.
    y = data['y']
    if model.objective == 'anchor':
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
        # Roles that do not tell the anchor, as with two kinds of them, are no use.
        if bool(((role == anchor) == y)[row].all()) and int(role[row].min()) >= 0:
            # Roles may be any numbers; those that are not learnt are never right.
            seen = role[row].unique()
            number = torch.searchsorted(seen, role).clamp(max=seen.numel() - 1)
            count = _num_outputs(model, seen.numel())
            number = torch.where(seen[number] == role, number, count)
            number = torch.where(role >= 0, number, -1)
            return number, int(torch.searchsorted(seen, anchor)), count
    return y.long(), 1, _num_outputs(model, 2)


def _num_outputs(model: 'AnchorPredictor', number: int) -> int:
    if model.num_roles is not None and model.num_roles < number:
        raise ValueError(
            f"'num_roles' must be at least {number}, the number of roles in the data "
            f'(got {model.num_roles})'
        )
    return model.num_roles or number


@contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    # Draws from a seed inside, and leaves no trace outside.
    is_cuda = device.type == 'cuda'
    with torch.random.fork_rng(devices=[device] if is_cuda else []):
        torch.default_generator.manual_seed(seed)
        if is_cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield
