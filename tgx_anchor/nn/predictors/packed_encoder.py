"""Encoders of this package as plain values, for files that hold no code."""

import inspect
from typing import Any

from torch.nn import Module

from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder

# Arguments that count parts, each of which has parameters.
_REPEATED = ('num_layers', 'num_blocks', 'num_isabs')


def encoder_class(name: str) -> type[HypergraphEncoder] | None:
    r"""Finds an encoder of this package by the name of its class.

    Args:
        name (str): The name.
    """
    # Here, so that the predictor of any encoder does not depend on all of ours.
    import tgx_anchor.nn.models as models

    found = getattr(models, name, None) if name in models.__all__ else None
    is_encoder = isinstance(found, type) and issubclass(found, HypergraphEncoder)
    return found if is_encoder else None


def pack_encoder(encoder: Module) -> dict[str, Any]:
    r"""Describes an encoder by its name, and by the arguments of its constructor if it
    is of this package.

    Args:
        encoder (torch.nn.Module): The encoder.
    """
    name = type(encoder).__name__
    params: dict[str, Any] = {}
    if type(encoder) is encoder_class(name):
        names = list(inspect.signature(type(encoder).__init__).parameters)[1:]
        params = {name: getattr(encoder, name) for name in names}
    return {'name': name, 'params': params}


def unpack_encoder(packed: dict[str, Any], num_tensors: int | None = None) -> Module:
    r"""Makes an encoder from the result of :func:`pack_encoder`.

    Args:
        packed (dict): The name and the arguments.
        num_tensors (int, optional): If given, the number of tensors in its state, which
            has at least one for each layer. (default: :obj:`None`)
    """
    for name in _REPEATED:
        count = packed['params'].get(name, 0)
        if num_tensors is not None and count > num_tensors:
            raise ValueError(
                f"'{name}' must be the number that the file holds (got {count})"
            )
    found = encoder_class(packed['name'])
    if found is None:
        raise ValueError(
            f'the encoder {packed["name"]!r} is not of this package: pass one like it '
            "with 'load(path, encoder=...)'"
        )
    return found(**packed['params'])
