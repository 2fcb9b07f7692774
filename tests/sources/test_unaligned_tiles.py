"""The warning of dynamic shared memory that nothing aligns for swizzled tiles."""

from __future__ import annotations

import pytest

from mmcore import TensorMap
from mmcore_sources.cuda_file.host_bugs.shared_memory import unaligned_tiles

KERNEL = "__global__ void f()\n{{\n    extern __shared__ {}smem[];\n    {}\n}}\n"


def warned(declared: str, body: str = "", swizzle: int = 128) -> list[tuple[int, str]]:
    """Return the line and message of each warning about a kernel with a tensor map."""
    maps = ("C", TensorMap("A", (64, 64), swizzle))
    return [(each.line, each.message) for each in unaligned_tiles(KERNEL.format(declared, body), maps)]


@pytest.mark.parametrize(("swizzle", "needed"), [(128, 1024), (64, 512), (32, 256)])
def test_shared_memory_of_swizzled_tiles_needs_an_alignment(swizzle: int, needed: int) -> None:
    ((line, message),) = warned("unsigned char ", swizzle=swizzle)
    assert line == 3
    assert warned("unsigned char ", f"int n = {needed};", swizzle)
    assert f"smem has no alignment, and tiles swizzled by {swizzle} bytes need {needed}: " in message


@pytest.mark.parametrize(
    "body",
    [
        "struct Tiles { alignas(1024) char a[64]; }; auto &tiles = *reinterpret_cast<Tiles *>(smem);",
        'asm volatile("wgmma.fence.sync.aligned;");  // aligned, so that % 1024 is 0',
    ],
)
def test_members_of_structures_and_instructions_align_nothing(body: str) -> None:
    assert len(warned("unsigned char ", body)) == 1


def test_a_smaller_alignment_of_the_tiles_is_named() -> None:
    body = "struct Tiles { alignas(8) long full[3]; alignas(128) char a[64]; };"
    ((_, message),) = warned("unsigned char ", body)
    asks = "the source asks for 128 bytes at most, where tiles swizzled by 128 bytes need 1024"
    assert message == f"smem has no alignment, and {asks}: alignas(1024) of them and of smem asks for it"


@pytest.mark.parametrize(
    ("declared", "body", "swizzle"),
    [
        ("unsigned char ", "", 0),
        ("alignas(1024) unsigned char ", "", 128),
        ("__align__(1024) char ", "", 128),
        ("unsigned char ", "auto p = (smem + 1023) & ~0x3FFull;", 128),
        ("unsigned char ", "auto p = smem + 1024 - at(smem) % 1024;", 128),
        ("unsigned char ", "auto p = align_up(smem);", 128),
        ("Tiles ", "struct alignas(1024) Tiles { char a[1024]; };", 128),
        ("char ", "auto p = __builtin_align_up(smem, SIZE); auto q = cuda::aligned(p);", 128),
    ],
)
def test_aligned_memory_has_no_warning(declared: str, body: str, swizzle: int) -> None:
    assert warned(declared, body, swizzle) == []
