r"""Reasons of predictions, in numbers and in words."""

from tgx_anchor.explain.candidate import Candidate
from tgx_anchor.explain.explainer import Explainer, explain
from tgx_anchor.explain.explanation import Explanation
from tgx_anchor.explain.reason import Reason

__all__ = ['Candidate', 'Explainer', 'Explanation', 'Reason', 'explain']
