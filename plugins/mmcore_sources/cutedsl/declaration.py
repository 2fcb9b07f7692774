"""The declaration of a CuTe DSL kernel. The DSL itself is imported when one is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mmcore.kernel.arguments import Argument
from mmcore.kernel.configs import Config, Space
from mmcore.kernel.declaration import Kernel
from mmcore_sources.cutedsl.build import CuteBuild


def cutedsl_kernel(
    *,
    name: str,
    function: Any,
    arguments: Sequence[Argument],
    configs: Sequence[Mapping[str, Any]] | Space,
    shared_bytes: Callable[[Config], int] | None = None,
    **further: Any,
) -> Kernel:
    """A kernel that CuTe DSL compiles.

    Args:
        name, arguments, configs: as for :class:`~mmcore.Kernel`. Matrices are passed as ``cute.Pointer``, sizes as
            ``Int32``, and a :class:`~mmcore.Scalar` as its type says.
        function: the ``@cute.kernel`` function, or "module:function" where it is not to be imported before it is
            needed. Its parameters behind the arguments are ``cutlass.Constexpr``, and get the config's values by name.
        shared_bytes: the shared memory of a block that the function takes from a ``SmemAllocator``, in bytes, which
            the code does not tell; what ``cute.arch.alloc_smem`` makes is known.
        further: as for :class:`~mmcore.Kernel`: ``grid``, ``dtype``, ``constraints``, …
    """
    return Kernel(
        name=name,
        configs=configs,
        arguments=tuple(arguments),
        build=CuteBuild(function, tuple(arguments), shared_bytes),
        **{"source": _source(function), **further},
    )


def _source(function: Any) -> Path:
    """The file of the function, which is not imported for it."""
    if isinstance(function, str):
        found = find_spec(function.partition(":")[0])
        return Path(found.origin) if found and found.origin else Path()
    import inspect  # listing kernels shall not wait for it

    return Path(inspect.getsourcefile(inspect.unwrap(function)) or "")
