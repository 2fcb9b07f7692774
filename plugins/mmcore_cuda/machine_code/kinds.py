"""Kinds of instructions: what each opcode does, for the mix of a loop or line."""

from __future__ import annotations

import re

from mmcore_cuda.machine_code.instructions import Instruction

_NAMES = {
    "fma": "FFMA FFMA2 FFMA32I FMUL FMUL2 FMUL32I FADD FADD2 FADD32I FSWZADD HFMA2 HADD2 HMUL2 HADD2_32I HMUL2_32I",
    "fp64": "DFMA DMUL DADD DSETP DMNMX",
    "global load": "LDG LD",
    "global store": "STG ST",
    "atomic": "ATOM ATOMG RED REDG",
    "shared": "LDS LDSM STS STSM ATOMS",
    "local": "LDL STL",
    "constant": "LDC LDCU ULDC",
    "copy": "LDGSTS UBLKCP UBLKRED UBLKPF UTMALDG UTMASTG UTMAREDG UTMAPF",
    "branch": "BRA BRX BRXU JMP JMX JMXU CALL RET EXIT BSSY BSYNC BREAK BMOV KILL BPT NANOSLEEP",
    "barrier": "BAR DEPBAR LDGDEPBAR ARRIVES SYNCS MEMBAR FENCE ERRBAR CGAERRBAR UCGABAR_ARV UCGABAR_WAIT WARPSYNC"
    " WARPGROUP WARPGROUPSET UTMACMDFLUSH UTCBAR",
    "conversion": "F2F F2I F2IP F2FP I2F I2FP I2I I2IP FRND",
    "special function": "MUFU",
    "integer": "IMAD IMUL IADD IADD3 IADD32I ISCADD LEA LOP LOP3 LOP32I PLOP3 SHF SHL SHR ISETP ICMP IMNMX VIADD VIMNMX"
    " VIMNMX3 VIADDMNMX IABS VABSDIFF IDP IDP4A FLO POPC BREV BMSK SGXT PRMT MOV MOV32I SEL FSEL FSETP FSET FCHK FMNMX"
    " FMNMX3 HSETP2 HSET2 HMNMX2 CS2R P2R R2P",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_TENSOR = re.compile("(UTC)?[A-Z]G?MMA")

KINDS = ("fma", "tensor", *[kind for kind in _NAMES if kind != "fma"], "uniform", "other")
"""Every kind; "integer" has moves, logic and comparisons as well, and "uniform" what a warp computes once."""


def kind_of(instruction: Instruction) -> str:
    """Return the kind of an instruction."""
    name = instruction.name
    if _TENSOR.fullmatch(name):
        return "tensor"
    if name == "HFMA2" and instruction.operands[1:3] == ("-RZ", "RZ"):
        return "integer"  # it writes a constant
    uniform = name.startswith("U") or name in ("R2UR", "S2UR", "VOTEU")
    return _KINDS.get(name, "uniform" if uniform else "other")
