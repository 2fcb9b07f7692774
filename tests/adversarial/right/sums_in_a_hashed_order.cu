// Each element adds its terms in its own order: p steps through k by a number that is prime to k.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const unsigned row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    unsigned hash = (row * 2654435761u) ^ (column * 2246822519u);
    hash = (hash ^ hash >> 15) * 3266489917u;
    unsigned step = hash % k + 1, a = step, b = k;
    while (b) {
        const unsigned rest = a % b;
        a = b;
        b = rest;
    }
    if (a != 1)
        step = 1;
    float sum = 0.0f;
    for (unsigned count = 0, p = (hash >> 8) % k; count < k; ++count, p = (p + step) % k)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
