"""Asynchronous writes and reads of shared memory that are in flight, and threads' accesses to the same words.

A thread may read the data of a bulk copy if its clock includes the phase of the copy's mbarrier. It may write where an
asynchronous instruction reads if its clock includes the end of the instruction's group. Reference: PTX ISA,
"Asynchronous operations".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES, BLOCK_WORDS, EndedEarly, Transfer
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.numerics.types import Integers
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.sanitizer.asynchronous.groups import Groups, lacking_commit
from mmcore_emulator.sanitizer.asynchronous.late_readers import early_write
from mmcore_emulator.sanitizer.asynchronous.origins import Origins
from mmcore_emulator.sanitizer.asynchronous.stages import Stages
from mmcore_emulator.sanitizer.happens_before.event_clocks import WARPS_OF_GROUP, EventClocks, Kind
from mmcore_emulator.sanitizer.loops import Loops
from mmcore_emulator.sanitizer.recording import SharedReport, at_line

_NONE = np.zeros((0, 0), np.int64)
_COPYING = "reads {}, into which cp.async may still be copying: "
_NO_WAIT = "cp.async.wait_group (or its mbarrier's wait) is missing, or waits for too few groups"
_BULK_COPYING = (
    "reads {}, into which a bulk copy may still be copying: it has not waited for that phase of its mbarrier, or that "
    "expects fewer bytes than come"
)
_TOO_FEW_BYTES = "{}, into which a bulk copy may still be copying: its mbarrier expects {:,} bytes{}, and {:,} come"
_OVERWRITTEN_COPY = "writes {}, into which a copy may still be copying: no thread has waited for it"
_EARLY_ARRIVAL = "the arrival at the mbarrier of line {} behind wgmma.wait_group in line {}, not before it"
_ENDED_TOO_LATE = "wgmma.wait_group 0 by the whole warpgroup before every arrival at the mbarrier of line {}"
_MISMATCH = (
    "does not find the matrix in {} as it was written: the descriptor says {}, the copy {}; neighbours there are no "
    "neighbours in global memory"
)
_UNAWAITED_STORE = "begins a bulk copy of shared memory, and its block may end while that still reads it: "
_NO_WAIT_FOR_STORE = "cp.async.bulk.wait_group.read is missing"

_UNAWAITED = "begins a bulk copy that no thread waits for: its block may have ended, or use the memory, before it lands"


class _Readers(NamedTuple):
    """Asynchronous reads by a warpgroup, or thread, of each block: the latest of each word."""

    group: NDArray[np.int32]  # its group, from 1; 0 for none
    transfer: NDArray[np.int32]  # its number


class _Landing(NamedTuple):
    """The event that a thread must have in its clock to read what a bulk copy has written, for each block."""

    column: Integers
    number: Integers


class InFlight:
    """The transfers of a batch of blocks."""

    def __init__(self, clocks: EventClocks, report: SharedReport, loops: Loops) -> None:
        self._clocks, self._report, self._loops = clocks, report, loops
        self._thread, self._block = clocks.numbers.thread_in_block, clocks.numbers.block_in_batch
        self._blocks = clocks.numbers.batch.extent.size
        self._origins = Origins(self._blocks)
        self._mistakes: dict[tuple[Instruction, Instruction, str], str] = {}  # by the read, the copy and its array
        # Number of the transfer that writes each word, and of the last one that has written it; 0 for none.
        self._writing, self._landed = (np.zeros(self._blocks * BLOCK_WORDS, np.int32) for _ in range(2))
        self._readers: dict[Kind, _Readers] = {}
        # By number, without the arrays that only their begin and end need.
        self._transfers: list[Transfer] = [Transfer(Instruction(("",), ()), _NONE, _NONE, False)]
        self._numbers: dict[int, int] = {}
        self._landings: dict[int, _Landing] = {}
        self._landings_at: dict[int, int] = {}
        self._groups = {kind: Groups(len(self._thread)) for kind in ("wgmma", "bulk", "copy")}
        self._issued: dict[int, Integers] = {}  # the groups of copies by threads, by transfer
        self._early: dict[int, EndedEarly] = {}  # by the place of the mbarrier
        self._stages = Stages(len(self._thread), self._report)

    @property
    def any(self) -> bool:
        """True if there have been transfers."""
        return len(self._transfers) > 1

    def begin_write(self, transfer: Transfer) -> None:
        """Begin copies to shared memory."""
        self.check_write(transfer.at, transfer.words, transfer.lanes)
        number = self._begin(transfer)
        self._writing[transfer.words[transfer.words >= 0]] = number
        if transfer.mbarriers is not None:
            self._numbers[id(transfer)] = number
        else:
            self._issued[number] = self._groups["copy"].issue(transfer.lanes[:, 0])
            if transfer.origin is not None:
                self._origins.send(transfer.words, transfer.origin)

    def begin_read(self, transfer: Transfer) -> None:
        """Begin asynchronous reads of shared memory."""
        if all(transfer.shape):
            self._check_descriptor(transfer)
        number, first = self._begin(transfer), transfer.lanes[:, 0]
        kind = "wgmma" if transfer.lanes.shape[1] > 1 else "bulk"
        groups, readers = self._groups[kind].issue(first), self._reader_numbers(kind, first)
        for reader in np.unique(readers).tolist():
            rows = readers == reader
            words = transfer.words[rows]
            if (kind, reader) not in self._readers:
                self._readers[kind, reader] = _Readers(*(np.zeros(len(self._writing), np.int32) for _ in range(2)))
            reads, used = self._readers[kind, reader], words >= 0
            reads.group[words[used]] = np.broadcast_to(groups[rows, np.newaxis], words.shape)[used]
            reads.transfer[words[used]] = number

    def _begin(self, transfer: Transfer) -> int:
        self._transfers.append(replace(transfer, words=_NONE, origin=None, changes=None))
        return len(self._transfers) - 1

    def land(self, transfer: Transfer, mbarriers: Integers) -> None:
        """Complete copies at their mbarriers."""
        number = self._numbers.pop(id(transfer))
        landing = self._landings[number] = _Landing(*(np.zeros(self._blocks, np.int64) for _ in range(2)))
        for mbarrier in mbarriers.tolist():
            block = mbarrier // BLOCK_BYTES
            self._landings_at[mbarrier] = landing.number[block] = self._landings_at.get(mbarrier, 0) + 1
            (landing.column[block],) = self._clocks.columns(np.array([block]), ("mbarrier", mbarrier % BLOCK_BYTES))
        self._stages.land(transfer)
        words = transfer.words[transfer.words >= 0]
        self._writing[words[self._writing[words] == number]], self._landed[words] = 0, number
        if transfer.origin is not None:
            self._origins.land_in_bulk(transfer.words, transfer.origin)

    def land_copies_of_threads(self, words: Integers) -> None:
        """Complete copies by ``cp.async``."""
        self._writing[words] = 0
        self._stages.land_copies_of_threads(words)
        self._origins.land(words)

    def pass_phase(self, lanes: Integers, places: Integers) -> None:
        """Let lanes acquire the copies that have landed at mbarriers whose phases they have waited for."""
        self._stages.wait(lanes, places)
        for place in np.unique(places).tolist():
            if place in self._landings_at:
                waiting, (block, inside) = lanes[places == place], divmod(place, BLOCK_BYTES)
                blocks = np.full(len(waiting), block)
                self._clocks.acquire(waiting, blocks, ("mbarrier", inside), self._landings_at[place])

    def commit(self, kind: str, lanes: Integers) -> None:
        """Commit what lanes have issued of a kind as a group."""
        self._groups[kind].commit(lanes)

    def wait_for_groups(self, kind: str, most: int, lanes: Integers) -> None:
        """Let lanes acquire the ends of all but ``most`` of their latest groups."""
        self._groups[kind].wait(lanes)
        ended, readers = self._groups[kind].committed[lanes] - most, self._reader_numbers(kind, lanes)
        for reader in [each for each in self._readers if each[0] == kind]:
            for ending in _endings(reader):
                # A warp waits for its own reads.
                waiting = (readers == reader[1]) & ((kind != "wgmma") | (self._thread[lanes] // WARP == ending[1]))
                if waiting.any():
                    self._clocks.acquire(lanes[waiting], self._block[lanes[waiting]], ending, ended[waiting])

    def _lacking_commit(self, kind: str, reader: Transfer, word: int, group: int) -> str:
        """Return the clause that a reader of a word has committed no group before a wait; empty if it has."""
        lanes = reader.lanes[self._block[reader.lanes[:, 0]] == word // BLOCK_WORDS, 0]
        return lacking_commit(kind, reader.at) if self._groups[kind].were_open(lanes, group) else ""

    def _reader_numbers(self, kind: str, lanes: Integers) -> Integers:
        return self._thread[lanes] // (WARPS_OF_GROUP * WARP if kind == "wgmma" else 1)

    def end_early(self, event: EndedEarly) -> None:
        """Note that a phase ends before all of its copies have landed."""
        self._early.setdefault(event.place, event)

    def _named_copy(self, verb: str, usual: str, transfer: Transfer, words: Integers) -> str:
        """Return what a thread does to words that a copy may still write, with the bytes if that is the cause."""
        places = [] if transfer.mbarriers is None else np.unique(transfer.mbarriers).tolist()
        early = next((self._early[place] for place in places if place in self._early), None)
        if early is None:
            return self._named(usual, words)
        rest = early.expected, at_line(early.at), early.coming
        return f"{verb} {_TOO_FEW_BYTES.format(self._report.name(int(words[words >= 0][0])), *rest)}"

    def read(self, at: Instruction, words: Integers, lanes: Integers) -> None:
        """Check reads of words by lanes, [rows, words] and [rows, lanes], that may not have been written yet."""
        for number, rows in self._by_transfer(self._writing, words):
            transfer = self._transfers[number]
            usual = _COPYING + _NO_WAIT if transfer.mbarriers is None else _BULK_COPYING
            text = self._named_copy("reads", usual, transfer, words[rows[0]])
            text = self._stages.beyond(transfer, words[rows[0]], lanes[rows[0]]) or text
            if number in self._issued and self._groups["copy"].were_open(transfer.lanes[:, 0], self._issued[number]):
                text = self._named(_COPYING + lacking_commit("copy", transfer.at), words[rows[0]])
            self._report.add("unfinished-copy", at, lanes[rows, 0], text, transfer.at)
        for number, rows in self._by_transfer(self._landed, words):
            blocks, landing = words[rows].max(axis=1) // BLOCK_WORDS, self._landings[number]
            # All lanes that read together must have waited.
            acquired = self._clocks.clock[lanes[rows], landing.column[blocks, np.newaxis]].min(axis=1)
            late = rows[acquired < landing.number[blocks]]
            if late.size:
                transfer = self._transfers[number]
                text = self._named_copy("reads", _BULK_COPYING, transfer, words[late[0]])
                text = self._stages.beyond(transfer, words[late[0]], lanes[late[0]]) or text
                self._report.add("unfinished-copy", at, lanes[late, 0], text, transfer.at)

    def write(self, at: Instruction, words: Integers, lanes: Integers) -> None:
        """Check writes of words by lanes, and let them replace what copies have written."""
        self.check_write(at, words, lanes)
        self._landed[words] = 0
        self._origins.forget(words)

    def check_write(self, at: Instruction, words: Integers, lanes: Integers) -> None:
        """Check writes of words by lanes that transfers in flight may still write, or read."""
        for number, rows in self._by_transfer(self._writing, words):
            transfer = self._transfers[number]
            if not (effect(at).step == effect(transfer.at).step == "reduce"):
                text = self._named_copy("writes", _OVERWRITTEN_COPY, transfer, words[rows[0]])
                self._report.add("unfinished-copy", at, lanes[rows, 0], text, transfer.at)
        for kind, reads in self._readers.items():
            groups = np.where(words >= 0, reads.group[words], 0)
            rows = np.flatnonzero(groups.any(axis=1))
            if not rows.size:
                continue
            words_read = words[rows, groups[rows].argmax(axis=1)]
            blocks = words_read // BLOCK_WORDS
            writers, endings = lanes[rows, 0], _endings(kind)
            ended = [self._clocks.of_kind(writers, blocks, ending) >= groups[rows].max(axis=1) for ending in endings]
            late = ~np.logical_and.reduce(ended)
            # A warp that has waited itself is seldom ahead of the others of its warpgroup: public code relies on it.
            warps = self._thread[writers] // WARP
            waited = [(warps == ending[1]) & mine for ending, mine in zip(endings, ended, strict=True)]
            alone = late & np.logical_or.reduce(waited) & (kind[0] == "wgmma")
            for violation, chosen in (("overwritten-in-flight", late & ~alone), ("early-refill", alone)):
                if chosen.any():
                    row = int(np.flatnonzero(chosen)[0])
                    word = int(words_read[row])
                    reader = self._transfers[int(reads.transfer[word])]
                    unended = next(
                        ending for ending, waited_for in zip(endings, ended, strict=True) if not waited_for[row]
                    )
                    cause = self._lacking_commit(kind[0], reader, word, int(reads.group[word]))
                    text = early_write(self._report, self._clocks.numbers, unended, word, int(writers[row]), cause)
                    lines = self._loops.arrival_before_end(reader.at) if kind[0] == "wgmma" and not cause else None
                    arrival, wait = lines or (0, 0)
                    early = _EARLY_ARRIVAL if wait else _ENDED_TOO_LATE
                    hint = early.format(arrival, wait) if arrival else ""
                    self._report.add(violation, at, lanes[rows[chosen], 0], text, reader.at, hint)

    def _check_descriptor(self, transfer: Transfer) -> None:
        """Check that neighbouring chunks of a matrix were neighbours in global memory."""
        if (misread := self._origins.misread(transfer)) is not None:
            rows, word = misread
            copy = self._transfers[int(self._landed[word])]
            text = _MISMATCH.format(self._report.name(word), transfer.layout, copy.layout or "threads' own order")
            if (key := (transfer.at, copy.at, copy.tensor_name)) not in self._mistakes:
                self._mistakes[key] = self._origins.mistake(transfer, np.flatnonzero(rows), copy)
            text += self._mistakes[key]
            self._report.add("descriptor-mismatch", transfer.at, transfer.lanes[rows, 0], text, copy.at)

    def end(self) -> None:
        """Check that threads have waited for all transfers before their blocks end."""
        for number in np.unique(self._writing).tolist():
            transfer = self._transfers[number]
            if transfer.mbarriers is not None:
                self._report.add("unawaited-copy", transfer.at, transfer.lanes[:, 0], _UNAWAITED)
        for kind, reads in self._readers.items():
            if kind[0] == "bulk":
                groups, lanes = reads.group.reshape(self._blocks, -1), np.flatnonzero(self._thread == kind[1])
                blocks = self._block[lanes]
                late = self._clocks.of_kind(lanes, blocks, kind) < groups.max(axis=1)[blocks]
                if late.any():
                    block = int(blocks[late][0])
                    word = block * BLOCK_WORDS + int(groups[block].argmax())
                    reader = self._transfers[int(reads.transfer[word])]
                    cause = self._lacking_commit("bulk", reader, word, int(reads.group[word])) or _NO_WAIT_FOR_STORE
                    self._report.add("unawaited-store", reader.at, lanes[late], _UNAWAITED_STORE + cause)

    def _by_transfer(self, numbers: NDArray[np.int32], words: Integers) -> Iterator[tuple[int, Integers]]:
        """Yield the transfers that words (none where less than 0) belong to, each with the rows of these words."""
        transfers = np.where(words >= 0, numbers[words], 0)
        for number in np.unique(transfers).tolist():
            if number:
                yield number, np.flatnonzero((transfers == number).any(axis=1))

    def _named(self, text: str, words: Integers) -> str:
        return text.format(self._report.name(int(words[words >= 0][0])))


def _endings(kind: Kind) -> list[Kind]:
    """Return the kinds of events that end the reads of a kind: each warp of a warpgroup ends its own."""
    name, number = kind
    return [(name, WARPS_OF_GROUP * number + warp) for warp in range(WARPS_OF_GROUP)] if name == "wgmma" else [kind]
