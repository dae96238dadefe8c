#include "runtime/tensor/random.h"

#include <utility>

#include "runtime/tensor/draw.h"
#include "runtime/tensor/philox.h"

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

thread_local DrawSite next_draw{0, 0};

}  // namespace

uint64_t random_key(uint64_t seed, std::string_view purpose, std::initializer_list<uint64_t> numbers) {
  uint64_t key = mix(mix(seed), purpose);
  for (const uint64_t number : numbers) key = mix(key ^ number);
  return key;
}

uint64_t random_key(uint64_t seed, std::string_view purpose, std::string_view name) {
  return mix(mix(mix(seed), purpose), name);
}

void seed_random(uint64_t key) { next_draw = {key, 0}; }

DrawSite next_site() {
  const DrawSite site = next_draw;
  next_draw.site++;
  return site;
}

DrawScope::DrawScope(DrawSite site) : before_(std::exchange(next_draw, site)) {}

DrawScope::~DrawScope() { next_draw = before_; }

DrawSite DrawScope::here() { return next_draw; }

void DrawScope::go_on_at(uint64_t site) { next_draw.site = site; }

uint64_t random_bits() {
  const DrawSite at = next_site();
  const PhiloxBlock block = philox(at.key, 0, at.site);
  return uint64_t(block[1]) << 32 | block[0];
}

}  // namespace ltr
