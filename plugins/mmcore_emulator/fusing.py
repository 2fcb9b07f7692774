"""Products and sums that ptxas may or may not make one fused operation of.

``mul.f32`` and ``add.f32`` without ``.rn`` leave that open. NVRTC itself fuses what it sees to be a product and a sum,
so that few such pairs remain: where the product has several uses, or is in another block. What ptxas makes of those
is its own business, and the two roundings differ from the one.
"""

from __future__ import annotations

from mmcore_emulator.ptx import Function, Instruction, Operand, Register, UnsupportedInstruction

_KINDS = {("f16",), ("f32",), ("f64",)}
_COPIES = ("mov", "neg")


def refuse_open_fusing(function: Function) -> None:
    """Refuse a function in which a product without a rounding of its own comes to such a sum or difference.

    Raises:
        UnsupportedInstruction: naming both, with their lines in the .cu file.
    """
    products: dict[Operand, Instruction] = {
        instruction.operands[0]: instruction
        for instruction in function.body
        if instruction.opcode[0] == "mul" and instruction.opcode[1:] in _KINDS and instruction.operands
    }
    while copies := _copies(function, products):
        products |= copies
    for instruction in function.body:
        if instruction.opcode[0] in ("add", "sub") and instruction.opcode[1:] in _KINDS:
            for operand in instruction.operands[1:]:
                if operand in products:
                    raise UnsupportedInstruction(
                        f"the emulator cannot tell whether the GPU fuses {_place(products[operand])} with "
                        f"{_place(instruction)} or rounds twice; the compiler option -fmad=false makes it round twice"
                    )


def _copies(function: Function, products: dict[Operand, Instruction]) -> dict[Operand, Instruction]:
    """Registers that a product is moved to, those that ``products`` knows left out."""
    return {
        target: products[source]
        for instruction in function.body
        if instruction.opcode[0] in _COPIES and len(instruction.operands) == 2
        for target, source in [instruction.operands]
        if isinstance(target, Register) and source in products and target not in products
    }


def _place(instruction: Instruction) -> str:
    return instruction.mnemonic + (f" ({instruction.source}:{instruction.line})" if instruction.line else "")
