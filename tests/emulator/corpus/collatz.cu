// Threads that leave a loop at different times keep their values.
// given: zeros(96), zeros(96)
// launch: grid=(3,)
// P[t] = collatz(t + 1)[0]
// Q[t] = collatz(t + 1)[1]
extern "C" __global__ void f(int* steps, int* sums) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = i + 1;
    int count = 0, sum = 0;
    while (x != 1) {
        sum += x;
        x = x % 2 ? 3 * x + 1 : x / 2;
        ++count;
    }
    steps[i] = count;
    sums[i] = sum;
}
