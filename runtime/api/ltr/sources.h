#pragma once

// Written by runtime/api/make_ops.py from stdlib/data/sources.ltr: the sources that generated code calls. `schema` is what
// the program wants of each record, where the source itself does not say it.

#include "ltr/api.h"

namespace ltr {

/// Handwritten digits: `{image: u8[28, 28], label: u8}` from the four IDX files, `.gz` or not:
/// `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, `t10k-images-idx3-ubyte`, `t10k-labels-idx1-ubyte`.
LTR_EXPORT Stream mnist(const Str& root, bool train);
/// Pieces of clothing, in the form of `mnist`.
LTR_EXPORT Stream fashion_mnist(const Str& root, bool train);
/// Small photographs of ten classes: `{image: u8[3, 32, 32], label: u8}`, the binary version of the files.
LTR_EXPORT Stream cifar10(const Str& root, bool train);
/// Small photographs of a hundred classes, which twenty coarse ones hold: `{image: u8[3, 32, 32], label: u8, coarse: u8}`, the
/// binary version of the files, `train.bin` and `test.bin`.
LTR_EXPORT Stream cifar100(const Str& root, bool train);
/// One IDX file: `{value: T[…]}` with the element type and sizes of its header. Written `idx("x") as {value: u8[28, 28]}`.
LTR_EXPORT Stream idx(const Str& path, const Schema& schema);
/// A table with a header line, RFC 4180: `csv("x.csv") as {a: float, b: str}`. Columns not named are not read; an empty
/// cell is missing: `none` of an option, nan of a `float`, and an error else. So are cells that are one of `missing`, such as
/// `missing = ["NA", "-"]`. `.gz` is opened too. A field `u8[3, ?, ?]` or `u8[1, ?, ?]` is the
/// image that the cell names, from the folder of the file on; it is decoded when its record is read.
LTR_EXPORT Stream csv(const Str& file, const Str& sep, const std::vector<Str>& missing, const Schema& schema);
/// JSON objects, one on each line of the files that a pattern such as "reviews/*.jsonl" names, in the order of their names:
/// `jsonl("x.jsonl") as {ids: i64[?], text: str, stars: option[float]}`. Names not wanted are not read; a field of an option
/// may be null or absent. Nested lists of one length at each depth are tensors, and a text where `u8[3, ?, ?]` is wanted names
/// an image, as in `csv`. A line is read when its record is.
LTR_EXPORT Stream jsonl(const Str& glob, const Schema& schema);
/// Arrays that NumPy's `savez` wrote, a record for each leading index: `npz("x.npz") as {near: f32[16], far: f32[16]}`. The
/// element types are those of the file, or `float` for any floating one; one number a record may also be a `float` or an `int`.
LTR_EXPORT Stream npz(const Str& file, const Schema& schema);
/// One array that NumPy's `save` wrote, a record for each leading index: `npy("x.npy") as {x: f32[3, 8]}`.
LTR_EXPORT Stream npy(const Str& file, const Schema& schema);
/// Tensors of a safetensors file, a record for each leading index, as of `npz`: `safetensors("x.safetensors") as {near: f32[16], far: bf16[16]}`.
LTR_EXPORT Stream safetensors(const Str& file, const Schema& schema);
/// Sound: `{audio: float[C, N], rate: int, path: str}` of each WAVE or FLAC file that a pattern such as "speech/*.flac" names, in
/// the order of their names, with C channels of N samples from -1 to 1, `rate` of them for each second.
LTR_EXPORT Stream audio(const Str& glob);
/// The rows of a query on an SQLite database, in its order: `sqlite("x.db", "select a, b from t order by id") as {a: float, b: str}`.
/// NULL is a missing value of an option. A blob is a tensor of a size that is known, such as `f32[16]`, or an image. Read once,
/// never written.
LTR_EXPORT Stream sqlite(const Str& file, const Str& query, const Schema& schema);
/// Samples in tar archives, as WebDataset writes them: neighbours whose names are equal up to the first dot are one record, with
/// what stands behind it as fields: `tar_shards("train-*.tar") as {jpg: u8[3, ?, ?], cls: int, seg_png: u8[1, ?, ?]}`. Numbers and
/// tensors are read as text or JSON, of `npy` as NumPy's arrays; `float[?, ?]` is sound, `u8[?]` the bytes, `__key__: str` the name.
/// An option need not be there. Archives are read where they lie, `.gz` in memory.
LTR_EXPORT Stream tar_shards(const Str& glob, const Schema& schema);
/// `tf.train.Example`s in the files of TensorFlow that a pattern names, in the order of their names: `tfrecord("train-*.tfrecord") as {image: u8[3, ?, ?], label: int, ids: i64[?]}`.
/// Features not named are not read. A list of ints or floats is a number where it has one element, a tensor else: flat, or of the one
/// shape that the field says. A list of one byte string is a text, an image, sound `float[?, ?]`, or its bytes, `u8[?]`. An option need not
/// be there. Checksums are compared: of lengths when a file is opened, of a record when it is read.
LTR_EXPORT Stream tfrecord(const Str& glob, const Schema& schema);
/// The rows of Parquet files that a pattern or folder names, in the order of their names: `parquet("part-*.parquet") as {a: float, ids: i64[?], image: u8[3, ?, ?]}`.
/// Columns not named are not read. A field is what its column holds: numbers of any width, lists of them as tensors, texts; bytes or the name of
/// a file as an image, bytes as sound `float[?, ?]` or as they are, `u8[?]`. Null is a missing value of an option, nan of a `float`. Of a folder,
/// files that end in .parquet count, and folders such as `year=2024` are columns. Row groups are unpacked when a record of them is
/// read, and kept while there is room: where there is not, `shuffle(…, buffer = n)` unpacks each once.
LTR_EXPORT Stream parquet(const Str& glob, const Schema& schema);
/// The rows of Arrow files or streams (Feather too), read where they lie; otherwise as `parquet`.
LTR_EXPORT Stream arrow(const Str& glob, const Schema& schema);
/// A split of a data set that `save_to_disk` of Hugging Face's datasets wrote, or that a snapshot of the hub holds, as Parquet or Arrow files:
/// `hf_dataset("data/imdb", "train") as {text: str, label: int}`. What a label stands for is its name where it is a `str`. Fields are as those
/// of `parquet`.
LTR_EXPORT Stream hf_dataset(const Str& dir, const Str& split, const Schema& schema);
/// The characters of a text: `{ids: i64}`, ids number the characters that occur in order of code point.
/// `.vocab` is how many there are.
LTR_EXPORT Stream text_chars(const Str& file);
/// `{text: str}`, the lines of the files that a pattern such as "texts/*.txt" names, in the order of their names.
LTR_EXPORT Stream text_lines(const Str& glob);
/// Windows of token ids, `{tokens: i32[window]}`, that begin `stride` apart; none goes across two files. The files that
/// a pattern such as "data/train_*.bin" names hold ids of 16 bits, or have a header of 1024 bytes that says 16 or 32.
LTR_EXPORT Stream token_shards(const Str& glob, int64_t window, int64_t stride);
/// Images in one folder per class: `{image: u8[C, ?, ?], label: i64}`; classes are the sorted folder names.
LTR_EXPORT Stream image_folder(const Str& root, int64_t channels);
/// The files that a pattern such as "scans/*.raw" names, in the order of their names, each as its bytes: `{path: str, content: u8[?]}`. A
/// map makes something of them. Folders are passed over, and `.gz` is not unpacked. A file is read when its record is.
LTR_EXPORT Stream files(const Str& glob);
/// `{i: int}` for i in 0 .. n.
LTR_EXPORT Stream range(int64_t n);

}  // namespace ltr
