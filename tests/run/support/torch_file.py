"""PyTorch's files, written without it: what `torch.save` makes of a state_dict."""
import json
import struct
import zipfile

STORAGES = {"F32": ("FloatStorage", 4), "F64": ("DoubleStorage", 8), "I64": ("LongStorage", 8)}


def tensors_of(safetensors):
    """{name: (dtype, shape, bytes)} of a safetensors file."""
    data = safetensors.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    return {name: (row["dtype"], row["shape"], data[8 + size + row["data_offsets"][0]:8 + size + row["data_offsets"][1]])
            for name, row in header.items() if name != "__metadata__"}


def text(word):
    return b"X" + struct.pack("<I", len(word)) + word.encode()


def whole(number):
    return b"J" + struct.pack("<i", number)


def sizes(numbers):
    return b"(" + b"".join(whole(number) for number in numbers) + b"t"


def pickled(tensors):
    """A dict of `_rebuild_tensor_v2(storage, 0, shape, strides, False, OrderedDict())`."""
    out = b"\x80\x02}("
    for key, (name, (dtype, shape, data)) in enumerate(tensors.items()):
        storage, width = STORAGES[dtype]
        strides = []
        for dim in reversed(shape):
            strides.insert(0, strides[0] * last if strides else 1)
            last = dim
        out += (text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + b"ctorch\n" + storage.encode() + b"\n"
                + text(str(key)) + text("cpu") + whole(len(data) // width) + b"tQ" + whole(0) + sizes(shape) + sizes(strides)
                + b"\x89ccollections\nOrderedDict\n)RtR")
    return out + b"u."


def write(path, tensors):
    """Writes `tensors`, as `tensors_of` gives them; returns the (begin, end) of each member's bytes in the file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickled(tensors))
        for key, (_, _, data) in enumerate(tensors.values()):
            archive.writestr(f"archive/data/{key}", data)
        return [(info.header_offset + 30 + len(info.filename), info.header_offset + 30 + len(info.filename) + info.file_size)
                for info in archive.infolist()]
