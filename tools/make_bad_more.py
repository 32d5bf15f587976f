"""Writes to fixtures/bad one small file per fault of bvecs, u8bin, i8bin, safetensors, GloVe, word2vec and MATLAB,
and beginnings of files of formats that are not read. What is to be said of each stands in fixtures/bad/expected.txt.

Usage: python tools/make_bad_more.py (standard library only; writes the same bytes every time; see also make_bad.py).
"""

import gzip
import io
import json
import lzma
import pickle
import struct
import zipfile
import zlib
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "fixtures" / "bad"
NAN, INF = float("nan"), float("inf")
F6 = struct.pack("<6f", 1, 2, 3, 4, 5, 6)


def write(name, data):
    (OUT / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def bvecs(*rows):
    return b"".join(struct.pack("<i", len(row)) + bytes(row) for row in rows)


def make_binary():
    fvecs = b"".join(struct.pack("<i3f", 3, *row) for row in ((1, 2, 3), (4, 5, 6)))
    write("vecs_is_bvecs.fvecs", bvecs(*([i, i + 1, i + 2] for i in (1, 4, 7, 10))))
    write("vecs_is_fvecs.bvecs", fvecs)
    write("vecs_is_u8bin.bvecs", struct.pack("<II", 2, 3) + bytes(range(6)))
    write("vecs_3_bytes.bvecs", b"\x01\x00\x00")
    write("vecs_negative.bvecs", struct.pack("<i", -1) + bytes(6))
    write("vecs_huge.bvecs", struct.pack("<i", 2**31 - 1) + bytes(6))
    write("vecs_row_differs.bvecs", bvecs([1, 2, 3], [4, 5, 6], [7, 8], [9, 10, 11]))
    write("vecs_cut.bvecs", bvecs([1, 2, 3], [4, 5, 6])[:-1])
    write("vecs_cut_in_dimension.bvecs", bvecs([1, 2, 3]) + b"\x03\x00")
    write("bin_is_u8bin.fbin", struct.pack("<II", 2, 3) + bytes(range(6)))
    write("bin_is_fbin.u8bin", struct.pack("<II", 2, 3) + F6)
    write("bin_is_fbin.i8bin", struct.pack("<II", 2, 3) + F6)
    write("bin_is_bvecs.u8bin", bvecs([1, 2, 3], [4, 5, 6]))
    write("bin_empty.u8bin", b"")
    write("bin_7_bytes.i8bin", bytes(7))
    write("bin_short.u8bin", struct.pack("<II", 1000, 128) + bytes(range(6)))
    write("bin_short.i8bin", struct.pack("<II", 2, 3) + bytes(range(5)))
    write("bin_extra.i8bin", struct.pack("<II", 2, 3) + bytes(range(7)))
    write("bin_overflows.u8bin", struct.pack("<II", 2**32 - 1, 2**32 - 1) + bytes(range(6)))


def safetensors(header, data=F6, length=None):
    text = header if isinstance(header, (bytes, str)) else json.dumps(header)
    text = text if isinstance(text, bytes) else text.encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(shape=(2, 3), begin=0, end=24, dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


def make_safetensors():
    def bad(name, *args, **options):
        write(f"safetensors_{name}.safetensors", safetensors(*args, **options))

    good = {"x": tensor()}
    write("safetensors_empty.safetensors", b"")
    write("safetensors_7_bytes.safetensors", bytes(7))
    bad("no_header", b"", b"", length=2)
    bad("header_length_0", b"", b"", length=0)
    bad("header_past_end", good, length=1000)
    bad("header_2_63", good, length=2**63)
    bad("header_2_64", good, length=2**64 - 1)
    bad("header_100_mb", good, length=100_000_001)
    bad("not_utf8", json.dumps(good).encode().replace(b"x", b"\xff"))
    bad("not_json", "{'x': None}")
    bad("json_open", json.dumps(good)[:-1])
    bad("json_trailing", json.dumps(good) + "{}")
    bad("json_deep", '{"x":' + "[" * 1500)
    bad("json_surrogate", json.dumps(good).replace("x", r"\ud83d"))
    bad("not_an_object", [tensor()])
    bad("leading_blank", " " + json.dumps(good))
    bad("entry_not_an_object", {"x": [1, 2]})
    bad("field_missing", {"x": {"dtype": "F32", "data_offsets": [0, 24]}})
    bad("field_twice", json.dumps(good).replace('"shape"', '"dtype": "F64", "shape"'))
    bad("name_twice", json.dumps(good)[:-1] + ", " + json.dumps(good)[1:])
    bad("three_offsets", {"x": tensor() | {"data_offsets": [0, 12, 24]}})
    bad("offset_negative", {"x": tensor(begin=-24, end=0)})
    bad("offset_2_64", {"x": tensor(end=2**64)})
    bad("overlap", {"x": tensor((1, 3), 0, 12), "y": tensor((2, 2), 8, 24)})
    bad("gap", {"x": tensor((1, 2), 0, 8), "y": tensor((1, 3), 12, 24)})
    bad("gap_at_begin", {"x": tensor((1, 5), 4, 24)})
    bad("past_end", {"x": tensor((1000, 128), 0, 512_000)})
    bad("reversed", {"x": tensor(begin=24, end=0)})
    bad("extra", good, F6 + b"\0")
    bad("one_byte_short", good, F6[:-1])
    bad("shape_overflows", {"x": tensor((2**32, 2**32))})
    bad("shape_hides_overflow", {"x": tensor((0, 2**64 - 1), 0, 0)}, b"")
    bad("shape_disagrees", {"x": tensor((2, 4))})
    bad("shape_negative", {"x": tensor((2, -3))})
    bad("shape_fraction", json.dumps(good).replace("3]", "3.0]"))
    bad("shape_number", {"x": tensor() | {"shape": 6}})
    bad("dtype_unknown", {"x": tensor(dtype="F128")})
    bad("dtype_lowercase", {"x": tensor(dtype="f32")})
    bad("dtype_number", {"x": tensor(dtype=32)})
    bad("dtype_escapes", {"x": tensor(dtype="\x1b[31m\n")})
    bad("f8", {"x": tensor((2, 12), dtype="F8_E4M3")})
    bad("bool", {"x": tensor((2, 12), dtype="BOOL")}, bytes([0, 1] * 12))
    bad("complex", {"x": tensor((1, 3), dtype="C64")})
    bad("several", {"image": tensor((1, 3), 0, 12), "text": tensor((1, 3), 12, 24)})
    bad("several_odd_names", {"\x1b[31m\n": tensor((1, 3), 0, 12), "y" * 1000: tensor((1, 3), 12, 24)})
    bad("no_tensors", {}, b"")
    bad("metadata_only", {"__metadata__": {"format": "pt"}}, b"")
    bad("0d", {"x": tensor((), 0, 4)}, F6[:4])
    bad("1d", {"x": tensor((6,))})
    bad("3d_no_layer", {"x": tensor((1, 2, 3))})
    bad("4d", {"x": tensor((1, 1, 2, 3))})
    bad("nan_f32", good, floats(1, 2, 3, 4, NAN, 6))
    bad("nan_bf16", {"x": tensor(end=12, dtype="BF16")}, struct.pack("<6H", 0x3F80, 0x4000, 0x7FC0, 0, 0, 0))
    bad("infinite_f16", {"x": tensor(end=12, dtype="F16")}, struct.pack("<6e", 1, 2, 3, -INF, 5, 6))
    bad("beyond_f32", {"x": tensor(end=48, dtype="F64")}, struct.pack("<6d", 1, 2, 3, 1e39, 5, 6))


def make_glove():
    texts = {
        "empty": "",
        "byte_order_mark_only": "\ufeff",
        "one_field": "cat\n",
        "one_field_each": "cat\ndog\nowl\n",
        "fewer_fields_on_line_3": "cat 1 2 3\ndog 4 5 6\nowl 7 8\n",
        "extra_number": "cat 1 2 3\ndog 4 5 6 7\n",
        "number_in_a_name_with_blanks": "cat 1 2 3\nroute 66 west 4 5 6\n",
        "not_a_number": "cat 1 2 3\ndog 4 five 6\n",
        "not_a_number_in_line_1": "cat 1 2x 3\ndog 4 5 6\n",
        "not_a_number_in_last_field": "cat 1 2 3\ndog 4 5 6.1.2\n",
        "hexadecimal": "cat 1 2 3\ndog 4 0x5 6\n",
        "long_field": "cat 1 2\ndog 3 " + "x" * 1000 + "\n",
        "control_characters": "cat 1 2\ndog 3 \x1b[31m\0\n",
        "empty_line": "cat 1 2 3\n\ndog 4 5 6\n",
        "no_word": "cat 1 2 3\n 4 5 6\n",
        "no_word_in_line_1": " 1 2 3\ndog 4 5 6\n",
        "word_twice": "cat 1 2 3\ndog 4 5 6\ncat 7 8 9\n",
        "word_not_utf8": b"cat 1 2 3\ncaf\xe9 4 5 6\n",
        "decimal_commas": "cat 1,5 2,5 3,5\ndog 4,5 5,5 6,5\n",
        "decimal_comma_on_line_2": "cat 1.5 2.5 3.5\ndog 4,5 5.5 6.5\n",
        "words_only": "the quick brown fox\njumps over the lazy dog\n",
        "utf16": "cat 1 2 3\ndog 4 5 6\n".encode("utf-16"),
        "nan": "cat 1 2 3\ndog 4 nan 6\n",
        "infinite": "cat 1 2 3\ndog 4 5 -inf\n",
        "beyond_f32": "cat 1 2 3\ndog 1e39 5 6\n",
        "beyond_f64": "cat 1 2 3\ndog 4 -1e999 6\n",
    }
    for name, text in texts.items():
        write(f"glove_{name}.txt", text)


def make_word2vec():
    rows = "cat 1 2 3\ndog 4 5 6\n"
    texts = {
        "empty.vec": "",
        "is_glove.vec": rows,
        "header_only.vec": "2 3\n",
        "header_no_newline.vec": "2 3",
        "header_one_field.vec": "2\n" + rows,
        "header_three_fields.vec": "2 3 4\n" + rows,
        "header_words.vec": "rows dims\n" + rows,
        "header_fraction.vec": "2.0 3\n" + rows,
        "header_empty_line.vec": "\n2 3\n" + rows,
        "count_large.vec": "3 3\n" + rows,
        "count_large.txt": "3 3\n" + rows,
        "count_small.vec": "1 3\n" + rows,
        "count_small.txt": "1 3\n" + rows,
        "count_0_and_rows.vec": "0 3\n" + rows,
        "count_negative.vec": "-2 3\n" + rows,
        "count_2_64.vec": f"{2**64} 3\n" + rows,
        "count_huge.vec": f"{2**63} {2**63}\n" + rows,
        "dimension_large.vec": "2 4\n" + rows,
        "dimension_small.vec": "2 2\n" + rows,
        "dimension_small.txt": "2 2\n" + rows,
        "fewer_values_on_line_3.vec": "3 3\ncat 1 2 3\ndog 4 5\nowl 7 8 9\n",
        "empty_line.vec": "2 3\ncat 1 2 3\n\ndog 4 5 6\n",
        "not_a_number.vec": "2 3\ncat 1 2 3\ndog 4 five 6\n",
        "no_word.vec": "2 3\ncat 1 2 3\n 4 5 6\n",
        "word_twice.vec": "2 3\ncat 1 2 3\ncat 4 5 6\n",
        "word_not_utf8.vec": b"2 3\ncaf\xe9 1 2 3\ndog 4 5 6\n",
        "nan.vec": "2 3\ncat 1 2 3\ndog 4 NaN 6\n",
        "beyond_f32.vec": "2 3\ncat 1 2 3\ndog 4 5 -1e39\n",
    }
    for name, text in texts.items():
        write(f"word2vec_{name}", text)


def make_w2v_binary():
    def rows(*words, end=b"\n", values=F6):
        return b"".join(w + b" " + values[12 * i:12 * i + 12] + end for i, w in enumerate(words))

    two = rows(b"cat", b"dog")
    files = {
        "empty": b"",
        "header_only": b"2 3\n",
        "header_no_newline": b"2 3" + b" " * 1500,
        "header_digits": b"1" * 1500,
        "header_one_field": b"2\n" + two,
        "header_three_fields": b"2 3 4\n" + two,
        "header_negative": b"-2 3\n" + two,
        "count_2_64": b"18446744073709551616 3\n" + two,
        "overflows": b"9223372036854775808 9223372036854775808\n" + two,
        "dimension_2_62": b"2 4611686018427387904\n" + two,
        "dimension_large": b"2 4\n" + two,
        "count_large": b"3 3\n" + two,
        "count_huge": b"1000000000000 3\n" + two,
        "cut_in_vector": b"2 3\n" + two[:-3],
        "cut_in_word": b"2 3\n" + rows(b"cat") + b"do",
        "extra": b"2 3\n" + two + b"\0",
        "extra_row": b"1 3\n" + two,
        "word_without_end": b"2 3\n" + rows(b"cat") + b"d" * 300,
        "word_long": b"2 3\n" + rows(b"cat", b"d" * 1980),
        "word_empty": b"2 3\n" + rows(b"cat", b""),
        "word_twice": b"2 3\n" + rows(b"cat", b"cat"),
        "word_twice_gensim": b"2 3\n" + rows(b"cat", b"cat", end=b""),
        "word_not_utf8": b"2 3\n" + rows(b"cat", b"caf\xe9"),
        "word_escapes": b"2 3\n" + rows(b"\x1b[31m", b"\x1b[31m"),
        "nan": b"2 3\n" + rows(b"cat", b"dog", values=floats(1, 2, 3, 4, NAN, 6)),
        "infinite": b"2 3\n" + rows(b"cat", b"dog", end=b"", values=floats(1, 2, -INF, 4, 5, 6)),
    }
    for name, data in files.items():
        write(f"w2v_binary_{name}.bin", data)


I8, U8, I32, U32, SINGLE, DOUBLE, I64, MATRIX, COMPRESSED, UTF16 = 1, 2, 5, 6, 7, 9, 12, 14, 15, 17
CELL, STRUCT, OBJECT, CHAR, SPARSE, AS_DOUBLE, AS_SINGLE, AS_U8, FUNCTION, OPAQUE = 1, 2, 3, 4, 5, 6, 7, 9, 16, 17
HEADER = b"MATLAB 5.0 MAT-file, written by make_bad_more.py".ljust(116) + bytes(8)


def element(kind, data, length=None):
    """A data element: the small format up to 4 bytes, else padded to 8; `length` is a lie about its length."""
    if length is None and 0 < len(data) <= 4:
        return struct.pack("<I", len(data) << 16 | kind) + data.ljust(4, b"\0")
    return struct.pack("<II", kind, len(data) if length is None else length) + data + bytes(-len(data) % 8)


def flags(number, bits=0, nonzero=0):
    return element(U32, struct.pack("<II", bits << 8 | number, nonzero))


def dims(*sizes):
    return element(I32, struct.pack(f"<{len(sizes)}i", *sizes))


def matrix(*parts, length=None):
    body = b"".join(parts)
    return struct.pack("<II", MATRIX, len(body) if length is None else length) + body


def numbers(name=b"x", shape=(2, 3), kind=SINGLE, data=F6, number=AS_SINGLE, bits=0):
    return matrix(flags(number, bits), dims(*shape), element(I8, name), element(kind, data))


def compressed(data, packed=None):
    packed = zlib.compress(data, 9) if packed is None else packed
    return struct.pack("<II", COMPRESSED, len(packed)) + packed


def mat_file(*elements, version=0x0100, mark=b"IM"):
    return HEADER + struct.pack("<H", version) + mark + b"".join(elements)


def make_mat():
    def bad(name, *elements, **options):
        write(f"mat_{name}.mat", mat_file(*elements, **options))

    good, hdf5 = numbers(), b"\x89HDF\r\n\x1a\n" + bytes(40)
    head = [flags(AS_SINGLE), dims(2, 3), element(I8, b"x")]
    text = element(UTF16, "hello".encode("utf-16-le"))
    write("mat_empty.mat", b"")
    write("mat_100_bytes.mat", mat_file()[:100])
    write("mat_text.mat", "1 2 3\n4 5 6\n" * 20)
    write("mat_version_4.mat", struct.pack("<5I", 0, 2, 3, 0, 2) + b"x\0" + struct.pack("<6d", 1, 4, 2, 5, 3, 6))
    version_7_3 = HEADER.replace(b"5.0", b"7.3") + struct.pack("<H", 0x0200) + b"IM"
    write("mat_version_7_3.mat", version_7_3.ljust(512, b"\0") + hdf5)
    write("mat_version_7_3_no_hdf5.mat", version_7_3 + good)
    bad("version_3", good, version=0x0300)
    bad("endian_mark", good, mark=b"XX")
    bad("endian_mark_other_way", good, mark=b"MI")
    bad("no_variables")
    bad("tag_cut", good, b"\x0e\0\0\0\x30")
    bad("element_past_end", good[:4] + struct.pack("<I", 4096) + good[8:])
    bad("element_4_gib", good[:4] + struct.pack("<I", 2**32 - 8) + good[8:])
    bad("type_unknown", element(99, F6))
    bad("type_not_a_matrix", element(SINGLE, F6))
    bad("matrix_empty", matrix())
    bad("matrix_flags_only", matrix(flags(AS_SINGLE)))
    bad("matrix_no_data", matrix(*head))
    bad("matrix_extra", matrix(*head, element(SINGLE, F6), element(SINGLE, F6)))
    bad("part_past_matrix", matrix(*head, element(SINGLE, F6, length=400)))
    bad("part_type_unknown", matrix(*head, element(99, F6)))
    bad("small_of_5_bytes", matrix(*head[:2], struct.pack("<I", 5 << 16 | I8) + b"xxxx", element(SINGLE, F6)))
    bad("flags_short", matrix(element(U32, bytes([AS_SINGLE, 0, 0, 0])), *head[1:], element(SINGLE, F6)))
    bad("flags_type", matrix(element(SINGLE, struct.pack("<II", AS_SINGLE, 0)), *head[1:], element(SINGLE, F6)))
    bad("class_unknown", numbers(number=77))
    bad("dims_overflow", numbers(shape=(2**31 - 1, 2**31 - 1), kind=DOUBLE, number=AS_DOUBLE))
    bad("dims_negative", numbers(shape=(2, -3)))
    bad("dims_7_bytes", matrix(head[0], element(I32, struct.pack("<ii", 2, 3)[:7]), head[2], element(SINGLE, F6)))
    bad("dims_none", matrix(head[0], element(I32, b""), head[2], element(SINGLE, F6)))
    bad("dims_type", matrix(head[0], element(DOUBLE, struct.pack("<dd", 2, 3)), head[2], element(SINGLE, F6)))
    bad("dims_1d", numbers(shape=(6,)))
    bad("dims_3d_no_layer", numbers(shape=(1, 2, 3)))
    bad("dims_4d", numbers(shape=(1, 1, 2, 3)))
    bad("data_short", numbers(data=F6[:-4]))
    bad("data_long", numbers(data=F6 + F6[:8]))
    bad("data_part_of_a_number", numbers(data=F6[:-1]))
    bad("data_type_text", numbers(kind=UTF16, data=F6[:12]))
    bad("complex", matrix(flags(AS_SINGLE, 0x08), *head[1:], element(SINGLE, F6), element(SINGLE, F6)))
    bad("logical", numbers(number=AS_U8, bits=0x02, kind=U8, data=bytes([0, 1] * 3)))
    bad("char", matrix(flags(CHAR), dims(1, 5), head[2], text))
    bad("cell", matrix(flags(CELL), dims(1, 1), head[2], numbers(name=b"")))
    field = [element(I32, struct.pack("<i", 8)), element(I8, b"field\0\0\0")]
    bad("struct", matrix(flags(STRUCT), dims(1, 1), head[2], *field, numbers(name=b"")))
    bad("object", matrix(flags(OBJECT), dims(1, 1), head[2], element(I8, b"thing"), *field, numbers(name=b"")))
    bad("function", matrix(flags(FUNCTION), dims(1, 1), head[2], numbers(name=b"")))
    bad("opaque", matrix(flags(OPAQUE), head[2], element(I8, b"MCOS"), element(I8, b"table"), numbers(name=b"")))
    ends = [element(I32, struct.pack("<2i", 0, 1)), element(I32, struct.pack("<4i", 0, 1, 1, 2))]
    ends.append(element(DOUBLE, struct.pack("<2d", 1, 2)))
    bad("sparse", matrix(flags(SPARSE, nonzero=2), dims(2, 3), head[2], *ends))
    bad("several", numbers(b"image"), numbers(b"text"))
    note = matrix(flags(CHAR), dims(1, 5), element(I8, b"note"), text)
    bad("several_and_a_char", numbers(b"image"), note, numbers(b"text"))
    bad("name_twice", numbers(), numbers())
    bad("name_escapes", numbers(b"\x1b[31m\n"), numbers(b"y" * 200))
    bad("name_too_long", numbers(b"y" * 1000))
    bad("dims_too_many", numbers(shape=[1] * 33))
    bad("nan", numbers(data=floats(1, 2, 3, 4, NAN, 6)))
    bad("infinite", compressed(numbers(kind=DOUBLE, data=struct.pack("<6d", 1, 2, 3, 4, 5, -INF), number=AS_DOUBLE)))
    bad("beyond_f32", numbers(kind=DOUBLE, data=struct.pack("<6d", 1, 2, 3, 1e39, 5, 6), number=AS_DOUBLE))
    packed = zlib.compress(good, 9)
    bad("compressed_empty", compressed(b"", b""))
    bad("compressed_nothing", compressed(b""))
    bad("compressed_not_zlib", compressed(b"", b"hello, world"))
    bad("compressed_checksum", compressed(b"", packed[:-4] + b"\0\0\0\0"))
    bad("compressed_no_checksum", compressed(b"", packed[:-4]))
    bad("compressed_cut", compressed(b"", packed[:30]))
    bad("compressed_past_end", compressed(good)[:-10])
    bad("compressed_extra", compressed(b"", packed + b"\0\0\0"))
    bad("compressed_longer", compressed(good[:4] + struct.pack("<I", len(good)) + good[8:]))
    bad("compressed_two_elements", compressed(good + good))
    bad("compressed_twice", compressed(compressed(good)))
    bad("compressed_not_a_matrix", compressed(element(SINGLE, F6)))
    big = [*head[:1], dims(2**20, 2**6), head[2], struct.pack("<II", SINGLE, 2**28)]
    bad("compressed_over_budget", compressed(matrix(*big, length=48 + 2**28)))
    bomb = [flags(AS_SINGLE), dims(2**18, 100), element(I8, b"x"), element(SINGLE, bytes(100 * 2**20))]
    bad("compressed_bomb", compressed(matrix(*bomb)))
    bad("compressed_bomb_that_lies", compressed(numbers() + bytes(7 * 2**18)))


def make_foreign():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in ("archive/data.pkl", "archive/data/0", "archive/version"):
            content = {"archive/data.pkl": b"\x80\x02.", "archive/data/0": F6, "archive/version": b"3\n"}[name]
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    zstd = b"\x28\xb5\x2f\xfd\x20\x12\x91\x00\x00" + b"cat 1 2\ndog 3 4\n\n\n"
    files = {
        "hdf5.h5": b"\x89HDF\r\n\x1a\n" + bytes(88),
        "parquet.parquet": b"PAR1" + bytes(32) + struct.pack("<I", 24) + b"PAR1",
        "pickle.pkl": pickle.dumps([[1.0, 2.0], [3.0, 4.0]], protocol=4),
        "gzip.gz": gzip.compress(b"cat 1 2\ndog 3 4\n", mtime=0),
        "gzip.txt": gzip.compress(b"cat 1 2\ndog 3 4\n", mtime=0),
        "zstd.zst": zstd,
        "xz.xz": lzma.compress(b"cat 1 2\ndog 3 4\n", check=lzma.CHECK_CRC32),
        "fasttext.bin": struct.pack("<iiiiii", 0x2F4F16BA, 12, 100, 5, 5, 5) + bytes(40),
        "pytorch.pt": out.getvalue(),
        "arrow.arrow": b"ARROW1\0\0" + b"\xff\xff\xff\xff" + struct.pack("<I", 16) + bytes(16) + b"ARROW1",
        "numpy_print.txt": "[[1. 2.]\n [3. 4.]]\n",
        "hdf5.mat": b"\x89HDF\r\n\x1a\n" + bytes(200),
    }
    for name, data in files.items():
        write(f"foreign_{name}", data)


OUT.mkdir(parents=True, exist_ok=True)
make_binary()
make_safetensors()
make_glove()
make_word2vec()
make_w2v_binary()
make_mat()
make_foreign()
