// Cases of a switch fall through.
// P[t] = [33, 3, 99, 99, -8, -6][t % 6]
extern "C" __global__ void f(int* out) {
    int x = 1;
    switch (threadIdx.x % 6) {
        case 0: x += 10;
        case 1: x *= 3; break;
        case 4: x = -x;
        case 5: x -= 7; break;
        default: x = 99;
    }
    out[threadIdx.x] = x;
}
