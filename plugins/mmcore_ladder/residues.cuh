// Integers as their residues modulo MODULI small numbers (Ozaki scheme II).
//
// If a sum of products of integers stays below P / 2, where P is the product of numbers without common divisors, it is
// known by its residues modulo these, each of which is the sum of products of residues, and these are bytes.
// |a · b| is at most the product of the two norms, so norms up to √(P / 2) are allowed.

#pragma once

#include "integers.cuh"

typedef unsigned __int128 Wide;

// The moduli, pairwise without common divisors, from the largest.
constexpr int ALL_MODULI[15] = {256, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193};
constexpr int LIMB = 41;           // bits of a part of a fraction: MODULI products with residues have an exact sum
constexpr float UNITS = 12582912;  // 1.5·2²³: adding it rounds a float to an integer
constexpr int FIRST = 0x4B000000;  // the bits of 2²³ as a float, from which bits count units

struct Arithmetic {
    double fractions[MODULI][2];  // in parts that add up: of P, of numbers that are 1 modulo p and 0 modulo the others
    double product, largest_norm, least_spread;  // P, and √(P / 2) less a thousandth
    int weights[MODULI][2];       // the bytes of a word are powers of 256 modulo p, from -128 to 127
    int base[MODULI], base_of_sums[MODULI];
    float negative[MODULI], inverse[MODULI], turns[MODULI];  // -p, 1 / p, and UNITS + the base's multiples of p
};

constexpr double power(int exponent)
{
    double result = 1;
    for (int i = 0; i < exponent; ++i)
        result *= 2;
    for (int i = 0; i > exponent; --i)
        result /= 2;
    return result;
}

// The byte in place i of a word of weights modulo p.
constexpr unsigned weight(int i, int p)
{
    int rest = 1;
    for (; i > 0; --i)
        rest = rest * 256 % p;
    return (rest > 127 ? rest - p : rest) & 255;
}

constexpr Arithmetic arithmetic()
{
    Arithmetic result = {};
    Wide all = 1;
    for (int l = 0; l < MODULI; ++l)
        all *= ALL_MODULI[l];
    for (int l = 0; l < MODULI; ++l) {
        const int p = ALL_MODULI[l];
        int inverse = 1;
        while (static_cast<int>(all / p % p) * inverse % p != 1)
            ++inverse;
        const Wide fraction = (static_cast<Wide>(inverse) << 2 * LIMB) / p;
        const unsigned long long high = fraction >> LIMB, low = fraction & ((1ull << LIMB) - 1);
        result.fractions[l][0] = high * power(-LIMB);
        result.fractions[l][1] = low * power(-2 * LIMB);
        for (int i = 0; i < 8; ++i)
            result.weights[l][i / 4] |= static_cast<int>(weight(i, p) << i % 4 * 8);
        const int turns = ((1 << 23) + (1 << 18)) / (256 * p) + 1, base = turns * 256 * p;
        result.base[l] = FIRST + base - (1 << 23);
        result.base_of_sums[l] = result.base[l] - static_cast<int>((1u << 31) % p);
        result.negative[l] = -p;
        result.inverse[l] = 1.0f / p;
        result.turns[l] = UNITS + turns * 256;
    }
    result.product = static_cast<double>(static_cast<unsigned long long>(all >> 64)) * power(64) +
                     static_cast<double>(static_cast<unsigned long long>(all));
    result.largest_norm = 0.999 * root(result.product / 2);
    result.least_spread = least_spread(result.largest_norm);
    return result;
}

__constant__ const Arithmetic NUMBERS = arithmetic();

// What has the residue of a sum of weighted digits in its lowest byte. The sum is of a multiple of 256·p, more than
// 2²³, as bits of a float: so it is one, and its rounded quotient needs no conversion.
struct Modulus {
    int base_of_sums, low_weights;
    float negative, inverse, turns;

    __device__ explicit Modulus(int l)
        : base_of_sums(NUMBERS.base_of_sums[l]), low_weights(NUMBERS.weights[l][0]), negative(NUMBERS.negative[l]),
          inverse(NUMBERS.inverse[l]), turns(NUMBERS.turns[l])
    {
    }
    __device__ unsigned reduced(int bits) const
    {
        const float number = __int_as_float(bits);
        const float quotient = fmaf(number, inverse, UNITS) - turns;
        return __float_as_int(fmaf(quotient, negative, number));
    }
    // Of a sum of products of residues, which is a signed number: 2³¹ more is an unsigned one.
    __device__ unsigned residue(int sum) const
    {
        int bits;
        asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(bits) : "r"(sum ^ 0x80000000), "r"(low_weights), "r"(base_of_sums));
        return reduced(bits);
    }
};

// The residues of four integers modulo number l, as four bytes.
inline __device__ unsigned residues_of(int l, const Digits (&digits)[4])
{
    unsigned residues[4];
    for (int i = 0; i < 4; ++i) {
        int bits = NUMBERS.base[l];
        for (int j = 0; j < WORDS; ++j)
            bits = __dp4a(digits[i].words[j], NUMBERS.weights[l][j], bits);
        residues[i] = Modulus(l).reduced(bits);
    }
    return __byte_perm(__byte_perm(residues[0], residues[1], 0x40), __byte_perm(residues[2], residues[3], 0x40), 0x5410);
}

// The integer below P / 2 that has certain residues: `add` takes them one by one, each a byte that is larger by 128.
struct Combined {
    double high = 0, low = 0;  // exact sums, of P

    __device__ void add(int l, unsigned byte)
    {
        const double rest = __hiloint2double(0x43300000, byte) - (4503599627370496.0 + 128);  // 2⁵²
        high = fma(NUMBERS.fractions[l][0], rest, high);
        low = fma(NUMBERS.fractions[l][1], rest, low);
    }
    __device__ double number() const
    {
        return (high - rint(high + low) + low) * NUMBERS.product;
    }
};
