"""The declaration of a CuTe DSL kernel. The DSL itself is imported when one is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mmcore.kernel.arguments import Argument
from mmcore.kernel.configs import Config, Space
from mmcore.kernel.declaration import Kernel
from mmcore_sources.cutedsl.build import CuteBuild
from mmcore_sources.python_function import source_of


def cutedsl_kernel(
    *,
    name: str,
    function: Any,
    arguments: Sequence[Argument],
    configs: Sequence[Mapping[str, Any]] | Space,
    shared_bytes: Callable[[Config], int] | None = None,
    **further: Any,
) -> Kernel:
    """Return a kernel that CuTe DSL compiles.

    Args:
        name: as for :class:`~mmcore.Kernel`.
        function: the ``@cute.kernel`` function, or "module:function" to import it only when needed. Its parameters
            after the arguments are ``cutlass.Constexpr``, and get the config's values by name.
        arguments: as for :class:`~mmcore.Kernel`. Matrices are passed as ``cute.Pointer``, sizes as ``Int32``, and a
            :class:`~mmcore.Scalar` as its type.
        configs: as for :class:`~mmcore.Kernel`.
        shared_bytes: the bytes of a block's shared memory that the function takes from a ``SmemAllocator``, which the
            code does not record. Memory from ``cute.arch.alloc_smem`` is known.
        further: as for :class:`~mmcore.Kernel`: ``grid``, ``dtype``, ``constraints``, …
    """
    return Kernel(
        name=name,
        configs=configs,
        arguments=tuple(arguments),
        build=CuteBuild(function, tuple(arguments), shared_bytes),
        **{"source": source_of(function), **further},
    )
