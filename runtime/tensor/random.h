#pragma once

// Random numbers: Philox, keyed. Whoever begins a batch, record, weight or hook names its key; every draw behind it has a
// site of its own, counted from 0, and its elements are counted too. So a draw hangs on nothing but its key and its place
// in the program: not on threads, workers, resumes or the device.

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
