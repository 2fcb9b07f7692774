"""The declaration of a Triton kernel. Triton itself is imported when one is compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmcore.kernel.arguments import Argument
from mmcore.kernel.configs import Space
from mmcore.kernel.declaration import Kernel
from mmcore_sources.python_function import source_of
from mmcore_sources.triton.build import TritonBuild

_WARP = 32


def triton_kernel(
    *,
    name: str,
    function: Any,
    arguments: Sequence[Argument | int],
    configs: Sequence[Mapping[str, Any]] | Space,
    options: Mapping[str, Any] | None = None,
    **further: Any,
) -> Kernel:
    """Return a kernel that Triton compiles.

    Args:
        name: as for :class:`~mmcore.Kernel`.
        function: the ``@triton.jit`` function, or "module:function" to import it only when needed.
        arguments: the arguments of its parameters other than ``tl.constexpr``, in order, as for
            :class:`~mmcore.Kernel`. A whole number is compiled in, such as 1 for the stride between columns.
        configs: by name, the values of its ``tl.constexpr`` parameters, ``num_warps`` (4 by default), ``num_stages``
            and other options of Triton's compiler. The thread block follows from ``num_warps``.
        options: options of Triton's compiler for every config.
        further: as for :class:`~mmcore.Kernel`: ``grid``, ``dtype``, ``constraints``, …
    """
    taken = tuple(arguments)
    return Kernel(
        name=name,
        configs=_with_block(configs),
        arguments=tuple(each for each in taken if not isinstance(each, int)),
        build=TritonBuild(function, taken, tuple((options or {}).items())),
        **{"source": source_of(function), **further},
    )


def _with_block(configs: Sequence[Mapping[str, Any]] | Space) -> Sequence[Mapping[str, Any]] | Space:
    """Return the configs with their thread block."""
    block = {"block": lambda config: (_WARP * config.num_warps,)}
    if isinstance(configs, Space):
        return replace(configs, parameters={"num_warps": (4,), **configs.parameters, **block})
    return [{**config, "num_warps": config.get("num_warps", 4), **block} for config in configs]
