// A call prints as the C library of the host does, and returns the number of its arguments.
// launch: block=(1,), architecture="ARCH"
// with ARCH: 75 | 90 | 100
// with CALL, COUNT, TEXT: "none\n" -> 0 -> "none\n" | "" -> 0 -> "" | (const char*)0 -> -1 -> ""
// with CALL, COUNT, TEXT: "%d %i %u|%5d|%-5d|%05d|%+d|% d", -3, 4, 5u, 42, 42, 42, 42, 42
//     -> 8 -> "-3 4 5|   42|42   |00042|+42| 42" | "%x %X %#x %o", 255, 255, 255, 8 -> 4 -> "ff FF 0xff 10"
// with CALL, COUNT, TEXT: "%lld %llu %llx %ld %lu", -5ll, ~0ull, 1ll << 40, -(1l << 40), 7ul
//     -> 5 -> "-5 18446744073709551615 10000000000 -1099511627776 7"
// with CALL, COUNT, TEXT: "%hd %hhu %c%c", (short)-2, (unsigned char)200, 65, 'b' -> 4 -> "-2 200 Ab"
// with CALL, COUNT, TEXT: "%f %.2f %8.3f|%-8.1f|%e %g %G", 1.5, 3.14159f, -2.0, 0.25f, 12345.678, 1e-10, 1e20f
//     -> 7 -> "1.500000 3.14   -2.000|0.2     |1.234568e+04 1e-10 1E+20"
// with CALL, COUNT, TEXT: "%f %f %e", __int_as_float(0x7f800000), -__int_as_float(0x7f800000), nanf("")
//     -> 3 -> "inf -inf nan" | "%a", 1.5 -> 1 -> "0x1.8p+0" | "%p %p", (void*)0x1234, (void*)0 -> 2 -> "0x1234 (nil)"
// with CALL, COUNT, TEXT: "%s|%8s|%-4s|%.2s|%s", "text", "right", "l", "cut", (const char*)0
//     -> 5 -> "text|   right|l   |cu|(null)"
// with CALL, COUNT, TEXT: "%*d|%-*d|%.*f", 6, 42, 4, 7, 1, 2.55 -> 6 -> "    42|7   |2.5"
// with CALL, COUNT, TEXT: "100%% of %d%%", 3 -> 1 -> "100% of 3%" | "%n %y %5$d %" -> 0 -> "%n %y %5$d %"
// with CALL, COUNT, TEXT: "%d %f %d %s %c", 1, 2.0, 3, "four", 53 -> 5 -> "1 2.000000 3 four 5"
// with CALL, COUNT, TEXT: "tab\tand \x1b[31mred" -> 0 -> "tab\tand \x1b[31mred"
// run.run.printed.text() = TEXT
// P[0] = COUNT
extern "C" __global__ void f(int* out) { out[0] = printf(CALL); }
