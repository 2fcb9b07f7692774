"""The declaration of a Triton kernel. Triton itself is imported when one is compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mmcore.kernel.arguments import Argument
from mmcore.kernel.configs import Space
from mmcore.kernel.declaration import Kernel
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
    """A kernel that Triton compiles.

    Args:
        name: as for :class:`~mmcore.Kernel`.
        function: the ``@triton.jit`` function, or "module:function" where it is not to be imported before it is needed.
        arguments: what its parameters get that are no ``tl.constexpr``, in order, as for :class:`~mmcore.Kernel`; a
            whole number is compiled into the code, as 1 for the stride from one column to the next.
        configs: by name, the values of its ``tl.constexpr`` parameters, ``num_warps`` (4 by default), ``num_stages``
            and what else Triton's compiler takes. The thread block follows from ``num_warps``.
        options: what Triton's compiler takes in every config.
        further: as for :class:`~mmcore.Kernel`: ``grid``, ``dtype``, ``constraints``, …
    """
    taken = tuple(arguments)
    return Kernel(
        name=name,
        configs=_with_block(configs),
        arguments=tuple(each for each in taken if not isinstance(each, int)),
        build=TritonBuild(function, taken, tuple((options or {}).items())),
        **{"source": _source(function), **further},
    )


def _with_block(configs: Sequence[Mapping[str, Any]] | Space) -> Sequence[Mapping[str, Any]] | Space:
    """The configs with their thread block."""
    block = {"block": lambda config: (_WARP * config.num_warps,)}
    if isinstance(configs, Space):
        return replace(configs, parameters={"num_warps": (4,), **configs.parameters, **block})
    return [{**config, "num_warps": config.get("num_warps", 4), **block} for config in configs]


def _source(function: Any) -> Path:
    """The file of the function, which is not imported for it."""
    if isinstance(function, str):
        found = find_spec(function.partition(":")[0])
        return Path(found.origin) if found and found.origin else Path()
    import inspect  # listing kernels shall not wait for it

    return Path(inspect.getsourcefile(getattr(function, "fn", function)) or "")
