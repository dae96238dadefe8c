// `cifar10`, `cifar100`: labels of a byte and an image behind them, record for record.

#include "doors/file.h"
#include "ltr/streams.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/sources/dense.h"
#include "runtime/data/sources/records.h"
#include "runtime/tables/named_files.h"

namespace ltr {

namespace {

constexpr size_t kImage = size_t(3) * 32 * 32;

struct Label {
  size_t offset;  ///< in a record
  int64_t classes;
};

/// `labels` stand in the order of the fields behind the image.
Stream open_cifar(const Schema& schema, const Str& root, bool train, const NamedFiles& named,
                  const std::vector<Label>& labels) {
  const size_t width = labels.size() + kImage;
  auto bytes = std::make_shared<Str>();
  std::vector<DenseColumn> columns = {{bytes, labels.size(), width, kImage}};
  for (const Label& label : labels) columns.push_back({bytes, label.offset, width, 1});
  for (const Str& name : named.files(train)) {
    const Str path = find_in_root(root, {name, Str(named.folder) + "/" + name}, named.data);
    note_opened(path);
    const Str part = reading(path, [&] { return doors::read_file(path); });
    if (part.empty()) throw error_here(err::stream_too_short, fmt::format("{} is empty", path));
    if (part.size() % width != 0)
      throw error_here(err::bad_record, path,
                       fmt::format("the file ends in the middle of record {}", part.size() / width));
    note_records(path, int64_t(part.size() / width));
    const auto before = int64_t(bytes->size() / width);
    *bytes += part;
    for (size_t i = 0; i < labels.size(); ++i)
      check_labels(path, columns[i + 1], before, int64_t(bytes->size() / width), labels[i].classes);
  }
  return Stream(new DenseSource(schema, std::move(columns), int64_t(bytes->size() / width), root));
}

}  // namespace

Stream cifar10(const Str& root, bool train) {
  return open_source(cifar10_record(), [&] {
    return open_cifar(cifar10_record(), root, train, *find_named_files("cifar10"), {{0, 10}});
  });
}

// A record begins with the coarse label.
Stream cifar100(const Str& root, bool train) {
  return open_source(cifar100_record(), [&] {
    return open_cifar(cifar100_record(), root, train, *find_named_files("cifar100"), {{1, 100}, {0, 20}});
  });
}

}  // namespace ltr
