// float64 matrices as integers modulo small primes, for the tensor cores that multiply bytes (Ozaki scheme II).
//
// Each row of A and column of B is multiplied by a power of two of its own and rounded to integers, so that every sum of
// products stays below P / 2, where P is the product of MODULI numbers without common divisors. Such a sum is known by
// its residues modulo these numbers, each of which is the sum of products of residues, and these are bytes.
//
// The scale of a line is chosen by its Euclidean norm: |a · b| is at most the product of the two norms.

#pragma once

typedef unsigned __int128 Wide;

// The moduli, pairwise without common divisors, from the largest.
constexpr int ALL_MODULI[15] = {256, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193};
constexpr int LIMB = 41;  // bits of a part of a weight: MODULI products with residues have an exact sum in a double

struct Arithmetic {
    double modulus[MODULI], inverse[MODULI];  // p and 1 / p
    double weight[MODULI][3], product[3];     // in parts that add up: of numbers that are 1 modulo p and 0 modulo
                                              // the others, and of P
    double over_product, largest_norm;        // 1 / P, and the root of P / 2 less a per cent
    int integer[MODULI], reciprocal[MODULI];  // p and 2^38 / p
};

constexpr double power(int exponent)
{
    double result = 1;
    for (int i = 0; i < exponent; ++i)
        result *= 2;
    return result;
}

constexpr int bits(Wide number)
{
    int count = 0;
    for (; number; number >>= 1)
        ++count;
    return count;
}

// The part of a number in the bits from `low` on, below those from `high` on.
constexpr double part(Wide number, int low, int high)
{
    const Wide above = number >> high << high;
    return static_cast<double>(static_cast<unsigned long long>((number - above) >> low)) * power(low);
}

constexpr Arithmetic arithmetic()
{
    Arithmetic result = {};
    Wide all = 1;
    for (int l = 0; l < MODULI; ++l)
        all *= ALL_MODULI[l];
    const int top = bits(all) - LIMB, middle = top - LIMB;
    for (int l = 0; l < MODULI; ++l) {
        const unsigned p = ALL_MODULI[l];
        const Wide others = all / p;
        unsigned inverse = 1;
        while (static_cast<unsigned>(others % p) * inverse % p != 1)
            ++inverse;
        const Wide weight = others * inverse;
        result.modulus[l] = p;
        result.inverse[l] = 1.0 / p;
        result.integer[l] = p;
        result.reciprocal[l] = static_cast<int>(((1ull << 38) + p / 2) / p);
        result.weight[l][0] = part(weight, top, 127);
        result.weight[l][1] = part(weight, middle, top);
        result.weight[l][2] = part(weight, 0, middle);
    }
    result.product[0] = part(all, top, 127);
    result.product[1] = part(all, middle, top);
    result.product[2] = part(all, 0, middle);
    result.over_product = 1 / (result.product[0] + result.product[1]);
    double root = power(bits(all) / 2);
    for (int i = 0; i < 8; ++i)
        root = (root + (result.product[0] + result.product[1]) / 2 / root) / 2;
    result.largest_norm = 0.99 * root;
    return result;
}

__constant__ const Arithmetic NUMBERS = arithmetic();

constexpr double ROUNDER = 6755399441055744.0;  // 1.5·2^52: adding it rounds a double to an integer
constexpr int NOT_SCALED = -1 << 30;            // a line's exponent that could not be chosen

// The exponent of a line's scale, which brings its norm to at most the largest that is allowed.
inline __device__ int scale_of(double squares)
{
    if (squares == 0)
        return 0;
    if (!(squares > 1e-240 && squares < 1e240))
        return NOT_SCALED;
    return ilogb(NUMBERS.largest_norm / sqrt(squares));
}

inline __device__ double power_of_two(int exponent)
{
    return __hiloint2double((1023 + exponent) << 20, 0);
}

// The residue of an integer in a double, between -128 and 127. The quotient may be off by one unit.
inline __device__ int residue(double integer, int l)
{
    const double quotient = fma(integer, NUMBERS.inverse[l], ROUNDER) - ROUNDER;
    int rest = __double2loint(fma(-NUMBERS.modulus[l], quotient, integer) + ROUNDER);
    if (rest > 127)
        rest -= NUMBERS.integer[l];
    if (rest < -128)
        rest += NUMBERS.integer[l];
    return rest;
}

// The residue of a sum of products of residues, likewise.
inline __device__ int residue(int sum, int p, int reciprocal)
{
    const int rest = sum - ((__mulhi(sum, reciprocal) + 32) >> 6) * p;
    return rest > 127 ? rest - p : rest;
}

// The integer below P / 2 that has these residues.
inline __device__ double combined(const int (&residues)[MODULI])
{
    double sums[3] = {};
#pragma unroll
    for (int l = 0; l < MODULI; ++l) {
        const double rest = __hiloint2double(0x43380000, residues[l] + 128) - (ROUNDER + 128);
#pragma unroll
        for (int i = 0; i < 3; ++i)
            sums[i] = fma(NUMBERS.weight[l][i], rest, sums[i]);
    }
    // All of these are exact until the parts are added.
    const double quotient = rint((sums[0] + sums[1]) * NUMBERS.over_product);
#pragma unroll
    for (int i = 0; i < 3; ++i)
        sums[i] = fma(-NUMBERS.product[i], quotient, sums[i]);
    return sums[0] + (sums[1] + sums[2]);
}
