#include "runtime/tensor/random.h"

#include <ATen/CPUGeneratorImpl.h>

#include "runtime/tensor/random_source.h"

namespace ltr {

namespace {

/// The finaliser of splitmix64: every bit of the input moves every bit of the result.
uint64_t mix(uint64_t bits) {
  bits += 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

uint64_t mix(uint64_t key, std::string_view text) {
  for (const char c : text) key = mix(key ^ static_cast<unsigned char>(c));
  return mix(key ^ text.size());
}

struct ThreadSource {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(0);
  uint64_t key = 0;
  bool is_stale = true;  // The generator is made from the key at the first draw only.
};

ThreadSource& source() {
  thread_local ThreadSource thread_source;
  return thread_source;
}

}  // namespace

uint64_t random_key(uint64_t seed, std::string_view purpose, std::initializer_list<uint64_t> numbers) {
  uint64_t key = mix(mix(seed), purpose);
  for (const uint64_t number : numbers) key = mix(key ^ number);
  return key;
}

uint64_t random_key(uint64_t seed, std::string_view purpose, std::string_view name) {
  return mix(mix(mix(seed), purpose), name);
}

void seed_random(uint64_t key) {
  ThreadSource& mine = source();
  mine.key = key;
  mine.is_stale = true;
}

const at::Generator& generator() {
  ThreadSource& mine = source();
  if (mine.is_stale) {
    // The engine takes 32 bits of seed.
    mine.generator.set_current_seed((mine.key ^ (mine.key >> 32)) & 0xffffffffu);
    mine.is_stale = false;
  }
  return mine.generator;
}

uint64_t random_bits() {
  return at::check_generator<at::CPUGeneratorImpl>(generator())->random64();
}

}  // namespace ltr
