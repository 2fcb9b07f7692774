// Each thread may print another string.
// launch: block=(4,)
// run.run.printed.text().splitlines() = ["even abc 0", "odd acc 1", "even abe 2", "odd dbc 3"]
extern "C" __global__ void f(int* out) {
    char name[4] = {'a', 'b', 'c', 0};
    name[threadIdx.x % 3] += threadIdx.x;
    __shared__ char row[4][2];
    row[threadIdx.x][0] = '0' + threadIdx.x; row[threadIdx.x][1] = 0;
    printf(threadIdx.x % 2 ? "odd %s %s\n" : "even %s %s\n", name, row[threadIdx.x]);
}
