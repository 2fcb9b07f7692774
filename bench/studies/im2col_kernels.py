"""CUDA C++ of copies in im2col mode and of products of single bits, for the card and the emulator."""

from __future__ import annotations

_COPIES = r"""
struct __align__(64) Map { unsigned long long words[16]; };
__device__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
"""
_LOAD = r"""
extern "C" __global__ void loadRANK(
    const int* info, unsigned char* out, unsigned* status, const __grid_constant__ Map map)
{
    extern __shared__ __align__(1024) unsigned char tile[];
    __shared__ __align__(8) unsigned long long barrier;
    const int t = threadIdx.x, region = info[9];
    for (int i = t; i < region; i += 32) tile[i] = out[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;"
                     :: "r"(address(&barrier)) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                     :: "r"(address(&barrier)), "r"(info[8]) : "memory");
        asm volatile("cp.async.bulk.tensor.RANKd.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {COORDINATES}], [%2], {OFFSETS};"
                     :: "r"(address(tile)), "l"(&map), "r"(address(&barrier)), "r"(info[0]), "r"(info[1]),
                        "r"(info[2]), "r"(info[3]), "r"(info[4]), "h"((unsigned short)info[5]),
                        "h"((unsigned short)info[6]), "h"((unsigned short)info[7]) : "memory");
    }
    __syncthreads();
    unsigned done = 0;
    const long long began = clock64();
    // A reading of the map that counts other bytes than the card never arrives: a fifth of a second is enough.
    for (int i = 0; i < 1000000 && !done && clock64() - began < 400000000ll; ++i)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(address(&barrier)) : "memory");
    if (t == 0) *status = done;
    __syncthreads();
    for (int i = t; i < region; i += 32) out[i] = tile[i];
}
"""
_STORE = r"""
extern "C" __global__ void storeRANK(
    const int* info, unsigned char* data, unsigned* status, const __grid_constant__ Map map)
{
    extern __shared__ __align__(1024) unsigned char tile[];
    const int t = threadIdx.x, region = info[9];
    for (int i = t; i < region; i += 32) tile[i] = data[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.async.bulk.tensor.RANKd.global.shared::cta.im2col_no_offs.bulk_group"
                     " [%1, {COORDINATES}], [%0]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
                     :: "r"(address(tile)), "l"(&map), "r"(0), "r"(info[0]), "r"(info[1]), "r"(info[2]),
                        "r"(info[3]), "r"(info[4]) : "memory");
        *status = 1;
    }
}
"""
_BITS = r"""
extern "C" __global__ void NAME(
    int* d, const unsigned* a, const unsigned* b, const int* c, const unsigned* strides)
{
    __shared__ __align__(32) unsigned left[8 * 16], right[8 * 16];
    for (int i = threadIdx.x; i < strides[0] / 4; i += 32) left[i] = a[i];
    for (int i = threadIdx.x; i < strides[1] / 4; i += 32) right[i] = b[i];
    __syncthreads();
    asm volatile("{ .reg .b32 a, b, c0, c1;"
                 " wmma.load.a.sync.aligned.row.m8n8k128SPACE.b1 {a}, [%1], %4;"
                 " wmma.load.b.sync.aligned.col.m8n8k128SPACE.b1 {b}, [%2], %5;"
                 " wmma.load.c.sync.aligned.LAYOUT.m8n8k128.global.s32 {c0, c1}, [%3], %6;"
                 " wmma.mma.OPERATION.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {c0, c1}, {a}, {b}, {c0, c1};"
                 " wmma.store.d.sync.aligned.LAYOUT.m8n8k128.global.s32 [%0], {c0, c1}, %6; }"
                 :: "l"(d), "l"(LEFT), "l"(RIGHT), "l"(c), "r"(strides[0]), "r"(strides[1]), "r"(strides[2])
                 : "memory");
}
"""
_LEFT_AND_RIGHT = {
    "global": ("a", "b"),
    "shared": ("__cvta_generic_to_shared(left)", "__cvta_generic_to_shared(right)"),
    "generic": ("left", "b"),
}


def _of_rank(text: str, rank: int) -> str:
    coordinates = ", ".join(f"%{3 + axis}" for axis in range(rank))
    offsets = ", ".join(f"%{8 + axis}" for axis in range(rank - 2))
    text = text.replace("{COORDINATES}", f"{{{coordinates}}}").replace("{OFFSETS}", f"{{{offsets}}}")
    return text.replace("RANK", str(rank))


def bits_name(operation: str, layout: str, space: str) -> str:
    """Return the name of a kernel of bits."""
    return f"bits_{operation}_{layout}_{space}"


def _of_bits(operation: str, layout: str, space: str) -> str:
    left, right = _LEFT_AND_RIGHT[space]
    text = _BITS.replace("NAME", bits_name(operation, layout, space)).replace("OPERATION", operation)
    text = text.replace("SPACE", "" if space == "generic" else f".{space}").replace("LAYOUT", layout)
    return text.replace("LEFT", left).replace("RIGHT", right)


COPIES = _COPIES + "".join(_of_rank(text, rank) for text in (_LOAD, _STORE) for rank in (3, 4, 5))
"""Kernels load3, load4, load5, store3, store4 and store5."""
BITS = "".join(
    _of_bits(operation, layout, space)
    for operation in ("xor", "and")
    for layout in ("row", "col")
    for space in _LEFT_AND_RIGHT
)
"""Kernels of products of bits."""
