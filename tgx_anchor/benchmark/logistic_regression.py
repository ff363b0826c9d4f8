"""Logistic regression, the classifier of embeddings."""

from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor


class LogisticRegression:
    r"""Classifies rows by logistic regression with an :math:`\ell_2` penalty,

    .. math::
        \min_{\mathbf{w}, b} \; \frac{1}{2} \| \mathbf{w} \|^2 + C \sum_i \log \left( 1
        + \exp \left( - y_i \, (\mathbf{w}^{\top} \mathbf{x}_i + b) \right) \right)
        \quad \text{with} \quad y_i = \pm 1,

    by L-BFGS in double precision, on the CPU.

    Args:
        penalty (float, optional): The inverse :math:`1 / C` of the weight of the data.
            (default: :obj:`1.0`)
        standardize (bool, optional): If set to :obj:`True`, columns are first shifted
            and scaled to mean 0 and standard deviation 1 over the rows that are fitted.
            (default: :obj:`False`)
        num_iterations (int, optional): The largest number of iterations.
            (default: :obj:`1000`)
    """

    def __init__(
        self,
        penalty: float = 1.0,
        standardize: bool = False,
        num_iterations: int = 1000,
    ) -> None:
        if penalty < 0:
            raise ValueError(f"'penalty' must not be negative (got {penalty})")
        self.penalty = penalty
        self.standardize = standardize
        self.num_iterations = num_iterations
        self.shift = self.scale = self.weight = torch.empty(0, dtype=torch.double)
        self.bias = 0.0

    def fit(self, x: Tensor, y: Tensor) -> 'LogisticRegression':
        r"""Learns weights and bias.

        Args:
            x (torch.Tensor): The features of rows.
            y (torch.Tensor): Whether each row is of the second class.

        Shapes:
            - **x:** :math:`(n, F)`
            - **y:** :math:`(n)`, booleans
        """
        x = x.detach().cpu().double()
        self.shift, self.scale = x.new_zeros(x.size(1)), x.new_ones(x.size(1))
        if self.standardize:
            self.shift, std = x.mean(dim=0), x.std(dim=0, correction=0)
            # A constant column tells nothing, and its rounding errors even less.
            self.scale = torch.where(std > 1e-12 * self.shift.abs(), std, torch.inf)
            x = (x - self.shift) / self.scale
        sign = torch.where(y.cpu(), 1.0, -1.0).double()
        scale = 1.0 / max(x.size(0), 1)

        def objective(point: Any) -> tuple[float, Any]:
            weight, bias = torch.from_numpy(point[:-1]), point[-1]
            margin = sign * (x @ weight + bias)
            loss = -torch.nn.functional.logsigmoid(margin).sum()
            loss = loss + self.penalty * weight.square().sum() / 2
            slope = -sign * torch.sigmoid(-margin)
            grad = x.t() @ slope + self.penalty * weight
            grad = torch.cat([grad, slope.sum().view(1)])
            # A mean over rows, so that the tolerances do not depend on their number.
            return float(loss) * scale, grad.numpy() * scale

        start = np.zeros(x.size(1) + 1)
        options: Any = {'maxiter': self.num_iterations, 'gtol': 1e-6, 'ftol': 1e-12}
        found = minimize(objective, start, jac=True, method='L-BFGS-B', options=options)
        self.weight, self.bias = torch.from_numpy(found.x[:-1]), float(found.x[-1])
        return self

    def logit(self, x: Tensor) -> Tensor:
        r"""Computes the log-odds of the second class.

        Args:
            x (torch.Tensor): The features of rows.

        Shapes:
            - **x:** :math:`(n, F)`
            - **output:** :math:`(n)`, in double precision
        """
        x = (x.detach().cpu().double() - self.shift) / self.scale
        return x @ self.weight + self.bias
