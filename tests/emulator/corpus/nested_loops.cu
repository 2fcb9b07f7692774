// Loops diverge with break, continue and an early return.
// given: zeros(128), np.arange(-20, 108, dtype=i32)
// launch: grid=(2,), block=(64,)
// P[t] = nested_loops(t - 20)
extern "C" __global__ void f(int* out, const int* in) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (in[i] < 0) return;
    int total = 0;
    for (int a = 0; a < in[i] % 7; ++a) {
        if (a == 3) continue;
        for (int b = 0;; ++b) {
            if (b > a + in[i] % 3) break;
            if ((a + b) % 2) total += a * b; else total -= b;
            if (total > 40) { out[i] = -total; return; }
        }
    }
    out[i] = total;
}
