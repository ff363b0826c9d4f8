"""Model files: a checksum, a description as JSON and tensors as plain bytes."""

import hashlib
import json
import math
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tgx_anchor.io.files import replace_file
from tgx_anchor.utils.messages import one_line, shorten

_MAGIC = b'tgx_anchor model'
_VERSION = 1
# The magic bytes, the version, the length of the rest and its SHA-256 hash. The rest
# begins with the length of the description.
_HEADER = struct.Struct('<16sIQ32s')
_LENGTH = struct.Struct('<Q')
# Tensors begin at multiples of this.
_ALIGNMENT = 64
_DTYPES = {
    str(dtype).removeprefix('torch.'): dtype
    for dtype in (
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
    )
}


@dataclass(frozen=True)
class ModelContent:
    r"""The content of a model file.

    Args:
        name (str): The name of the class.
        params (dict): The arguments of the constructor, as values of JSON.
        state (dict[str, torch.Tensor]): The state of the module.
    """

    name: str
    params: dict[str, Any]
    state: dict[str, Tensor]


def write_model(path: str | Path, content: ModelContent) -> None:
    r"""Writes a model file, which replaces an older one once it is complete.

    Args:
        path (str): The file.
        content (ModelContent): The content.
    """
    path = Path(path)
    if not path.absolute().parent.is_dir():
        raise ValueError(f"'{path}' must lie in a folder that exists: create it first")
    tensors = {key: _plain(key, value) for key, value in content.state.items()}
    entries, end = [], 0
    for key, value in tensors.items():
        begin = -(-end // _ALIGNMENT) * _ALIGNMENT
        end = begin + value.numel() * value.element_size()
        dtype = str(value.dtype).removeprefix('torch.')
        entries.append([key, dtype, list(value.size()), begin])
    head = {'model': content.name, 'params': content.params, 'state': entries}
    try:
        description = json.dumps(head).encode()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f'the arguments of {content.name!r} must be numbers, texts and lists to be '
            f'saved (got: {one_line(error)})'
        ) from None
    # Spaces at its end bring the first tensor to a multiple of the alignment.
    begin = _HEADER.size + _LENGTH.size + len(description)
    description += b' ' * (-begin % _ALIGNMENT)
    code = hashlib.sha256()
    with replace_file(path) as part, part.open('wb') as file:
        file.write(bytes(_HEADER.size))
        length = 0
        for piece in _pieces(description, tensors):
            code.update(piece)
            length += file.write(piece)
        file.seek(0)
        file.write(_HEADER.pack(_MAGIC, _VERSION, length, code.digest()))


def _plain(key: str, value: Any) -> Tensor:
    name = str(getattr(value, 'dtype', type(value))).removeprefix('torch.')
    if (
        not isinstance(value, Tensor)
        or value.layout != torch.strided
        or name not in _DTYPES
    ):
        raise ValueError(f'{key!r} cannot be saved (got {shorten(value)})')
    return value.detach().cpu().contiguous()


def _pieces(
    description: bytes, tensors: Mapping[str, Tensor]
) -> Iterator[bytes | memoryview]:
    yield _LENGTH.pack(len(description))
    yield description
    for value in tensors.values():
        if value.numel() > 0:
            raw = value.flatten().view(torch.uint8).numpy().data
            yield raw
            yield bytes(-raw.nbytes % _ALIGNMENT)


def read_model(path: str | Path) -> ModelContent:
    r"""Reads a model file. Nothing larger than the file is allocated, and no code in it
    is run.

    Args:
        path (str): The file.
    """
    content = _checked_bytes(Path(path))
    try:
        return _parse(content)
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError):
        # Its checksum is right: this is no accident.
        raise ValueError(
            f"'{path}' is not a model that 'save' wrote: its description does not fit "
            f'its content'
        ) from None


def _checked_bytes(path: Path) -> memoryview:
    with path.open('rb') as file:
        head = file.read(_HEADER.size)
        size = os.fstat(file.fileno()).st_size - _HEADER.size
        if not head or head[: len(_MAGIC)] != _MAGIC[: len(head)]:
            raise ValueError(
                f"'{path}' is not a saved model of tgx_anchor: choose a file that "
                f"'save' wrote"
            )
        if size < 0:
            raise ValueError(
                f"'{path}' is not complete: only {len(head)} bytes of a saved model "
                f'are left'
            )
        _, version, length, code = _HEADER.unpack(head)
        if version > _VERSION:
            raise ValueError(
                f"'{path}' was written by a newer version of tgx_anchor (format "
                f'{version}, this one reads {_VERSION}): update the package'
            )
        if version < _VERSION:
            raise ValueError(f"'{path}' is damaged: there is no format {version}")
        if size != length:
            state = 'not complete' if size < length else 'damaged'
            raise ValueError(
                f"'{path}' is {state}: {length} bytes must follow its header "
                f'(got {size})'
            )
        content = bytearray(size)
        file.readinto(content)
    if hashlib.sha256(content).digest() != code:
        raise ValueError(f"'{path}' is damaged: its checksum is wrong")
    return memoryview(content)


def _parse(content: memoryview) -> ModelContent:
    (length,) = _LENGTH.unpack(content[: _LENGTH.size])
    begin = _LENGTH.size + length
    head = json.loads(bytes(content[_LENGTH.size : begin]))
    state, last = {}, 0
    for key, dtype, size, offset in head['state']:
        count = math.prod(size)
        start, end = offset, offset + count * _DTYPES[dtype].itemsize
        # Tensors that overlap would take more memory than the file.
        if min(size, default=0) < 0 or start < last or begin + end > len(content):
            raise ValueError
        last = end
        value = torch.empty(0, dtype=_DTYPES[dtype])
        if count > 0:
            value = torch.frombuffer(
                content, dtype=_DTYPES[dtype], count=count, offset=begin + start
            ).clone()
        state[str(key)] = value.view(size)
    name, params = head['model'], head['params']
    if not isinstance(name, str) or not isinstance(params, dict):
        raise TypeError
    return ModelContent(name, params, state)
