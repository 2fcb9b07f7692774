"""Tensor maps, which Hopper's bulk copies take as kernel arguments."""

from __future__ import annotations

from cuda.core import Buffer as CudaBuffer
from cuda.core import TensorMapDescriptor, TensorMapDescriptorOptions
from cuda.core._tensor_map import TensorMapDataType, TensorMapSwizzle
from cuda.core.utils import StridedMemoryView
from mmcore.devices.base import MatrixMap
from mmcore.kernel.dtypes import dtype_named

_TYPES = {
    "float16": TensorMapDataType.FLOAT16,
    "bfloat16": TensorMapDataType.BFLOAT16,
    "float32": TensorMapDataType.FLOAT32,
    "float64": TensorMapDataType.FLOAT64,
}
_SWIZZLES = {
    0: TensorMapSwizzle.NONE,
    32: TensorMapSwizzle.SWIZZLE_32B,
    64: TensorMapSwizzle.SWIZZLE_64B,
    128: TensorMapSwizzle.SWIZZLE_128B,
}


def tensor_map(argument: MatrixMap) -> TensorMapDescriptor:
    """The descriptor of one matrix in device memory, rows first."""
    itemsize = dtype_named(argument.dtype).itemsize
    nbytes = ((argument.rows - 1) * argument.leading + argument.columns) * itemsize
    memory = CudaBuffer.from_handle(argument.buffer.address, nbytes, owner=argument.buffer)
    view = StridedMemoryView.from_buffer(
        memory, (argument.rows, argument.columns), (argument.leading, 1), itemsize=itemsize
    )
    options = TensorMapDescriptorOptions(
        box_dim=argument.map.box, data_type=_TYPES[argument.dtype], swizzle=_SWIZZLES[argument.map.swizzle]
    )
    return view.as_tensor_map(options=options)
