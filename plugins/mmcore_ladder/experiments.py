"""The ladder's experiments: every rung at one size, and the fastest rungs of each type at many sizes."""

from mmcore import hookimpl
from mmcore_libraries.cublas import BEST
from mmcore_tools.experiments import Preset

# Matrices are stored by rows by default. The rungs with wgmma store B by columns: bf16.08 to 11 have no other layout,
# cuBLAS requires it for 8-bit numbers, and wgmma for 32-bit numbers.
_TYPES = {
    "f32": "01_naive 02_coalesced 03_tiles 04_column_of_registers 05_register_tile 06_vectors 07_warp_tiles 08_async "
    "09_any 10_f16x3 11_bf16x6 12_int8",
    "i8": "01_wgmma 02_slices 03_residues",
    "f64": "01_tiles 02_dmma 03_ring 04_int8",
    "tf32": "01_mma_sync 02_any_nt",
    "f16": "01_any 02_any_nt",
    "bf16": "01_tiles 02_wmma 03_mma_sync 04_swizzle 05_async 06_multistage 07_any 08_wgmma 09_ring 10_persistent "
    "11_cluster 12_any_nt",
    "e4m3": "01_any_nt",
}
_RUNGS = tuple(f"ladder.{dtype}.{rung}" for dtype, rungs in _TYPES.items() for rung in rungs.split())
# float32 has four: one on CUDA cores, two on tensor cores that split the numbers into float16 or bfloat16 parts, and
# one on residues of 8 bits.
# float64 has two: one in its own type, and one on residues of 8 bits.
_TOPS = (
    *("f32.09_any", "f32.10_f16x3", "f32.11_bf16x6", "f32.12_int8", "f64.03_ring", "f64.04_int8"),
    *("tf32.02_any_nt", "f16.02_any_nt", "bf16.12_any_nt", "e4m3.01_any_nt"),
)
RIVALS = f"{BEST},cublas.float??_emulated,gemmul8.*"
"""Baselines: the library's product, of which shares are taken, and emulated ones of float32 and float64."""

_REFERENCE = "mmcore's ladder of kernels, docs/ladder.md"


@hookimpl
def mmcore_presets() -> list[Preset]:
    """Return the experiments: all rungs at one size, and the fastest rungs of all types at many sizes."""
    return [
        Preset(
            name="ladder",
            title="TFLOP/s of every rung of the ladder at n = 4096, beside cuBLAS",
            reference=_REFERENCE,
            shows="Each rung's idea raises the rate; what is left at the top is the distance to the library.",
            kernels=_RUNGS,
            sizes=(4096,),
            # The smallest size that is a multiple of every rung's tile.
            quick_sizes=(256,),
            baseline=BEST,
            max_time=0.5,
            min_rounds=15,
        ),
        Preset(
            name="ladder-sizes",
            title="TFLOP/s of each type's highest rungs from n = 512 to 16384, beside cuBLAS",
            reference=_REFERENCE,
            shows="The rate grows with n until the GPU is full; odd sizes and few rows cost the library and the rungs.",
            kernels=tuple(f"ladder.{top}" for top in _TOPS),
            sizes=(
                *(512, 1000, 1024, 2048, 4096, 4097, 8192, 16384),
                *((4096, 14336, 4096), (8192, 1024, 8192), (128, 4096, 14336), (16, 4096, 4096)),
            ),
            quick_sizes=(32, 48),
            baseline=RIVALS,
            figures=("error", "energy"),
            timeout=300,
            max_time=0.5,
            min_rounds=15,
        ),
    ]
