/* Who a lane is: special registers (PTX ISA 9.2, chapter 10, "Special Registers"), and questions that are
 * answered at compile time on a GPU. */
#include "emulator.h"

/* ------------------------------------------------------------------ position in the launch */

static uint32_t thread_x(const Lane *lane) { return (uint32_t)lane->thread % launch.block[0]; }
static uint32_t thread_y(const Lane *lane) { return (uint32_t)lane->thread / launch.block[0] % launch.block[1]; }
static uint32_t thread_z(const Lane *lane) { return (uint32_t)lane->thread / launch.block[0] / launch.block[1]; }

LANE_MODEL(nvvm_tid_x) { RESULT(uint32_t) = thread_x(lane); }
LANE_MODEL(nvvm_tid_y) { RESULT(uint32_t) = thread_y(lane); }
LANE_MODEL(nvvm_tid_z) { RESULT(uint32_t) = thread_z(lane); }

LANE_MODEL(nvvm_ntid_x) { RESULT(uint32_t) = launch.block[0]; }
LANE_MODEL(nvvm_ntid_y) { RESULT(uint32_t) = launch.block[1]; }
LANE_MODEL(nvvm_ntid_z) { RESULT(uint32_t) = launch.block[2]; }

LANE_MODEL(nvvm_ctaid_x) { RESULT(uint32_t) = launch.workgroup[0]; }
LANE_MODEL(nvvm_ctaid_y) { RESULT(uint32_t) = launch.workgroup[1]; }
LANE_MODEL(nvvm_ctaid_z) { RESULT(uint32_t) = launch.workgroup[2]; }

LANE_MODEL(nvvm_nctaid_x) { RESULT(uint32_t) = launch.grid[0]; }
LANE_MODEL(nvvm_nctaid_y) { RESULT(uint32_t) = launch.grid[1]; }
LANE_MODEL(nvvm_nctaid_z) { RESULT(uint32_t) = launch.grid[2]; }

/* ------------------------------------------------------------------ position in the warp */

LANE_MODEL(nvvm_warpsize) { RESULT(uint32_t) = (uint32_t)lane->warp->size; }
LANE_MODEL(nvvm_laneid) { RESULT(uint32_t) = (uint32_t)lane->index; }

/* ------------------------------------------------------------------ other questions */

/* What NVIDIA's device library asks of the compiler ("Using the NVVM reflect pass" of LLVM's NVPTX guide):
 * subnormal numbers are kept, division and square root are exact. */
LANE_MODEL(nvvm_reflect) {
    const char *question = ARGUMENT(0, const char *);
    int is_exact = strcmp(question, "__CUDA_PREC_SQRT") == 0 || strcmp(question, "__CUDA_PREC_DIV") == 0;
    if (!is_exact && strcmp(question, "__CUDA_FTZ") != 0)
        report(FINDING_UNSUPPORTED_OPERAND, lane, "reflection on %s", question);
    RESULT(uint32_t) = (uint32_t)is_exact;
}
