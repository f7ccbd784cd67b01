"""NumPy arrays as PyTorch tensors and back, without copies."""

import numpy as np
import torch

from harness.dtypes import numpy_dtype


def to_tensor(array: np.ndarray) -> torch.Tensor:
    """Return a tensor that shares the array's memory; bfloat16 passes as its 16 bits."""
    array = np.ascontiguousarray(array)
    if array.dtype == numpy_dtype("bf16"):
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def to_array(tensor: torch.Tensor) -> np.ndarray:
    """Return an array that shares the tensor's memory where that is contiguous."""
    tensor = tensor.contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(numpy_dtype("bf16"))
    return tensor.numpy()
