/* AMX's instructions on tiles (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2): up to 16
 * rows of up to 64 bytes.
 *
 * A value of LLVM's type of tiles is a pointer to one of a ring of tiles of the thread.  Each result takes the
 * next one, so that a tile is kept until as many others were made as the ring has: loops carry few.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define ROWS 16
#define ROW_BYTES 64
#define RING 256

typedef struct Tile {
    uint8_t row[ROWS][ROW_BYTES];
} Tile;

static Tile *next_tile(void) {
    static __thread Tile ring[RING];
    static __thread unsigned made;
    Tile *tile = &ring[made++ % RING];
    memset(tile, 0, sizeof *tile);
    return tile;
}

static float flushed(float number) { return fpclassify(number) == FP_SUBNORMAL ? copysignf(0, number) : number; }

static float number_of(const uint8_t *row, int index) {
    uint16_t half;
    memcpy(&half, row + 2 * index, sizeof half);
    uint32_t bits = (uint32_t)half << 16;
    float number;
    memcpy(&number, &bits, sizeof number);
    return flushed(number);
}

Tile *harness_tilezero(uint16_t rows, uint16_t row_bytes) {
    (void)rows, (void)row_bytes;
    return next_tile();
}

Tile *harness_tileloadd64(uint16_t rows, uint16_t row_bytes, const uint8_t *base, int64_t stride) {
    Tile *tile = next_tile();
    for (int row = 0; row < rows; row++) memcpy(tile->row[row], base + row * stride, row_bytes);
    return tile;
}

void harness_tilestored64(uint16_t rows, uint16_t row_bytes, uint8_t *base, int64_t stride, const Tile *tile) {
    for (int row = 0; row < rows; row++) memcpy(base + row * stride, tile->row[row], row_bytes);
}

/* TDPBF16PS: products of even and of odd numbers are added up apart, then both to C.  Subnormal numbers count as
 * 0, each sum is rounded to nearest. */
Tile *harness_tdpbf16ps(
    uint16_t rows, uint16_t row_bytes, uint16_t depth_bytes, const Tile *c, const Tile *a, const Tile *b) {
    Tile *result = next_tile();
    for (int row = 0; row < rows; row++) {
        for (int column = 0; column < row_bytes / 4; column++) {
            float even = 0, odd = 0, sum;
            for (int pair = 0; pair < depth_bytes / 4; pair++) {
                const uint8_t *left = a->row[row], *right = b->row[pair];
                even = flushed(fmaf(number_of(left, 2 * pair), number_of(right, 2 * column), even));
                odd = flushed(fmaf(number_of(left, 2 * pair + 1), number_of(right, 2 * column + 1), odd));
            }
            memcpy(&sum, c->row[row] + 4 * column, sizeof sum);
            sum = flushed(flushed(sum) + flushed(even + odd));
            memcpy(result->row[row] + 4 * column, &sum, sizeof sum);
        }
    }
    return result;
}
