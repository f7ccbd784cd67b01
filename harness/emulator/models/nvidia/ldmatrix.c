/* ldmatrix (PTX ISA 9.2, section 9.7.14.5.15): 8×8 matrices of 16-bit elements from shared memory to the registers
 * of a warp.
 *
 * In registers lane l holds elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4; with `.trans`, of column l / 4.
 * In memory each row is 16 bytes at an address of its own: lanes 8 m to 8 m + 7 pass the addresses of the rows of
 * matrix m, the addresses of further lanes are not read.
 */
#include "values.h"
#include "warp.h"

#define SIDE 8
#define ROW_BYTES 16

typedef struct Matrix {
    uint16_t element[SIDE][SIDE];
} Matrix;

/* ------------------------------------------------------------------ registers */

static uint16_t *element_of(Matrix *matrix, int lane, int i, int transposed) {
    int line = lane / 4, place = 2 * (lane % 4) + i;
    return transposed ? &matrix->element[place][line] : &matrix->element[line][place];
}

static Pair pair_of(Matrix *matrix, int lane, int transposed) {
    return (Pair){{*element_of(matrix, lane, 0, transposed), *element_of(matrix, lane, 1, transposed)}};
}

/* ------------------------------------------------------------------ rows in memory */

static int is_row(const Lane *lane, const char *row) {
    if ((uintptr_t)row % ROW_BYTES != 0) {
        report(FINDING_UNALIGNED, lane, "ldmatrix: a row is not aligned to 16 bytes");
        return 0;
    }
    if (!is_shared(row)) {
        report(FINDING_SHARED_OUT_OF_BOUNDS, lane, "ldmatrix: a row is not in shared memory");
        return 0;
    }
    return check_access(lane, row, ROW_BYTES, ACCESS_LOAD);
}

/* Rows that cannot be read hold poison. */
static Matrix loaded(const Warp *warp, int number) {
    Matrix matrix;
    memset(&matrix, 0xFF, sizeof matrix);
    for (int row = 0; row < SIDE; row++) {
        int lane = SIDE * number + row;
        const char *address = LANE_ARGUMENT(lane, 0, const char *);
        if (is_row(warp->lanes[lane], address)) memcpy(matrix.element[row], address, ROW_BYTES);
    }
    return matrix;
}

/* ------------------------------------------------------------------ instructions */

/* Argument: the address of a row.  Result: a register for each matrix. */
static void load_matrices(Warp *warp, int count, int transposed) {
    if (!is_whole_warp(warp, "ldmatrix")) {
        poison_results(warp, (size_t)count * sizeof(Pair));
        return;
    }
    for (int number = 0; number < count; number++) {
        Matrix matrix = loaded(warp, number);
        EACH_ACTIVE_LANE(lane) (&LANE_RESULT(lane, Pair))[number] = pair_of(&matrix, lane, transposed);
    }
}

COLLECTIVE_MODEL(nvvm_ldmatrix_x1) { load_matrices(warp, 1, 0); }
COLLECTIVE_MODEL(nvvm_ldmatrix_x2) { load_matrices(warp, 2, 0); }
COLLECTIVE_MODEL(nvvm_ldmatrix_x4) { load_matrices(warp, 4, 0); }
COLLECTIVE_MODEL(nvvm_ldmatrix_x1_trans) { load_matrices(warp, 1, 1); }
COLLECTIVE_MODEL(nvvm_ldmatrix_x2_trans) { load_matrices(warp, 2, 1); }
COLLECTIVE_MODEL(nvvm_ldmatrix_x4_trans) { load_matrices(warp, 4, 1); }
