"""The lines of inline assembly, as NVRTC releases mark them that give a statement its last line."""

import pytest

from mmcore_emulator.ptx.asm_lines import with_first_lines, with_statement_lines

SOURCE = """\
__device__ void f(int x) {  // asm( opens nothing here
    asm volatile("bar.sync 0; // )"
                 :: "r"((x))
                 : "memory");
    __asm__("trap;"); int y = (
        x);
}
"""


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        (".loc\t1 1 5", ".loc\t1 1 5"),
        (".loc\t1 2 5", ".loc\t1 2 5"),
        (".loc\t1 3 5", ".loc\t1 2 5"),
        (".loc\t1 4 5", ".loc\t1 2 5"),
        (".loc\t1 6 9", ".loc\t1 6 9"),
        (".loc\t2 4 5", ".loc\t2 4 5"),
        (".loc\t2 4 5, function_name $L, inlined_at 1 4 5", ".loc\t2 4 5, function_name $L, inlined_at 1 2 5"),
        ("mov.u32 %r1, 4;", "mov.u32 %r1, 4;"),
    ],
)
@pytest.mark.parametrize("folder", ["", "/home/a b/"])
def test_a_statement_has_the_number_of_its_first_line(mark: str, expected: str, folder: str) -> None:
    files = f'\t.file\t1 "{folder}kernel.cu"\n\t.file\t2 "{folder}header.cuh"\n'
    assert with_first_lines(f"\t{mark}\n{files}", "kernel.cu", SOURCE) == f"\t{expected}\n{files}"


def test_the_assembly_of_triton_has_the_line_of_its_statement() -> None:
    block = "\t// begin inline asm\n\t.loc\t1 39 13\n\tmov.u16 %rs1, 0x0;\n{}\tld.global.b16 {{ %rs1 }}, [ %rd1 ];\n"
    block += "\n\t// end inline asm\n\t.loc\t1 40 13\n"
    further = "\t.loc\t1 40 13                         // my.py:40:13\n"
    assert with_statement_lines(block.format(further) * 2) == block.format("") * 2
    assert with_statement_lines(further * 3) == further * 3
