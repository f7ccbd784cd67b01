/* Functions that LLVM's x86-64 back end calls and older C libraries do not have. */
#include "emulator.h"

/* The result is a bfloat in the low 16 bits of xmm0, which a float is returned in, too. */
__attribute__((visibility("default"))) float __truncsfbf2(float value);

float __truncsfbf2(float value) {
    uint32_t bits = bfloat16_of_float(value);
    float returned;
    memcpy(&returned, &bits, sizeof returned);
    return returned;
}
