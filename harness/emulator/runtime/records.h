/* Loops over the records of a few consecutive bytes: 2 to 16 in nearly all accesses. */
#ifndef HARNESS_EMULATOR_RECORDS_H
#define HARNESS_EMULATOR_RECORDS_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

/* Whether all records are the same. */
static inline int are_equal(const uint64_t *records, size_t count) {
    __m256i first = _mm256_set1_epi64x((long long)records[0]), difference = _mm256_setzero_si256();
    uint64_t rest = 0;
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        __m256i four = _mm256_loadu_si256((const __m256i *)&records[i]);
        difference = _mm256_or_si256(difference, _mm256_xor_si256(four, first));
    }
    for (; i < count; i++) rest |= records[i] ^ records[0];
    return !rest && _mm256_testz_si256(difference, difference);
}

/* Make all records the same. */
static inline void set_all(uint64_t *records, size_t count, uint64_t record) {
    __m256i four = _mm256_set1_epi64x((long long)record);
    size_t i = 0;
    for (; i + 4 <= count; i += 4) _mm256_storeu_si256((__m256i *)&records[i], four);
    for (; i < count; i++) records[i] = record;
}

/* Whether a clock is later than one. */
static inline int has_later(const uint32_t *clocks, size_t count, uint32_t clock) {
    __m128i four = _mm_set1_epi32((int)clock), latest = four;
    uint32_t rest = clock;
    size_t i = 0;
    for (; i + 4 <= count; i += 4) latest = _mm_max_epu32(latest, _mm_loadu_si128((const __m128i *)&clocks[i]));
    for (; i < count; i++) rest = clocks[i] > rest ? clocks[i] : rest;
    __m128i change = _mm_xor_si128(latest, four);
    return rest != clock || !_mm_testz_si128(change, change);
}

/* Make no clock earlier than one. */
static inline void raise_all(uint32_t *clocks, size_t count, uint32_t clock) {
    __m128i four = _mm_set1_epi32((int)clock);
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        __m128i *place = (__m128i *)&clocks[i];
        _mm_storeu_si128(place, _mm_max_epu32(_mm_loadu_si128(place), four));
    }
    for (; i < count; i++) clocks[i] = clocks[i] > clock ? clocks[i] : clock;
}

#endif
