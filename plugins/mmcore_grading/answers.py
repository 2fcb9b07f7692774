"""The commands whose answers grade a submission, and their answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from mmcore.devices.violations import Violation
from mmcore.kernel.sizes import Sizes
from mmcore.verify.outcome import Verification
from mmcore_grading.submissions import Submission, kernel_names
from mmcore_grading.task import Task

NOT_GRADED = "not graded: "
"""The beginning of the reason why a submission has no grade yet."""

COULD_NOT_RUN = 2
"""The exit status of a command that could not run."""

COMPILE = "compile"
"""The name of the command that compiles a file."""

RUN = "run"
"""The name of the command that runs its kernel at the sizes that its code asks for."""

OF_CLOCK = "20 times limits.seconds of the task is the limit"
"""The limit of the seconds by the clock."""

COMMAND_LINES = re.compile(r"\n  mmcore .*")
"""The commands below a message, for one's own terminal."""

UNUSUAL_READING = "unusual-reading"
"""A kind of violation: right if read as another product; its hint is an option."""

OTHER_PRODUCTS = (UNUSUAL_READING, "not-zeroed", "batch-step")
"""Kinds of violations of a kernel that computes another product, such as C + A·B, or the first of a batch alone."""

GRIDS = ("rounded-down-grid", "uncovered-product")
"""Kinds of violations of a grid that leaves a part of C out at the sizes of the program."""

_OF_HOST = ("wrong-size", "wrong-extent", "wrong-stride", "wrong-type")
"""Kinds of violations of the rest of the program's host code, which is not graded."""

_OF_LAUNCH = ("InvalidKernel", "LacksOption", "InvalidConfig", "ConstraintViolation", "SharedMemoryExceeded")
"""The errors of a source that compiles, and whose kernel cannot be launched as a product."""

_OF_PROGRAM = "UnknownValue"
"""The error of a source that compiles with values that only a run of its program computes."""

_UNKNOWN = re.compile(r"\nError: (the emulator does not know .*)")
_INFERRED = re.compile(r"^inferred from .*?(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)
_FIXES = re.compile(r"is not what the source fixes, m×n×k = ([\d×]+);")
_UNINSTALLED = re.compile(r"\bpython -m pip install 'mmcore-cuda\[\w+\]'")
_FOLDERS = re.compile(
    r"(includes (?:a header that is|headers that are) not found: .*?); [^;]*include= in its declaration .*"
)
_OPTION = re.compile(r"(; (?:give another with --block|--option=-I… .*|--config \w+=.*))$", re.MULTILINE)
_MEMORY = re.compile(r"the host has no memory for (?P<array>.*)|MemoryError\b.*")
_CHOICE = re.compile(r"(.* has \d+ kernels, .*); give one, as in --entry .*")
_NO_SUCH_KERNEL = re.compile(r"(.* has no (?:__global__ function|kernel) \w+); it has (.*)")
_IMPORTED_KERNEL = re.compile(r"(.* has no kernel): .*; it imports (.*), so try mmcore run .*")

Document: TypeAlias = Mapping[str, Any]
"""The JSON document of a command."""

Commands: TypeAlias = Mapping[str, Sequence[str]]
"""The words of commands, by name."""


def with_limit(text: str) -> str:
    """Return a text in which a refused allocation is the limit that the task sets."""
    return _MEMORY.sub(_over_limit, text)


def _over_limit(refused: re.Match[str]) -> str:
    needing = f"{refused['array']} need" if refused["array"] else "the emulation needs"
    return f"{needing} more memory than allowed; limits.memory_mb of the task sets the limit"


@dataclass(frozen=True)
class Answer:
    """The answer of one command: its exit status, its JSON document, its message and the class of its error."""

    status: int
    document: Mapping[str, Any] | None
    message: str = ""
    error: str = ""

    @property
    def reason(self) -> str:
        """Why the command gave no document, in a sentence or a compiler's lines."""
        sentence = COMMAND_LINES.sub("", f"\n{self.message}".rpartition("\nError: ")[2]).strip()
        sentence = _CHOICE.sub(rf"{NOT_GRADED}\1; the table [entry] of the task can name a student's kernel", sentence)
        sentence = _NO_SUCH_KERNEL.sub(rf"{NOT_GRADED}\1, which the task names; it has \2", sentence)
        imported = rf"{NOT_GRADED}\1, but \2 has, which it imports; submission in the task can name that file"
        sentence = _IMPORTED_KERNEL.sub(imported, sentence)
        sentence = _OPTION.sub(r"\1; options = [...] of the task takes it", sentence)
        sentence = _FOLDERS.sub(r"\1; submit headers with the file", sentence)
        sentence = f"{NOT_GRADED}{sentence}" if self.lacks_package or self.error == _OF_PROGRAM else sentence
        return with_limit(sentence.replace("--timeout sets the limit", OF_CLOCK)) or "it gave no answer"

    @property
    def unlaunched(self) -> str:
        """The reason why a kernel that compiles cannot be launched as a product; empty for all others."""
        return self.reason if self.error in _OF_LAUNCH and not self.reason.startswith(NOT_GRADED) else ""

    @property
    def unknown(self) -> str:
        """The instruction or feature that the emulator lacks for the kernel, as a clause; empty if it lacks none."""
        found = None if self.document else _UNKNOWN.search(f"\n{self.message}")
        return found[1] if found else ""

    @property
    def inferred(self) -> str:
        """The lines on what is inferred from the source, such as the grid; empty without any."""
        found = _INFERRED.search(self.message)
        return found[0].rstrip() if found else ""

    @property
    def lacks_package(self) -> bool:
        """True if the file needs a package that is not installed here."""
        return self.document is None and _UNINSTALLED.search(self.message) is not None

    @property
    def faults(self) -> Sequence[str]:
        """The faults of the kernel and its grid that a result reports, a line each; none if it is right."""
        if self.document is not None and self.document.get("verified"):
            return []
        if self.document is None or "violations" not in self.document:  # the process ended before there was a result
            return [self.reason]
        violations = [each for each in self._violations if each.kind not in _OF_HOST]
        lines = [str(replace(each, hint="") if each.kind == UNUSUAL_READING else each) for each in violations]
        verification = Verification.from_json(self.document) if "verification" in self.document else None
        if verification is not None and verification.mismatch is not None:
            lines.append(f"wrong-product: {verification.mismatch}")
        return lines

    @property
    def _violations(self) -> Sequence[Violation]:
        return [*map(Violation.from_json, (self.document or {}).get("violations", ()))]

    def host_faults(self, *others: str) -> Sequence[str]:
        """Return the faults of host code that cost no points, a line each; ``others`` are further kinds of them."""
        return [str(each) for each in self._violations if each.kind in (*_OF_HOST, *others)]

    @property
    def meant(self) -> Sequence[str]:
        """The options that declare an unusual reading, such as "--column-major B if this is meant"."""
        return [each.hint for each in self._violations if each.kind == UNUSUAL_READING and each.hint]

    @property
    def not_run(self) -> str:
        """The sizes that the source fixes, where they prevented the run; empty otherwise."""
        fixes = None if self.document else _FIXES.search(self.message)
        return f"the source fixes {fixes[1]}" if fixes else ""


Answers: TypeAlias = Mapping[str, Answer]
"""The answers of :func:`commands`, by name; the time limit may have left some out."""

NO_ANSWER = Answer(COULD_NOT_RUN, None, "Error: the limits of a submission were reached before this")
"""The answer of a command that did not run."""


def commands(task: Task, submission: Submission) -> Commands:
    """Return the commands whose answers the rubric needs, by name; the first compiles the file.

    Those that take longer follow, so that a limit of time leaves the others their answers.
    Of several kernels, the one that the task names for the student is graded, else the one that is named as in the
    task's own files.
    """
    names, file = kernel_names(submission.text), submission.file
    file = f"./{file}" if file.startswith("-") else file  # else it would be an option
    named = [*names & task.kernels] if len(names) > 1 and "--entry" not in task.options else []
    if submission.student in task.entry:
        named = [task.entry[submission.student]]
    entry = ["--entry", *named] if len(named) == 1 else []
    options = [*task.options, *entry, "--json"]
    seeded = ["--timeout", f"{task.limits.wall_seconds:g}", *options, "--seed", str(task.seed)]
    size, on_emulator = ["--size", _words(task.shown[0])], ["--device", "emulator"]
    plain = ["--no-hazards", "--baseline", "none", "--device", task.device, *seeded]
    asked: dict[str, Sequence[str]] = {COMPILE: ["occupancy", file, *on_emulator, *options]}
    asked |= {run_at(each): ["run", file, "--size", _words(each), *plain] for each in task.tried}
    if task.asks("counts"):
        asked["profile"] = ["profile", file, *size, *on_emulator, *seeded]
    asked |= {check_at(each): ["check", file, "--size", _words(each), *on_emulator, *seeded] for each in task.checked}
    asked[RUN] = ["run", file, *on_emulator, *seeded]
    if task.asks("proved"):
        asked["prove"] = ["prove", file, *on_emulator, *seeded]
    if task.asks("coalesced", "overlapped"):
        asked["why"] = ["why", file, *seeded]  # at its usual size, which is large
    return asked


def run_at(size: Sizes) -> str:
    """Return the name of the command that runs a kernel at a size."""
    return f"run {_words(size)}"


def check_at(size: Sizes) -> str:
    """Return the name of the command that looks for hazards of a kernel at a size."""
    return f"check {_words(size)}"


def _words(size: Sizes) -> str:
    return "x".join(map(str, size))
