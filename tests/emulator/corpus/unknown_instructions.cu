// An unknown instruction is refused by its name and line before anything runs.
// with STATEMENT, NAME, LINE: asm("multimem.red.relaxed.sys.global.add.u32 [%0], 1;" :: "l"(out))
//     -> multimem.red.relaxed.sys.global.add.u32 -> (test.cu:9)
// with STATEMENT, NAME, LINE: out[0] = tex1Dfetch<int>((cudaTextureObject_t)out, 0) -> tex.1d -> the emulator
// refused: the emulator does not know the instruction NAME
// refused: LINE
extern "C" __global__ void f(int* out)
{
    STATEMENT;
}
