"""From a function's PTX to Python: what it takes to run it, block by block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from mmcore_emulator.executor.codegen import CodeGenerator
from mmcore_emulator.executor.compiled_block import CompiledBlock, Registers
from mmcore_emulator.executor.control_flow import behind, blocks_of, gathered
from mmcore_emulator.executor.layout import Layout, lay_out
from mmcore_emulator.executor.shadow_domain import ShadowDomain
from mmcore_emulator.isa.architectures import shared_begin
from mmcore_emulator.isa.table import reads
from mmcore_emulator.ptx.blocks import Block
from mmcore_emulator.ptx.carry_flag import with_carries
from mmcore_emulator.ptx.instructions import Function


@dataclass(frozen=True)
class Translation:
    """A function, ready to run."""

    steps: list[CompiledBlock]  # its blocks, the entry first
    registers: Registers  # the registers' initial values
    layout: Layout  # where its variables and parameters lie
    _behind: dict[int, frozenset[int]] = field(default_factory=dict)

    @property
    def blocks(self) -> list[Block]:
        """The basic blocks of the steps."""
        return [step.block for step in self.steps]

    def behind(self, index: int) -> frozenset[int]:
        """Return the numbers of the steps that come after a step and never before it."""
        if index not in self._behind:
            self._behind[index] = behind(self.blocks, index)
        return self._behind[index]


_NONE: Mapping[str, int] = MappingProxyType({})


def translate(
    function: Function,
    module_addresses: Mapping[str, int] = _NONE,
    capability: tuple[int, int] = (9, 0),
    domain: ShadowDomain | None = None,
) -> Translation:
    """Translate one function.

    Args:
        function: the function.
        module_addresses: where the module's variables lie in device memory, by symbol.
        capability: the compute capability that it is to run on.
        domain: what is computed beside each register and memory element; None for nothing.

    Raises:
        UnsupportedInstruction: naming the mnemonic and its line in the .cu file.
        PtxError: the PTX contradicts itself.
    """
    function = with_carries(gathered(function))
    layout = lay_out(function, shared_begin(capability))
    read = {register for instruction in function.body for register in reads(instruction)}
    symbols = {**layout.addresses, **layout.parameters, **module_addresses}
    generator = CodeGenerator(symbols, frozenset(read), capability, domain)
    steps = [generator.compile(block) for block in blocks_of(function)]
    return Translation(steps, generator.initial_registers(), layout)
