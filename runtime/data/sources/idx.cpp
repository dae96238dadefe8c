// `idx`, `mnist`, `fashion_mnist`: rows of fixed size that lie in memory.

#include "doors/idx.h"
#include "ltr/streams.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/sources/dense.h"
#include "runtime/data/sources/records.h"
#include "runtime/tables/named_files.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

doors::IdxFile open_idx(const Str& path) {
  note_opened(path);
  return reading(path, [&] { return doors::read_idx(path); });
}

/// The records of `file` as a column.
DenseColumn column_of(doors::IdxFile& file, const FieldInfo& field) {
  auto bytes = std::make_shared<const Str>(std::move(file.data));
  const auto width = size_t(row_bytes(field));
  return {std::move(bytes), 0, width, width};
}

Stream open_digits(const Schema& schema, const Str& root, bool train, const NamedFiles& named) {
  const std::vector<Str> files = named.files(train);
  const auto find = [&](const Str& file) { return find_in_root(root, {file, file + ".gz"}, named.data); };
  const Str images_path = find(files[0]), labels_path = find(files[1]);
  doors::IdxFile images = open_idx(images_path);
  doors::IdxFile labels = open_idx(labels_path);
  if (images.dtype != "U8" || images.shape.size() != 3 || images.shape[1] != 28 || images.shape[2] != 28) {
    throw error_here(err::schema_differs, images_path, "the header does not say u8[N, 28, 28]");
  }
  if (labels.dtype != "U8" || labels.shape != std::vector<int64_t>{images.shape[0]}) {
    throw error_here(err::schema_differs, labels_path,
                     fmt::format("the header does not say u8[{}], one label for each image", images.shape[0]));
  }
  const int64_t count = images.shape[0];
  std::vector<DenseColumn> columns = {column_of(images, schema[0]), column_of(labels, schema[1])};
  check_labels(labels_path, columns[1], 0, count, 10);
  note_records(images_path, count);
  note_records(labels_path, count);
  return Stream(new DenseSource(schema, std::move(columns), count, images_path));
}

}  // namespace

Stream mnist(const Str& root, bool train) {
  return open_source(mnist_record(),
                     [&] { return open_digits(mnist_record(), root, train, *find_named_files("mnist")); });
}

Stream fashion_mnist(const Str& root, bool train) {
  return open_source(fashion_mnist_record(), [&] {
    return open_digits(fashion_mnist_record(), root, train, *find_named_files("fashion_mnist"));
  });
}

Stream idx(const Str& path, const Schema& schema) {
  if (is_mock_data() && !schema.empty()) return mock_source(schema);
  const Str found = find_path(path);
  doors::IdxFile file = open_idx(found);
  FieldInfo field{"value", dtype_of(stored_type(file.dtype).value()), {file.shape.begin() + 1, file.shape.end()}, ""};
  if (!schema.empty()) {
    const FieldInfo& wanted = schema[0];
    if (schema.size() != 1 || wanted.dtype != field.dtype || wanted.dims != field.dims) {
      throw error_here(err::schema_differs, found,
                       fmt::format("the header says {}, the program {}", type_text(field), type_text(wanted)));
    }
    field.name = wanted.name;
  }
  const int64_t count = file.shape[0];
  note_records(found, count);
  std::vector<DenseColumn> columns = {column_of(file, field)};
  return Stream(new DenseSource({field}, std::move(columns), count, found));
}

}  // namespace ltr
