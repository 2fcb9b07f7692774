"""Translation of a function's PTX to Python, block by block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from mmcore_emulator.executor.translation.codegen import CodeGenerator
from mmcore_emulator.executor.translation.compiled_block import CompiledBlock, Registers
from mmcore_emulator.executor.translation.control_flow import behind, blocks_of, gathered
from mmcore_emulator.executor.translation.layout import Layout, lay_out
from mmcore_emulator.executor.translation.shadow_code import ShadowDomain
from mmcore_emulator.isa.architectures import shared_begin
from mmcore_emulator.isa.table import reads
from mmcore_emulator.ptx.carry_flag import with_carries
from mmcore_emulator.ptx.instructions import Block, Function


@dataclass(frozen=True, eq=False)
class Translation:
    """A function, ready to run."""

    steps: list[CompiledBlock]  # its blocks, the entry first
    registers: Registers  # the registers' initial values
    layout: Layout  # addresses of its variables and parameters
    most_threads: int | None = None  # threads of a block by ``__launch_bounds__``; None without it
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
    """Translate one function for a compute capability.

    ``module_addresses`` has the module's variables in device memory, by symbol. There are no shadows without a
    ``domain``.

    Raises:
        UnsupportedInstruction: an instruction is not supported; the message has the mnemonic and its line.
        PtxError: the PTX contradicts itself.
    """
    function = with_carries(gathered(function))
    layout = lay_out(function, shared_begin(capability))
    read = {register for instruction in function.body for register in reads(instruction)}
    symbols = {**layout.addresses, **layout.parameters, **module_addresses}
    generator = CodeGenerator(symbols, frozenset(read), capability, domain)
    steps = [generator.compile(block) for block in blocks_of(function)]
    return Translation(steps, generator.initial_registers(), layout, function.threads.get("maxntid"))
