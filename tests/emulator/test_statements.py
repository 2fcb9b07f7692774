"""The emulator accepts the statements that ptxas accepts, and refuses the others by name."""

from __future__ import annotations

import re

import pytest

from tests.emulation import CAPABILITIES, least_capability, operand_types, parsed_statements, refused_statement
from tests.emulator.ptx_statements import REGISTERS, accesses, ptxas_refuses, statements
from tests.emulator.templates import expanded, template_file

# ptxas accepts these, which the manual does not document.
_UNDOCUMENTED = re.compile(r"(addc|madc\.hi)\.[us]16 |fma\.rm\.(relu\.)?bf16(x2)? |rcp\.r[nzmp]\.ftz\.f64 ")


def test_the_emulator_and_ptxas_accept_the_same_arithmetic() -> None:
    every = [each for each in statements(template_file("arithmetic")) if not _UNDOCUMENTED.match(each)]
    known = set()
    for statement, (opcode, results, operands) in zip(every, parsed_statements(every), strict=True):
        types = operand_types(".".join(opcode), results)
        if types and len(types[0]) == operands:
            known.add(statement)
    refused = ptxas_refuses(every, "90a")
    assert sorted(known & refused) == []
    assert sorted({*every} - known - refused) == []
    assert len(known) > 2000


def test_the_emulator_accepts_the_accesses_that_ptxas_accepts() -> None:
    every = accesses("copies", "loads", "stores", "others")
    unknown = {each for each in every if "UnsupportedInstruction" in refused_statement(f"{{ {REGISTERS} {each} }}")}
    taken = {*every} - ptxas_refuses(every, "90a")
    assert sorted(unknown & taken) == []
    assert len(taken) > 600


@pytest.mark.parametrize(
    ("files", "architecture"),
    [("tensor_copies im2col", "90a"), *(("wmma_of_bits", each) for each in ("75", "80", "90a"))],
)
def test_the_emulator_and_ptxas_accept_the_same_forms(files: str, architecture: str) -> None:
    every, capability = accesses(*files.split()), architecture.removesuffix("a")
    refused = {each for each in every if refused_statement(f"{{ {REGISTERS} {each} }}", architecture=capability)}
    assert refused == ptxas_refuses(every, architecture)
    assert 10 < len(refused) < len(every) - 10


NEWER = expanded(template_file("newer"))


@pytest.mark.parametrize("name", [name for name in CAPABILITIES if name != "emulator"])
def test_an_instruction_is_refused_where_ptxas_refuses_it(name: str) -> None:
    capability = CAPABILITIES[name]
    refused = ptxas_refuses(NEWER, f"{capability[0]}{capability[1]}{'a' * (capability == (9, 0))}")
    for each in NEWER:
        opcode = tuple(each.split()[0].removesuffix(";").split("."))
        assert (least_capability(opcode) > capability) == (each in refused), each


def test_an_architecture_refuses_missing_instructions_by_name() -> None:
    assert refused_statement("cp.async.commit_group;", architecture="80") == ""
    sentence = "UnsupportedInstruction: cp.async.commit_group needs compute capability 8.0"
    assert refused_statement("cp.async.commit_group;", architecture="75") == sentence


@pytest.mark.parametrize("opcode", [*template_file("unknown_opcodes").split(), ""])
def test_an_opcode_with_an_unknown_modifier_is_an_unknown_opcode(opcode: str) -> None:
    assert operand_types(opcode) is None


@pytest.mark.parametrize("line", expanded(template_file("refused")))
def test_a_wrong_statement_is_refused_in_words(line: str) -> None:
    statement, _, words = line.partition(" => ")
    opcode = statement.split()[0].removesuffix(";")
    words = words or f"UnsupportedInstruction: the emulator does not know the instruction {opcode}"
    error = refused_statement(statement)
    assert error.startswith(("PtxError: ", "UnsupportedInstruction: "))
    assert words == "…" or words in error
