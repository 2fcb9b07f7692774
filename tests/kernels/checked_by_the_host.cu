#include <vector>
#include "timing.h"
__device__ float twice(float x) { return 2 * x; }
KERNEL
int check(const std::vector<float> &found) {
    return found.empty();
}

int main() {
    mul<<<dim3(2, 2), dim3(16, 16)>>>(nullptr, nullptr, nullptr, 32, 32, 32);
    return check({});
}
