"""Rungs of the ladder for Hopper: wgmma fed by TMA."""

from __future__ import annotations

from mmcore import Kernel, hookimpl
from mmcore_ladder.any_size import any_size, config, defines
from mmcore_ladder.parts import in_parts

_LAYOUTS = {"": "", "_nt": "B", "_tn": "A", "_tt": "AB"}


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The kernels of any size, in four layouts each."""
    configs = [config(128, 256, 4), config(128, 256, 4, cluster=2), config(128, 128, 6), config(64, 64, 4, consumers=1)]
    halves = [
        any_size(
            f"ladder.{short}.any{layout}",
            "TMA, wgmma, a persistent block for each multiprocessor: any size",
            dtype,
            dtype,
            column_major=column_major,
            configs=configs,
            defines=defines(dtype, dtype),
        )
        for short, dtype in (("bf16", "bfloat16"), ("f16", "float16"))
        for layout, column_major in _LAYOUTS.items()
    ]
    others = [
        any_size(
            f"ladder.{short}.any{layout}",
            "TMA, wgmma, a persistent block for each multiprocessor: any size",
            dtype,
            output,
            accumulator="float22" if short == "e4m3" else "float32",
            column_major=column_major,
            configs=[config(128, 128, 6), config(128, 256, 4), config(64, 64, 4, consumers=1)]
            if short == "tf32"
            else [config(128, 128, 4), config(256, 128, 3)],
            defines=defines(dtype, output, promoted=short == "e4m3"),
        )
        for short, dtype, output in (("tf32", "tf32", "float32"), ("e4m3", "float8_e4m3fn", "bfloat16"))
        for layout, column_major in _LAYOUTS.items()
    ]
    thirds = [config(128, 192, 3, cluster=2, depth=64), config(128, 128, 2), config(128, 64, 2)]
    float32 = [
        Kernel(
            name=f"ladder.f32.{name}{layout}",
            title=title,
            source="wgmma_any.cu",  # type: ignore[arg-type]
            unit=dtype,
            column_major=column_major,
            launch=in_parts(dtype, parts),
            configs=thirds
            if parts == 3
            else [config(128, 192, 4, cluster=2, depth=64), config(128, 128, 3), config(128, 64, 4)],
            defines=defines(dtype, "float32", parts=parts, promoted=True),
            architecture="90a",
            min_compute_capability=(9, 0),
        )
        for name, title, dtype, parts in (
            ("bf16x6", "three parts of bfloat16, six products on tensor cores: any numbers", "bfloat16", 3),
            ("f16x3", "two parts of float16, three products on tensor cores: lines of limited range", "float16", 2),
        )
        for layout, column_major in _LAYOUTS.items()
    ]
    return [*halves, *others, *float32]
