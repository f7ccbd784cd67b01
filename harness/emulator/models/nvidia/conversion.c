/* Conversions and the permutation of bytes (PTX ISA 9.2, section 9.7.9, cvt and prmt). */
#include "values.h"

/* ------------------------------------------------------------------ floats to 16-bit types, alone or in pairs */

LANE_MODEL(nvvm_f2f16_rn) { RESULT(uint16_t) = half_of_float(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_f2bf16_rn) { RESULT(uint16_t) = bfloat16_of_float(ARGUMENT(0, float)); }

/* The first operand goes to the upper half. */
LANE_MODEL(nvvm_ff2f16x2_rn) {
    RESULT(Pair) = (Pair){{half_of_float(ARGUMENT(1, float)), half_of_float(ARGUMENT(0, float))}};
}
LANE_MODEL(nvvm_ff2bf16x2_rn) {
    RESULT(Pair) = (Pair){{bfloat16_of_float(ARGUMENT(1, float)), bfloat16_of_float(ARGUMENT(0, float))}};
}

/* ------------------------------------------------------------------ float to tf32 */

#define TF32_UNUSED 0x1FFFu   /* tf32 keeps 10 of a float's 23 bits of mantissa */

/* To nearest, ties away from 0.  A carry into the exponent is right, and gives infinity past the largest number. */
LANE_MODEL(nvvm_f2tf32_rna) {
    float value = ARGUMENT(0, float);
    uint32_t rounded = (bits_of_float(value) + 0x1000) & ~TF32_UNUSED;
    if (isnan(value)) rounded = CANONICAL_NAN;
    else if (isinf(value)) rounded = bits_of_float(value);
    RESULT(uint32_t) = rounded;
}

/* ------------------------------------------------------------------ bytes of two registers */

/* Bytes 0 to 3 are those of `a`, 4 to 7 those of `b`.  Each hexadecimal digit of the selector, the lowest for the
 * lowest byte of the result, is the number of a byte; with its top bit set, of a byte whose sign is spread. */
LANE_MODEL(nvvm_prmt) {
    uint64_t bytes = (uint64_t)ARGUMENT(1, uint32_t) << 32 | ARGUMENT(0, uint32_t);
    uint32_t selector = ARGUMENT(2, uint32_t), value = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t digit = selector >> (4 * i) & 0xF;
        uint32_t byte = (uint32_t)(bytes >> (8 * (digit & 7))) & 0xFF;
        if (digit & 8) byte = byte & 0x80 ? 0xFF : 0;
        value |= byte << (8 * i);
    }
    RESULT(uint32_t) = value;
}
