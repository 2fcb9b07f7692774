// A string that does not end in its array, or that is in none, is read out of bounds.
// given: np.full(32, 65, np.uint8)
// with STRING, PRINTED, MESSAGE: out + 30 -> AA -> reads the first byte past the end of P
// with STRING, PRINTED, MESSAGE: (char*)16 -> (null) -> reads address 0x10, far from
// with STRING, PRINTED, MESSAGE: (char*)0xfff000000000 -> (null) -> reads address 0xfff000000000, far from
// expect: out-of-bounds-read at line 9: thread (0, 0) of block (0, 0) MESSAGE
// run.run.printed.text().splitlines() = ["PRINTED"] * 32
extern "C" __global__ void f(char* out) {
    printf("%s\n", STRING);
}
