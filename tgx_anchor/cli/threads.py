"""Sets up threads that do not get in each other's way."""

import os


def set_wait_policy() -> None:
    r"""Lets OpenMP threads sleep while they wait, unless the user chose otherwise.

    By default, they keep a core busy while they wait. If other programs need that core,
    each of the many short operations of a training waits for threads that do not get
    to run: the command :obj:`demo` takes many times as long.

    OpenMP reads the environment once, when it is loaded: this must be called before
    PyTorch is imported.
    """
    # GNU (with PyTorch from PyPI) reads the first two, Intel the first and the last.
    if not {'OMP_WAIT_POLICY', 'GOMP_SPINCOUNT', 'KMP_BLOCKTIME'} & os.environ.keys():
        os.environ['OMP_WAIT_POLICY'] = 'passive'


def set_threads(threads: int | None) -> None:
    r"""Sets the number of threads that PyTorch uses.

    Args:
        threads (int, optional): The number of threads. If :obj:`None`, the environment
            variable :obj:`OMP_NUM_THREADS` decides; if it is not set either, one thread
            is used, which is the quickest for small tensors.
    """
    import torch

    if threads is None and 'OMP_NUM_THREADS' not in os.environ:
        threads = 1
    if threads is not None:
        torch.set_num_threads(threads)
