"""Functions that the driver provides: a module may call them without defining them."""

from __future__ import annotations

FUNCTIONS = """
.func (.param .b32 count) vprintf(.param .b64 format, .param .b64 arguments)
{
    .reg .b32 %count; .reg .b64 %format, %arguments;
    ld.param.b64 %format, [format];
    ld.param.b64 %arguments, [arguments];
    vprintf %count, %format, %arguments;
    st.param.b32 [count], %count;
    ret;
}
.func __assertfail(
    .param .b64 text, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 character)
{
    .reg .b32 %line; .reg .b64 %text, %file;
    ld.param.b64 %text, [text];
    ld.param.b64 %file, [file];
    ld.param.b32 %line, [line];
    assertfail %text, %file, %line;
    exit;
}
"""
"""Their PTX, with instructions that exist in the emulator only."""
