"""Basic blocks of a function, in an order that lets diverged threads meet again, and what is live in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from mmcore_emulator.errors import PtxError
from mmcore_emulator.isa.barriers import barrier_kind
from mmcore_emulator.isa.warp_operations import EVERYBODY, is_of_whole_warps, member_mask
from mmcore_emulator.ptx.blocks import EXIT, Block
from mmcore_emulator.ptx.instructions import (
    Address,
    Function,
    Instruction,
    Negated,
    Operand,
    Register,
    Symbol,
    TensorAddress,
)

_JUMPS = ("bra", "brx", "ret", "exit")
_NO_RESULT = ("st", "red", "bar", "barrier", "nanosleep", "assertfail", *_JUMPS)
_CLUSTER_WAIT = ("barrier", "cluster", "wait")
_ADDS_TO_RESULT = ("wgmma", "mma_async")
_WAITS = ("test_wait", "try_wait")
_WARP_BARRIER = ("bar", "warp", "sync")
GATHER = ("gather",)
"""First part of an opcode at which threads of a warp wait for others; the opcode of what they then execute follows."""
_WRITES = ("st", "red", "atom", "cp", "stmatrix", "call", "mbarrier")
STRONG = frozenset(("volatile", "relaxed", "acquire", "release", "acq_rel"))
"""How an access says that others may access the same meanwhile."""


def polling_at(block: Block, read: frozenset[Register]) -> Instruction | None:
    """Return a block's first instruction that asks for a value that other threads may have written, None for none.

    Args:
        block: the block.
        read: the registers that the function reads at all.
    """
    for each in block.body:
        kind = each.opcode[0]
        strong = kind == "ld" and not STRONG.isdisjoint(each.opcode)
        strong = strong or waits(each)
        if strong or kind == "nanosleep" or (kind == "atom" and not read.isdisjoint(destinations(each))):
            return each
    return None


def is_barrier(instruction: Instruction) -> bool:
    """Whether it makes the threads of a block or a warp wait for each other, or lets others know that they came."""
    opcode = instruction.opcode
    return _of_warp(opcode) or opcode[:3] == _CLUSTER_WAIT or barrier_kind(instruction) is not None


def _of_warp(opcode: tuple[str, ...]) -> bool:
    return opcode == _WARP_BARRIER or opcode[:1] == GATHER


def waits(instruction: Instruction) -> bool:
    """Whether it asks an mbarrier object if a phase is over."""
    return instruction.opcode[0] == "mbarrier" and instruction.opcode[1] in _WAITS


def reads(instruction: Instruction) -> Iterator[Register]:
    """Registers that an instruction reads."""
    if instruction.guard is not None:
        yield instruction.guard
    writes_first = destinations(instruction)
    for position, operand in enumerate(instruction.operands):
        if position == 0 and writes_first and not isinstance(operand, Address | TensorAddress):
            # Under a guard the old value survives where the guard is false.
            if instruction.guard is not None or instruction.opcode[:2] == _ADDS_TO_RESULT:
                yield from writes_first
        else:
            yield from _registers(operand)


def destinations(instruction: Instruction) -> tuple[Register, ...]:
    """Registers that an instruction writes."""
    kind = barrier_kind(instruction)
    without_result = instruction.opcode[0] in _NO_RESULT and (kind is None or kind.action != "red")
    if without_result or not instruction.operands:
        return ()
    first = instruction.operands[0]
    return () if isinstance(first, Address | TensorAddress) else tuple(_registers(first))


def _registers(operand: Operand) -> Iterator[Register]:
    for part in operand if isinstance(operand, tuple) else (operand,):
        if isinstance(part, TensorAddress):
            yield from _registers(part.coordinates)
        if isinstance(part, Address | TensorAddress):
            part = part.base
        elif isinstance(part, Negated):
            part = part.register
        if isinstance(part, Register):
            yield part


def gathered(function: Function) -> Function:
    """The function with what lets the threads of a warp wait for each other before they do something together."""
    body: list[Instruction] = []
    labels: dict[int, int] = {}
    labelled, together = set(function.labels.values()), False
    for index, each in enumerate(function.body):
        labels[index] = len(body)
        mask = member_mask(each)
        if index in labelled or each.opcode[0] in _JUMPS or is_barrier(each):
            together = False
        matches = each.opcode[0] == "match"
        if mask is not None and (matches or not together):
            if each.guard is not None:
                raise PtxError(f"{each.mnemonic} at line {each.line} of {each.source} is guarded by a predicate")
            body.append(Instruction(GATHER + each.opcode, (mask,), line=each.line, source=each.source))
            together = mask == EVERYBODY
        body.append(each)
    labels[len(function.body)] = len(body)
    return replace(function, body=body, labels={name: labels[index] for name, index in function.labels.items()})


def blocks_of(function: Function) -> list[Block]:
    """The function's blocks in reverse postorder, liveness included; the first is the entry.

    Running, among the blocks that threads wait to enter, always the first in this order lets threads that
    diverged in a branch or left a loop early wait where the others will come by.
    """
    cut, start_at = _cut(function)
    order = _reverse_postorder(cut, start_at)
    position = {start: index for index, start in enumerate(order)} | {EXIT: EXIT}
    blocks = []
    for start in order:
        block = cut[start]
        block.taken = None if block.taken is None else position[block.taken]
        block.targets = tuple(position[target] for target in block.targets)
        # What follows an unconditional branch is not reached from it, and may not be reached at all.
        block.following = position.get(block.following, EXIT)
        block.defines = frozenset(register for each in block.body for register in destinations(each))
        _classify(block)
        blocks.append(block)
    _liveness(blocks)
    return blocks


def _classify(block: Block) -> None:
    """Set what a block's instructions say about its end and its effect on memory."""
    end = block.end
    block.gathers = end is not None and end.opcode[:1] == GATHER
    block.writes = any(_writes(each) for each in block.instructions)
    if end is None or not is_barrier(end):
        return
    if _of_warp(end.opcode):
        block.barrier = "warp"
    else:
        block.barrier = "cluster" if end.opcode[:3] == _CLUSTER_WAIT else "block"
    # A gathering orders nothing, but before a match: the lane that it elects acts for all (the destructor of
    # cuda::pipeline).
    block.orders = not block.gathers or "match" in end.opcode
    block.is_whole = block.gathers and is_of_whole_warps(end.opcode[1:])


def _writes(instruction: Instruction) -> bool:
    return instruction.opcode[0] in _WRITES or instruction.opcode[:2] == ("wmma", "store")


def behind(blocks: list[Block], index: int) -> frozenset[int]:
    """Return the blocks to which threads go on from the end of a block, and from which none comes back to that."""
    into: dict[int, list[int]] = {}
    for number, block in enumerate(blocks):
        for successor in block.successors:
            into.setdefault(successor, []).append(number)
    ahead = _reached(index, lambda number: blocks[number].successors)
    return frozenset(ahead - _reached(index, lambda number: into.get(number, ())) - {index})


def _reached(start: int, following: Callable[[int], Iterable[int]]) -> set[int]:
    reached: set[int] = set()
    rest = [*following(start)]
    while rest:
        if (number := rest.pop()) not in reached:
            reached.add(number)
            rest += following(number)
    return reached


def _cut(function: Function) -> tuple[dict[int, Block], int]:
    body = function.body
    if not body:
        raise PtxError(f"PTX function {function.name} is empty")
    starts = {0, *function.labels.values()}
    for index, instruction in enumerate(body):
        if instruction.opcode[0] in _JUMPS or is_barrier(instruction):
            starts.add(index + 1)
    ordered = sorted(start for start in starts if start < len(body))
    blocks: dict[int, Block] = {}
    for start, next_start in zip(ordered, [*ordered[1:], len(body)], strict=True):
        inner = body[start:next_start]
        following = next_start if next_start < len(body) else EXIT
        last = inner[-1]
        if last.opcode[0] == "bra":
            blocks[start] = Block(inner[:-1], last, _targets(function, last)[0], following)
        elif last.opcode[0] == "brx":
            blocks[start] = Block(inner[:-1], last, None, following, _targets(function, last))
        elif last.opcode[0] in _JUMPS:
            blocks[start] = Block(inner[:-1], last, EXIT, following)
        elif is_barrier(last):
            blocks[start] = Block(inner[:-1], last, None, following)
        else:
            blocks[start] = Block(inner, None, None, following)
    return blocks, ordered[0]


def _targets(function: Function, branch: Instruction) -> tuple[int, ...]:
    """Where a branch leads to; ``brx.idx`` has a list of labels."""
    last = branch.operands[-1] if branch.operands else None
    labels = last if isinstance(last, tuple) else (last,)
    known = [label.name for label in labels if isinstance(label, Symbol) and label.name in function.labels]
    if not known or len(known) < len(labels):
        raise PtxError(f"PTX branch {branch.mnemonic} leads nowhere")
    indices = (function.labels[name] for name in known)
    return tuple(index if index < len(function.body) else EXIT for index in indices)


def _reverse_postorder(blocks: dict[int, Block], start: int) -> list[int]:
    postorder: list[int] = []
    seen = {start}
    stack = [(start, iter(_visits(blocks[start])))]
    while stack:
        node, successors = stack[-1]
        for successor in successors:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(_visits(blocks[successor]))))
                break
        else:
            stack.pop()
            postorder.append(node)
    return postorder[::-1]


def _visits(block: Block) -> list[int]:
    # The block later in the text is visited first, and so comes last in reverse postorder: a loop's body stays before
    # its exit.
    return sorted(block.successors, reverse=True)


def _liveness(blocks: list[Block]) -> None:
    upward: list[set[Register]] = []
    for block in blocks:
        exposed: set[Register] = set()
        defined: set[Register] = set()
        for instruction in block.instructions:
            exposed.update(register for register in reads(instruction) if register not in defined)
            defined.update(destinations(instruction))
        upward.append(exposed)
        block.live_in = frozenset(exposed)
    changed = True
    while changed:
        changed = False
        for block, exposed in zip(reversed(blocks), reversed(upward), strict=True):
            block.live_out = frozenset().union(*(blocks[successor].live_in for successor in block.successors))
            live_in = frozenset(exposed | (block.live_out - block.defines))
            if live_in != block.live_in:
                block.live_in = live_in
                changed = True
