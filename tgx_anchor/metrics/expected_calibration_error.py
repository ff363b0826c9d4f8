"""Distance between stated probabilities and accuracy."""

from torch import Tensor

from tgx_anchor.metrics.calibration_bins import calibration_bins


def expected_calibration_error(
    probability: Tensor, correct: Tensor, num_bins: int = 15
) -> float:
    r"""Computes the expected calibration error of predictions from the `"Obtaining
    Well Calibrated Probabilities Using Bayesian Binning"
    <https://ojs.aaai.org/index.php/AAAI/article/view/9602>`_ paper, with bins of equal
    count

    .. math::
        \mathrm{ECE} = \sum_{b=1}^{B} \frac{n_b}{n} \left| \mathrm{acc}_b -
        \mathrm{prob}_b \right|,

    where :math:`n_b`, :math:`\mathrm{acc}_b` and :math:`\mathrm{prob}_b` are the number
    of predictions in bin :math:`b`, the share of right ones and their mean probability.

    Args:
        probability (torch.Tensor): The probability given to each prediction.
        correct (torch.Tensor): Whether each prediction is right.
        num_bins (int, optional): The number of bins :math:`B`. (default: :obj:`15`)

    Shapes:
        - **probability, correct:** :math:`(n)`
    """
    bins = calibration_bins(probability, correct, num_bins)
    gap = (bins.accuracy - bins.probability).abs()
    return float((gap * bins.size).sum() / bins.size.sum())
