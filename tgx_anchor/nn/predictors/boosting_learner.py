"""Boosted trees that learn which member of a group is its anchor."""

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from tgx_anchor.nn.predictors.learner import Learner
from tgx_anchor.nn.predictors.learning_rows import LearningRows

if TYPE_CHECKING:
    import lightgbm as lgb

_NUM_ROUNDS = 80
_MIN_ROWS_PER_LEAF = 50
_PARAMS = {
    'learning_rate': 0.05,
    'num_leaves': 15,
    'min_data_in_leaf': _MIN_ROWS_PER_LEAF,
    'min_sum_hessian_in_leaf': 0.0,
    'feature_fraction': 0.5,
    'bagging_fraction': 0.7,
    'bagging_freq': 1,
    'lambda_l2': 5.0,
    'verbose': -1,
    # The same trees on one thread and on several.
    'deterministic': True,
    'force_row_wise': True,
}
# Below this, the second derivative says that a tree may take steps of any size.
_MIN_HESSIAN = 1e-3
_CODE_BYTES = hashlib.sha256().digest_size


class BoostingLearner(Learner):
    r"""Scores incidences by boosted trees of `LightGBM
    <https://lightgbm.readthedocs.io>`_ (extra :obj:`boost`), with the cross-entropy
    within groups as their loss,

    .. math::
        \mathcal{L} = - \sum_e w_e \sum_{v \in e} t_{v;e} \log p_{v;e}, \qquad p_{v;e} =
        \frac{\exp (s_{v;e})}{\sum_{u \in e} \exp (s_{u;e})},

    for which a tree is fitted to the gradients :math:`w_e (p_{v;e} - t_{v;e})`
    (:func:`group_gradient`). Unlike the losses for rankings of LightGBM, it takes the
    shares :math:`t_{v;e}` of several copies with different anchors. If there are too
    few rows for a tree, or no column tells them apart, all scores are equal.

    Args:
        seed (int, optional): The seed of the draws of rows and columns.
            (default: :obj:`0`)

    Shapes:
        - **input:** :math:`(L, F)`
        - **output:** :math:`(L, 1)`
    """

    text: Tensor

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.seed = seed
        #: The SHA-256 hash of the trees, and the trees in the text format of LightGBM.
        self.register_buffer('text', torch.empty(0, dtype=torch.uint8))
        self._trees: lgb.Booster | None = None

    @property
    def in_channels(self) -> int:
        r"""The number of features; zero without trees."""
        trees = self.trees()
        return 0 if trees is None else int(trees.num_feature())

    def fit(self, rows: LearningRows) -> None:
        r"""Fits the trees.

        Args:
            rows (LearningRows): The members of known groups.
        """
        lightgbm = import_lightgbm()
        device = rows.feature.device
        self._trees, self.text = None, torch.empty(0, dtype=torch.uint8, device=device)
        if rows.feature.size(0) < 4 * _MIN_ROWS_PER_LEAF:
            return
        feature = rows.feature.cpu().numpy()
        group, target = rows.group.cpu().numpy(), rows.target.double().cpu().numpy()
        weight = rows.weight.double().cpu().numpy()
        params = {
            **_PARAMS,
            'seed': self.seed,
            'num_threads': torch.get_num_threads(),
        }
        # The loss is our own: LightGBM needs labels, and does not read them.
        table = lightgbm.Dataset(feature, np.zeros(group.size), params=params)
        table.construct()
        # LightGBM has no bins for columns that no tree can split.
        if all(table.feature_num_bin(i) == 0 for i in range(feature.shape[1])):
            return

        def gradient(score: Any, _: Any) -> tuple[Any, Any]:
            return group_gradient(score, group, target, weight)

        self._trees = lightgbm.train(
            {**params, 'objective': gradient}, table, _NUM_ROUNDS
        )
        text = self._trees.model_to_string().encode()
        content = bytearray(hashlib.sha256(text).digest() + text)
        self.text = torch.frombuffer(content, dtype=torch.uint8).to(device)

    def trees(self) -> 'lgb.Booster | None':
        r"""Returns the trees; :obj:`None` if there are none."""
        if self._trees is None and self.text.numel() > 0:
            lightgbm = import_lightgbm()
            content = self.text.cpu().numpy().tobytes()
            code, text = content[:_CODE_BYTES], content[_CODE_BYTES:]
            # LightGBM ends the whole process on most damaged texts.
            if hashlib.sha256(text).digest() != code:
                raise ValueError("'text' must hold trees that 'fit' wrote")
            try:
                self._trees = lightgbm.Booster(model_str=text.decode())
            except (UnicodeDecodeError, lightgbm.basic.LightGBMError):
                raise ValueError("'text' must hold trees of LightGBM") from None
        return self._trees

    def forward(self, feature: Tensor) -> Tensor:
        r"""Runs the forward pass.

        Args:
            feature (torch.Tensor): The features.

        Shapes:
            - **feature:** :math:`(L, F)`
        """
        trees = self.trees()
        if trees is None or feature.size(0) == 0:
            return feature.new_zeros((feature.size(0), 1))
        score = trees.predict(
            feature.cpu().numpy(), raw_score=True, num_threads=torch.get_num_threads()
        )
        out = torch.from_numpy(np.asarray(score, np.float64)).unsqueeze(1)
        return out.to(feature.device)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        text = state_dict.get(f'{prefix}text')
        if isinstance(text, Tensor):
            self.text = torch.empty_like(text, device=self.text.device)
            self._trees = None
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        # Copies and pickles read the text again.
        return {**self.__dict__, '_trees': None}

    def __repr__(self) -> str:
        trees = self.trees()
        count = 0 if trees is None else trees.num_trees()
        return f'{self.__class__.__name__}({count} trees)'


def group_gradient(score: Any, group: Any, target: Any, weight: Any) -> tuple[Any, Any]:
    r"""Computes the first and second derivatives of the cross-entropy within groups
    with respect to the score of each row. The second are doubled, as is usual for
    several classes, since a tree changes all scores of a group at once.

    Args:
        score (numpy.ndarray): The scores.
        group (numpy.ndarray): The sorted group of each row.
        target (numpy.ndarray): The shares of the rows.
        weight (numpy.ndarray): The weight of each group.

    Shapes:
        - **score, group, target:** :math:`(L)`
        - **weight:** :math:`(G)`
        - **output:** :math:`(L)` and :math:`(L)`
    """
    count = weight.size
    top = np.maximum.reduceat(score, np.searchsorted(group, np.arange(count)))
    proba = np.exp(score - top[group])
    proba /= np.bincount(group, proba, count)[group]
    hessian = np.maximum(proba * (1 - proba), _MIN_HESSIAN)
    return weight[group] * (proba - target), 2 * weight[group] * hessian


def import_lightgbm() -> Any:
    r"""Imports LightGBM, or raises a :class:`ValueError` that names the extra."""
    try:
        import lightgbm
    except ImportError:
        raise ValueError(
            "'learner' must be 'mlp', or LightGBM must be installed: "
            "pip install 'tgx_anchor[boost]'"
        ) from None
    return lightgbm
