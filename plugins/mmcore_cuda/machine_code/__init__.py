"""The machine code of kernels (SASS): instructions with source lines and issue control, loops, and spilled registers.

It takes NVIDIA's nvdisasm; without it, :func:`machine_code` returns None and :data:`MISSING` says how to install it.
"""

from __future__ import annotations

from mmcore_cuda.machine_code.build_options import has_lines as has_lines
from mmcore_cuda.machine_code.build_options import unoptimised as unoptimised
from mmcore_cuda.machine_code.function import Function as Function
from mmcore_cuda.machine_code.function import Spilled as Spilled
from mmcore_cuda.machine_code.function import machine_code as machine_code
from mmcore_cuda.machine_code.instructions import Instruction as Instruction
from mmcore_cuda.machine_code.kinds import KINDS as KINDS
from mmcore_cuda.machine_code.kinds import kind_of as kind_of
from mmcore_cuda.machine_code.loops import Loop as Loop
from mmcore_cuda.machine_code.nvdisasm import MISSING as MISSING
from mmcore_cuda.machine_code.register_banks import bank_conflicts as bank_conflicts
