"""Tensor maps, which Hopper's bulk copies take as kernel arguments."""

from __future__ import annotations

from cuda.core import Buffer as CudaBuffer
from cuda.core import TensorMapDescriptor, TensorMapDescriptorOptions
from cuda.core._tensor_map import TensorMapDataType, TensorMapSwizzle
from cuda.core.utils import StridedMemoryView

from mmcore.devices.base import MatrixMap
from mmcore.kernel.problem import dtype_named


def tensor_map(argument: MatrixMap) -> TensorMapDescriptor:
    """The descriptor of one matrix in device memory, rows first."""
    itemsize = dtype_named(argument.dtype).itemsize
    nbytes = ((argument.rows - 1) * argument.leading + argument.columns) * itemsize
    memory = CudaBuffer.from_handle(argument.buffer.address, nbytes, owner=argument.buffer)
    view = StridedMemoryView.from_buffer(
        memory, (argument.rows, argument.columns), (argument.leading, 1), itemsize=itemsize
    )
    swizzle = argument.map.swizzle
    options = TensorMapDescriptorOptions(
        box_dim=argument.map.box,
        data_type=getattr(TensorMapDataType, argument.dtype.upper()),
        swizzle=getattr(TensorMapSwizzle, f"SWIZZLE_{swizzle}B" if swizzle else "NONE"),
    )
    return view.as_tensor_map(options=options)
