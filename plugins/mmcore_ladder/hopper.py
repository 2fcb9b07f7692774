"""The ladder's kernels for any size and layout on Hopper, one for each type of its tensor cores."""

from __future__ import annotations

from collections.abc import Iterator

from mmcore import Kernel, hookimpl
from mmcore_ladder.layouts import LAYOUTS
from mmcore_ladder.parts import in_parts
from mmcore_ladder.wgmma_any import defines, multiply_in_own_type, space, tiling, wgmma_any

_WHOLE = space(1, (128, 256, 128, 2, 16))
_EIGHTS = space(1, (256, 128, 128, 2, 16), promoted=True)
_THREES = space(2, (128, 128, 128, 2, 8), promoted=True)
_SIXES = space(3, (128, 128, 128, 2, 8), promoted=True)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """Return each kernel in four layouts."""
    return [kernel for layout in LAYOUTS for kernel in _kernels(layout)]


def _kernels(layout: str) -> Iterator[Kernel]:
    column_major = LAYOUTS[layout]
    for name, dtype, output, configs in (
        ("bf16.12", "bfloat16", "bfloat16", _WHOLE),
        ("f16.02", "float16", "float16", _WHOLE),
        ("tf32.02", "tf32", "float32", _WHOLE),
        ("e4m3.01", "float8_e4m3fn", "bfloat16", _EIGHTS),
    ):
        eight = dtype == "float8_e4m3fn"
        # float16 uses the configs that are tuned for bfloat16.
        first = "ladder.bf16.12_any" if dtype == "float16" else f"ladder.{name}_any"
        yield wgmma_any(
            f"ladder.{name}_any{layout}",
            "wgmma of tiles that TMA fetches, of any size; C by TMA while the next tile is multiplied",
            multiply_in_own_type,
            configs,
            tiling=tiling,
            dtype=dtype,
            accumulator="float22/128" if eight else "float32",
            output=output,
            column_major=column_major,
            variant_of=first if f"ladder.{name}_any{layout}" != first else "",
            defines=defines(dtype, output, promoted=eight),
        )
    for name, title, dtype, parts, configs in (
        ("10_f16x3", "Three products of two parts in float16, each line scaled", "float16", 2, _THREES),
        ("11_bf16x6", "Six products of three parts in bfloat16", "bfloat16", 3, _SIXES),
    ):
        yield wgmma_any(
            f"ladder.f32.{name}{layout}",
            f"{title}: float32 on tensor cores, of any size",
            in_parts(dtype, parts),
            configs,
            unit=dtype,
            column_major=column_major,
            variant_of=f"ladder.f32.{name}" if layout else "",
            defines=defines(dtype, "float32", parts=parts, promoted=True),
        )
