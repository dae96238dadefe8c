#include "runtime/tensor/philox.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/tensor/vector_clones.h"

namespace ltr {

namespace {

constexpr size_t kLanes = 16;
constexpr uint64_t kMultiply0 = 0xd2511f53u, kMultiply1 = 0xcd9e8d57u;
constexpr uint32_t kWeyl0 = 0x9e3779b9u, kWeyl1 = 0xbb67ae85u;

}  // namespace

PhiloxBlock philox(uint64_t key, uint64_t low, uint64_t high) {
  auto key0 = uint32_t(key), key1 = uint32_t(key >> 32);
  PhiloxBlock block{uint32_t(low), uint32_t(low >> 32), uint32_t(high), uint32_t(high >> 32)};
  for (int round = 0; round < 10; round++) {
    const uint64_t product0 = kMultiply0 * block[0], product1 = kMultiply1 * block[2];
    block = {uint32_t(product1 >> 32) ^ block[1] ^ key0, uint32_t(product1), uint32_t(product0 >> 32) ^ block[3] ^ key1,
             uint32_t(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return block;
}

namespace {

LTR_VECTOR_CLONES
void by_loops(uint64_t key, uint64_t site, uint64_t first, size_t groups, uint32_t* words) {
  for (size_t group = 0; group < groups; group++, words += kPhiloxGroup) {
    uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
    const uint64_t begin = (first + group) * kLanes;
    for (size_t j = 0; j < kLanes; j++) {
      c0[j] = uint32_t(begin + j);
      c1[j] = uint32_t((begin + j) >> 32);
      c2[j] = uint32_t(site);
      c3[j] = uint32_t(site >> 32);
    }
    auto key0 = uint32_t(key), key1 = uint32_t(key >> 32);
    for (int round = 0; round < 10; round++) {
      for (size_t j = 0; j < kLanes; j++) {
        const uint64_t product0 = kMultiply0 * c0[j], product1 = kMultiply1 * c2[j];
        c0[j] = uint32_t(product1 >> 32) ^ c1[j] ^ key0;
        c1[j] = uint32_t(product1);
        c2[j] = uint32_t(product0 >> 32) ^ c3[j] ^ key1;
        c3[j] = uint32_t(product0);
      }
      key0 += kWeyl0;
      key1 += kWeyl1;
    }
    for (size_t j = 0; j < kLanes; j++) {
      words[j] = c0[j];
      words[kLanes + j] = c1[j];
      words[2 * kLanes + j] = c2[j];
      words[3 * kLanes + j] = c3[j];
    }
  }
}

#if defined(__x86_64__)
/// As the loops; of them GCC makes three times as many instructions.
__attribute__((target("avx512f"))) void by_registers(uint64_t key, uint64_t site, uint64_t first, size_t groups,
                                                     uint32_t* words) {
  const __m512i multiply0 = _mm512_set1_epi64(kMultiply0), multiply1 = _mm512_set1_epi64(kMultiply1);
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (size_t group = 0; group < groups; group++, words += kPhiloxGroup) {
    const uint64_t begin = (first + group) * kLanes;  // a multiple of the lanes: none of them carries
    __m512i c0 = _mm512_add_epi32(_mm512_set1_epi32(int(begin)), lanes), c1 = _mm512_set1_epi32(int(begin >> 32));
    __m512i c2 = _mm512_set1_epi32(int(site)), c3 = _mm512_set1_epi32(int(site >> 32));
    auto key0 = uint32_t(key), key1 = uint32_t(key >> 32);
    for (int round = 0; round < 10; round++) {
      // Products of even and of odd lanes, whose halves change places.
      const __m512i even0 = _mm512_mul_epu32(c0, multiply0),
                    odd0 = _mm512_mul_epu32(_mm512_srli_epi64(c0, 32), multiply0);
      const __m512i even1 = _mm512_mul_epu32(c2, multiply1),
                    odd1 = _mm512_mul_epu32(_mm512_srli_epi64(c2, 32), multiply1);
      const __m512i high0 = _mm512_mask_shuffle_epi32(odd0, 0x5555, even0, _MM_PERM_DDBB);
      const __m512i high1 = _mm512_mask_shuffle_epi32(odd1, 0x5555, even1, _MM_PERM_DDBB);
      c0 = _mm512_ternarylogic_epi32(high1, c1, _mm512_set1_epi32(int(key0)), 0x96);  // the exclusive or of three
      c1 = _mm512_mask_shuffle_epi32(even1, 0xaaaa, odd1, _MM_PERM_CCAA);
      c2 = _mm512_ternarylogic_epi32(high0, c3, _mm512_set1_epi32(int(key1)), 0x96);
      c3 = _mm512_mask_shuffle_epi32(even0, 0xaaaa, odd0, _MM_PERM_CCAA);
      key0 += kWeyl0;
      key1 += kWeyl1;
    }
    _mm512_storeu_si512(words, c0);
    _mm512_storeu_si512(words + kLanes, c1);
    _mm512_storeu_si512(words + 2 * kLanes, c2);
    _mm512_storeu_si512(words + 3 * kLanes, c3);
  }
}
#endif

}  // namespace

void philox_words(uint64_t key, uint64_t site, uint64_t first, size_t groups, uint32_t* words) {
#if defined(__x86_64__)
  static const bool has_registers = __builtin_cpu_supports("avx512f");
  if (has_registers) return by_registers(key, site, first, groups, words);
#endif
  by_loops(key, site, first, groups, words);
}

}  // namespace ltr
