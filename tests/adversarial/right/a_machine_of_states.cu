// A switch on a state in an endless loop: load, multiply, step, store. Rows and columns are in different states.
// sizes: 17x19x13
// config: block=32
// grid: 4

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    enum { begin, load, multiply, step, store, end } state = begin;
    int i = blockIdx.x * 32 + threadIdx.x, p = 0;
    float a = 0.0f, b = 0.0f, sum = 0.0f;
    for (;;) {
        switch (state) {
        case begin:
            p = i % k;
            sum = 0.0f;
            state = i < m * n ? load : end;
            break;
        case load:
            a = A[i / n * k + p];
            b = B[p * n + i % n];
            state = a == 0.0f ? step : multiply;
            break;
        case multiply:
            sum += a * b;
            state = step;
            break;
        case step:
            p = p + 1 < k ? p + 1 : 0;
            state = p == i % k ? store : load;
            break;
        case store:
            C[i] = sum;
            i += 128;
            state = begin;
            break;
        default:
            return;
        }
    }
}
