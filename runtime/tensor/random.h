#pragma once

// Random numbers. No generator lives longer than a batch or record: whoever begins one names its key, and the
// generator of this thread is made from it at the first draw, so that code which draws nothing pays nothing.

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace ltr {

/// The key of (`seed`, `purpose`, `numbers`): `init`, `step`, `sample`, `hook`, …, as in runtime.md 2.11.
uint64_t random_key(uint64_t seed, std::string_view purpose, std::initializer_list<uint64_t> numbers);
/// The key of (`seed`, `purpose`, `name`).
uint64_t random_key(uint64_t seed, std::string_view purpose, std::string_view name);

/// Everything that this thread draws from now on comes from `key`.
void seed_random(uint64_t key);
/// The next 64 random bits of this thread.
uint64_t random_bits();

}  // namespace ltr
