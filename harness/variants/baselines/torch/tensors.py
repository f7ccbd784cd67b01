"""NumPy arrays as PyTorch tensors and back, on the CPU without copies."""

from collections.abc import Iterable

import numpy as np
import torch

from harness.problem.dtypes import numpy_dtype

CPU = torch.device("cpu")


def to_tensor(array: np.ndarray, device: torch.device = CPU) -> torch.Tensor:
    """Return a tensor on a device; on the CPU it shares the array's memory.

    bfloat16 passes as its 16 bits.
    """
    array = _with_usual_strides(np.ascontiguousarray(array))
    if array.dtype == numpy_dtype("bf16"):
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).to(device)
    return torch.from_numpy(array).to(device)


def overwrite(tensors: Iterable[torch.Tensor], arrays: Iterable[np.ndarray]) -> None:
    """Copy arrays to tensors of their shapes, but where both are the same memory."""
    for tensor, array in zip(tensors, arrays, strict=True):
        source = to_tensor(array)
        if source.data_ptr() != tensor.data_ptr():
            tensor.copy_(source)


def _with_usual_strides(array: np.ndarray) -> np.ndarray:
    """Return a contiguous array with the strides that its shape gives.

    NumPy leaves those of dimensions of size 1 as they are, and PyTorch refuses negative ones.
    """
    return array.reshape(-1).reshape(array.shape)


def to_array(tensor: torch.Tensor) -> np.ndarray:
    """Return an array that shares the tensor's memory where that is contiguous and the CPU's."""
    tensor = tensor.contiguous().cpu()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(numpy_dtype("bf16"))
    return tensor.numpy()
