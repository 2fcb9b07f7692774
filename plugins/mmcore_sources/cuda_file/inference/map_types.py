"""The element types with which host code encodes tensor maps, where they are not those of the matrices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mmcore.kernel.arguments import TensorMap
from mmcore.kernel.problem import DType, dtype_named
from mmcore_sources.cuda_file.inference.encoded_maps import MAP_TYPE, Encoded
from mmcore_sources.cuda_file.inference.roles import ELEMENTS, Roles
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel

_KINDS = {name: name.upper() for name in ("float16", "bfloat16", "float32", "float64", "int32")} | {"tf32": "FLOAT32"}
_OF_SIZE = {1: "uint8", 2: "float16", 4: "float32", 8: "float64"}


def element_of(matrix: str, types: Mapping[str, Any]) -> DType:
    """Return the element type of a matrix."""
    return dtype_named(types["output" if matrix == "C" else "dtype"])


def unit_of(encoded: Encoded, element: DType) -> DType:
    """Return the element type of a map if it has another size than a matrix's elements, whose type it is else."""
    bits = re.search(r"\d+", encoded.kind)
    size = int(bits[0]) // 8 if bits is not None else element.itemsize
    return element if size == element.itemsize else dtype_named(_OF_SIZE[size])


def map_type(element: DType) -> str:
    """Return the driver's name of an element type."""
    return MAP_TYPE + _KINDS.get(element.name, f"UINT{8 * element.itemsize}")


def other_size(encoded: Encoded, matrix: str, element: DType) -> str:
    """Return how a map's elements differ from a matrix's in size."""
    return (
        f"the tensor map of {matrix} has elements of {MAP_TYPE}{encoded.kind}, and {matrix} has {element.name}: "
        f"{8 * unit_of(encoded, element).itemsize} bits, not {8 * element.itemsize}"
    )


def other_types(kernel: SourceKernel, roles: Roles, types: Mapping[str, Any]) -> Iterator[str]:
    """Yield a warning for each line that encodes maps of another type than the matrices' elements, of the same size."""
    matrices: dict[tuple[str, str, DType], str] = {}
    for argument, parameter in zip(roles.arguments, kernel.function.parameters, strict=True):
        found = kernel.maps.get(parameter.name)
        if isinstance(argument, TensorMap) and found is not None and found.line and found.type in ELEMENTS:
            element = element_of(argument.matrix, types)
            encoded = map_type(dtype_named(ELEMENTS[found.type]))
            if unit_of(found, element) == element and encoded != map_type(element):
                key = found.place, found.kind, element
                matrices[key] = f"{matrices[key]} and {argument.matrix}" if key in matrices else argument.matrix
    for (place, kind, element), names in matrices.items():
        encodes = (
            f"{place} encodes the tensor map of {names} with {MAP_TYPE}{kind}, and the elements are {element.name}"
        )
        yield f"{encodes}: loads copy the bits unchanged, but {map_type(element)} is meant"
