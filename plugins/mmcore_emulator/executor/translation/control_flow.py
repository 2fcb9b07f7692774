"""Basic blocks of a function, in an order that lets diverged threads reconverge, and their live registers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from mmcore_emulator.errors import PtxError
from mmcore_emulator.isa.entries import Jump, Wait
from mmcore_emulator.isa.table import GATHER, decode, destinations, effect, reads
from mmcore_emulator.isa.warp_operations import EVERYBODY
from mmcore_emulator.ptx.instructions import EXIT, Block, Function, Instruction, Operand, Register, Symbol


def _ends_block(instruction: Instruction) -> bool:
    """Return True if an instruction jumps, or makes threads wait for each other."""
    return isinstance(decode(instruction), Jump | Wait)


def _member_mask(instruction: Instruction) -> Operand | None:
    """Return the mask of the lanes that execute an instruction together; None if each executes it separately."""
    members = effect(instruction).members
    if members == "all":
        return EVERYBODY
    return instruction.operands[-1] if members and instruction.operands else None


def gathered(function: Function) -> Function:
    """Return the function with a gathering point for the threads of a warp before each collective instruction."""
    body: list[Instruction] = []
    labels: dict[int, int] = {}
    labelled, together = set(function.labels.values()), False
    for index, instruction in enumerate(function.body):
        labels[index] = len(body)
        mask = _member_mask(instruction)
        if index in labelled or _ends_block(instruction):
            together = False
        if mask is not None and (effect(instruction).elects or not together):
            if instruction.guard is not None:
                where = f"line {instruction.line} of {instruction.source}"
                raise PtxError(f"{instruction.mnemonic} at {where} is guarded by a predicate")
            opcode = (GATHER, *instruction.opcode)
            body.append(replace(instruction, opcode=opcode, operands=(mask,)))
            together = mask == EVERYBODY
        body.append(instruction)
    labels[len(function.body)] = len(body)
    return replace(function, body=body, labels={name: labels[index] for name, index in function.labels.items()})


def blocks_of(function: Function) -> list[Block]:
    """Return the function's blocks in reverse postorder, with liveness; the first is the entry.

    The executor always runs the first block in this order that threads wait to enter. So threads that diverged in a
    branch, or left a loop early, wait at a block that the other threads will reach.
    """
    cut, start_at = _cut(function)
    order = _reverse_postorder(cut, start_at)
    position = {start: index for index, start in enumerate(order)} | {EXIT: EXIT}
    blocks = []
    for start in order:
        block = cut[start]
        block.taken = None if block.taken is None else position[block.taken]
        block.targets = tuple(position[target] for target in block.targets)
        # The code after an unconditional branch is not reached from it, and may not be reached at all.
        block.following = position.get(block.following, EXIT)
        block.defines = frozenset(register for instruction in block.body for register in destinations(instruction))
        _classify(block)
        blocks.append(block)
    _liveness(blocks)
    return blocks


def _classify(block: Block) -> None:
    """Set the barrier of a block's end, and its effect on memory, from its instructions."""
    wait = decode(block.end) if block.end is not None else None
    if isinstance(wait, Wait):
        block.barrier, block.gathers = wait.threads, wait.gathers
        block.orders, block.is_whole = wait.orders, wait.is_whole
    block.writes = any(effect(instruction).writes for instruction in block.instructions)


def behind(blocks: list[Block], index: int) -> frozenset[int]:
    """Return the blocks that threads may reach from the end of a block, but that cannot lead back to it."""
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
        if _ends_block(instruction):
            starts.add(index + 1)
    ordered = sorted(start for start in starts if start < len(body))
    blocks: dict[int, Block] = {}
    for start, next_start in zip(ordered, [*ordered[1:], len(body)], strict=True):
        inner = body[start:next_start]
        following = next_start if next_start < len(body) else EXIT
        last, end = inner[-1], decode(inner[-1])
        if isinstance(end, Wait):
            blocks[start] = Block(inner[:-1], last, None, following)
        elif not isinstance(end, Jump):
            blocks[start] = Block(inner, None, None, following)
        elif end.kind == "branch":
            blocks[start] = Block(inner[:-1], last, _targets(function, last)[0], following)
        elif end.kind == "branch by index":
            blocks[start] = Block(inner[:-1], last, None, following, _targets(function, last))
        else:
            blocks[start] = Block(inner[:-1], last, EXIT, following)
    return blocks, ordered[0]


def _targets(function: Function, branch: Instruction) -> tuple[int, ...]:
    """Return the targets of a branch; ``brx.idx`` has a list of labels."""
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
    # The later block in the text is visited first, so it comes last in reverse postorder: a loop's body stays before
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
