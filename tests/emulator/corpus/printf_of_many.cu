// Arguments of a call beyond the 32nd are not printed.
// launch: block=(1,)
// P[0] = 32
// run.run.printed.text() = " ".join(["7"] * 32 + ["%d"] * 2)
#define EIGHT(X) X X X X X X X X
#define SEVENS 7, 7, 7, 7, 7, 7, 7, 7
extern "C" __global__ void f(int* out) {
    out[0] = printf(EIGHT("%d ") EIGHT("%d ") EIGHT("%d ") EIGHT("%d ") "%d %d", SEVENS, SEVENS, SEVENS, SEVENS, 8, 9);
}
