#pragma once

// The files of data that has a name, which sources read and `ltrc lock` writes down.

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace ltr {

struct NamedFiles {
  std::string_view source;  ///< the function of the library
  const char* data;         ///< as `ltrc data` calls it
  const char* folder;       ///< of the root, where they may lie too; "" for none
  const char* train;        ///< with blanks between them
  const char* test;

  std::vector<std::string> files(bool is_train) const {
    std::istringstream words(is_train ? train : test);
    std::vector<std::string> out;
    for (std::string word; words >> word;) out.push_back(word);
    return out;
  }
};

inline constexpr NamedFiles kNamedFiles[] = {
    {"mnist", "mnist", "", "train-images-idx3-ubyte train-labels-idx1-ubyte",
     "t10k-images-idx3-ubyte t10k-labels-idx1-ubyte"},
    {"fashion_mnist", "fashion-mnist", "", "train-images-idx3-ubyte train-labels-idx1-ubyte",
     "t10k-images-idx3-ubyte t10k-labels-idx1-ubyte"},
    {"cifar10", "cifar10", "cifar-10-batches-bin",
     "data_batch_1.bin data_batch_2.bin data_batch_3.bin data_batch_4.bin data_batch_5.bin", "test_batch.bin"},
    {"cifar100", "cifar100", "cifar-100-binary", "train.bin", "test.bin"},
};

/// Those of a source, or nullptr.
constexpr const NamedFiles* find_named_files(std::string_view source) {
  const auto* row = std::find_if(std::begin(kNamedFiles), std::end(kNamedFiles),
                                 [&](const NamedFiles& one) { return one.source == source; });
  return row == std::end(kNamedFiles) ? nullptr : row;
}

}  // namespace ltr
