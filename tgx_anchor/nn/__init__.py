r"""Layers, functions, encoders and predictors, in one namespace as in PyG."""

from tgx_anchor.nn import conv, functional, models, predictors
from tgx_anchor.nn.conv import *  # noqa: F403
from tgx_anchor.nn.functional import *  # noqa: F403
from tgx_anchor.nn.models import *  # noqa: F403
from tgx_anchor.nn.predictors import *  # noqa: F403

__all__: list[str] = []
__all__ += conv.__all__
__all__ += functional.__all__
__all__ += models.__all__
__all__ += predictors.__all__
