"""The base class of the learners of StackedAnchorRadar."""

from abc import ABC, abstractmethod

import torch

from tgx_anchor.nn.predictors.learning_rows import LearningRows


class Learner(torch.nn.Module, ABC):
    r"""An abstract learner that scores the members of groups from their features.

    Shapes:
        - **input:** :math:`(L, F)`
        - **output:** :math:`(L, I)`, one or several scores of each row
    """

    @property
    @abstractmethod
    def in_channels(self) -> int:
        r"""The number of features; zero if there is nothing learnt."""

    @abstractmethod
    def fit(self, rows: LearningRows) -> None:
        r"""Learns from the members of known groups.

        Args:
            rows (LearningRows): The members.
        """
