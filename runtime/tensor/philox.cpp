#include "runtime/tensor/philox.h"

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

LTR_VECTOR_CLONES
void philox_words(uint64_t key, uint64_t site, uint64_t first, size_t groups, uint32_t* words) {
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

}  // namespace ltr
