// The number of steps until z = z*z + c leaves the circle of radius 2; c is in a structure passed by value.
// given: steps = np.zeros((11, 19), np.uint8); window = struct.pack("dddii", -2, 0.75, 0.15, 19, 11)
// launch: mandelbrot<<<(2, 2), (16, 8)>>>(window, steps, 50)
// expect: steps = mandelbrot(11, 19, 50)
struct Window {
    double left, top, step;
    int width, height;
};

extern "C" __global__ void mandelbrot(Window window, unsigned char* steps, int most)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= window.width || row >= window.height)
        return;
    double re = window.left + column * window.step, im = window.top - row * window.step, x = 0, y = 0;
    int step = 0;
    for (; step < most && x * x + y * y <= 4; step++) {
        double next = __dadd_rn(__dsub_rn(__dmul_rn(x, x), __dmul_rn(y, y)), re);
        y = __dadd_rn(__dmul_rn(__dmul_rn(2, x), y), im);
        x = next;
    }
#ifdef TRANSPOSED
    steps[column * window.height + row + 8] = step;  // TRANSPOSED: out-of-bounds-write
#else
    steps[row * window.width + column] = step;
#endif
}
