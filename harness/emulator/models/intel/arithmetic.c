/* Mathematical functions.  Source: OpenCL C 3.0, "Math Functions" (definitions, permitted errors) and cl_khr_fp16.
 *
 * Values are f16 or f32, scalars or vectors; they are computed in f64 and rounded once.  The `native_` functions
 * may have any error by specification, so that the exact ones model them as well; what the hardware's own error does
 * to a result is not emulated.
 *
 * The last arguments, from the registry, are the type of an element and the number of elements.
 */
#include <math.h>

#include "elements.h"

typedef double (*Unary)(double);
typedef double (*Binary)(double, double);

static void apply_unary(Unary function, const char *arguments, char *result) {
    int type = ARGUMENT(1, int32_t), count = ARGUMENT(2, int32_t);
    for (int i = 0; i < count; i++) {
        size_t offset = (size_t)i * element_bytes(type);
        double value = load_element(type, arguments + offset);
        store_element(type, result + offset, function(value));
    }
}

static void apply_binary(Binary function, const char *arguments, char *result) {
    int type = ARGUMENT(2, int32_t), count = ARGUMENT(3, int32_t);
    for (int i = 0; i < count; i++) {
        size_t offset = (size_t)i * element_bytes(type);
        double left = load_element(type, arguments + offset);
        double right = load_element(type, arguments + ARGUMENT_BYTES + offset);
        store_element(type, result + offset, function(left, right));
    }
}

static double reciprocal(double x) { return 1 / x; }
static double reciprocal_root(double x) { return 1 / sqrt(x); }
static double quotient(double x, double y) { return x / y; }

LANE_MODEL(opencl_exp) { apply_unary(exp, arguments, result); }
LANE_MODEL(opencl_exp2) { apply_unary(exp2, arguments, result); }
LANE_MODEL(opencl_log) { apply_unary(log, arguments, result); }
LANE_MODEL(opencl_log2) { apply_unary(log2, arguments, result); }
LANE_MODEL(opencl_sqrt) { apply_unary(sqrt, arguments, result); }
LANE_MODEL(opencl_rsqrt) { apply_unary(reciprocal_root, arguments, result); }
LANE_MODEL(opencl_recip) { apply_unary(reciprocal, arguments, result); }
LANE_MODEL(opencl_tanh) { apply_unary(tanh, arguments, result); }
LANE_MODEL(opencl_fabs) { apply_unary(fabs, arguments, result); }

LANE_MODEL(opencl_divide) { apply_binary(quotient, arguments, result); }
LANE_MODEL(opencl_fmax) { apply_binary(fmax, arguments, result); }
LANE_MODEL(opencl_fmin) { apply_binary(fmin, arguments, result); }

/* Rounded once.  An f16 product is exact in f64; so is the sum with another f16, unless it lies far below or above
 * the product, where rounding twice changes nothing. */
LANE_MODEL(opencl_fma) {
    int type = ARGUMENT(3, int32_t), count = ARGUMENT(4, int32_t);
    for (int i = 0; i < count; i++) {
        size_t offset = (size_t)i * element_bytes(type);
        double x = load_element(type, arguments + offset);
        double y = load_element(type, arguments + ARGUMENT_BYTES + offset);
        double z = load_element(type, arguments + 2 * ARGUMENT_BYTES + offset);
        double sum = type == 'f' ? fmaf((float)x, (float)y, (float)z) : fma(x, y, z);
        store_element(type, result + offset, sum);
    }
}
