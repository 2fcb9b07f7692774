// A trap is a violation of the threads that reach it.
// with STATEMENT, NAME: __trap(); -> trap: __trap(), or an access through a null pointer | __brkpt(); -> breakpoint
// with ARCH: 75 | 90 | 100
// launch: architecture="ARCH"
// P[t] = int(t % 5 != 3)
// [str(each) for each in run.violations] = [
//     "trap at test.cu:12: thread (3, 0) of block (0, 0) comes to a NAME"]
// expect: trap at line 12
extern "C" __global__ void f(int* out) {
    const int t = threadIdx.x;
    if (t % 5 == 3)
        STATEMENT
    __syncthreads();
    out[t] = 1;
}
