#pragma once

// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC 2011): four 32-bit words
// from a counter of 128 bits and a key of 64. A draw is a pure function of (key, site, element), so it hangs on neither
// threads nor vector width nor on the back end that computes it.

#include <array>
#include <cstddef>
#include <cstdint>

namespace ltr {

using PhiloxBlock = std::array<uint32_t, 4>;

/// The words of one counter: `low` and `high` are its halves.
PhiloxBlock philox(uint64_t key, uint64_t low, uint64_t high);

/// Words come in groups of 64, made of 16 blocks: word w of block j is word 16 w + j of its group, so that a group is
/// four rows of sixteen lanes.
inline constexpr size_t kPhiloxGroup = 64;

/// The words of groups [first, first + groups) of `site`, 64 each.
void philox_words(uint64_t key, uint64_t site, uint64_t first, size_t groups, uint32_t* words);

}  // namespace ltr
