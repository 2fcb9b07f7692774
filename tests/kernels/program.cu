#include <cstdio>
#include <vector>
#include <cublas_v2.h>
using namespace std;
using std::string;
#define CHECK(call) do { cudaError_t e = call; if (e) { fprintf(stderr, "no"); exit(1); } } while (0)
#define N 8
static std::vector<float> inputs;
typedef std::vector<float> Floats;
template <typename T>
T sum(const std::vector<T>& all)
{
    T result = 0;
    for (const auto& each : all) result += each;
    return result;
}
extern "C" __global__ void f(const float* A, const float* B, float* C, int n) { C[0] = VALUE; }
void launch(float* A, int n);
int main(int argc, char** argv)
{
    float* A;
    CHECK(cudaMalloc(&A, N));
    auto run = [&](int n) { f<<<1, dim3(N, 1)>>>(A, A, A, n); };
    run(3);
#ifdef PRINT
    std::cout << "done" << std::endl;
#endif
    return 0;
}
