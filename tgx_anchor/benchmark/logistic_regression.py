"""Logistic regression, the classifier of embeddings."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

# The gain of a step, in log loss per row, below which there are no more steps.
_TOLERANCE = 1e-12
# The least curvature and the least part of a step.
_MIN_CURVATURE = 1e-9
_MIN_SIZE = 1e-6


class LogisticRegression:
    r"""Classifies rows by logistic regression with an :math:`\ell_2` penalty,

    .. math::
        \min_{\mathbf{w}, b} \; \frac{1}{2} \| \mathbf{w} \|^2 + C \sum_i \log \left( 1
        + \exp \left( - y_i \, (\mathbf{w}^{\top} \mathbf{x}_i + b) \right) \right)
        \quad \text{with} \quad y_i = \pm 1,

    by Newton's method in double precision, on the CPU. There are few columns, so that a
    step costs little more than a gradient, and a dozen steps reach the minimum however
    different the scales of the columns are.

    Args:
        penalty (float, optional): The inverse :math:`1 / C` of the weight of the data.
            (default: :obj:`1.0`)
        standardize (bool, optional): If set to :obj:`True`, columns are first shifted
            and scaled to mean 0 and standard deviation 1 over the rows that are fitted.
            (default: :obj:`False`)
        num_iterations (int, optional): The largest number of steps.
            (default: :obj:`100`)
    """

    def __init__(
        self,
        penalty: float = 1.0,
        standardize: bool = False,
        num_iterations: int = 100,
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
        # The bias is the weight of a column of ones, without a penalty.
        x = torch.cat([x, x.new_ones(x.size(0), 1)], dim=1)
        penalty = x.new_full((x.size(1),), self.penalty)
        penalty[-1] = 0.0
        sign = torch.where(y.cpu(), 1.0, -1.0).double()

        def objective(weight: Tensor) -> float:
            loss = -logsigmoid(sign * (x @ weight)).sum()
            return float(loss + (penalty * weight.square()).sum() / 2)

        weight = x.new_zeros(x.size(1))
        value = objective(weight)
        for _ in range(self.num_iterations):
            other = torch.sigmoid(-sign * (x @ weight))
            grad = penalty * weight - x.t() @ (sign * other)
            hessian = x.t() @ (x * (other * (1 - other)).unsqueeze(1))
            # If the classes are separable, the curvature of the bias vanishes.
            hessian += torch.diag(penalty.clamp(min=_MIN_CURVATURE))
            step = torch.linalg.solve(hessian, grad)
            # The gain that a quadratic form would give.
            gain = float(grad @ step) / 2
            if gain <= _TOLERANCE * max(x.size(0), 1):
                break
            size = 1.0
            while (found := objective(weight - size * step)) > value - size * gain / 2:
                size /= 2
                if size < _MIN_SIZE:
                    break
            if found >= value:
                break
            weight, value = weight - size * step, found
        self.weight, self.bias = weight[:-1], float(weight[-1])
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
