"""The golden files of bvecs, u8bin, i8bin, safetensors, GloVe, word2vec, MATLAB and of folders of parts; for `make_golden.py`.

The bytes of every format but npy are put together here.
"""

import io
import json
import struct
import zlib

import numpy as np
from numpy.lib import format as npy_format

from golden_table import OUT, X, expect, write

VIEW, BLOCKS, MEMORY = "used in place", "converted block by block", "held in memory"
WIDE = {
    "f16": [[0.0, -1.5, 65504.0], [6e-8, 0.1, -2.0]],
    "f32": [[0.0, 1e-45, 3.4e38], [-0.1, 1 / 3, 1.5]],
    "f64": [[0.1, 1 / 3, 16777217.0], [1e-50, -3.4e38, 2.0]],
    "i8": [[-128, 0, 127], [1, -1, 5]],
    "u8": [[0, 128, 255], [1, 2, 3]],
    "i16": [[-32768, 0, 32767], [1, -1, 5]],
    "u16": [[0, 32768, 65535], [1, 2, 3]],
    "i32": [[-(2**31), 16777217, 2**31 - 1], [1, -1, 33554435]],
    "u32": [[0, 16777217, 2**32 - 1], [1, 2, 3]],
    "i64": [[-(2**63), 2**53 + 1, 2**63 - 1], [1, -1, 5]],
    "u64": [[0, 2**63 + 1, 2**64 - 1], [1, 2, 3]],
}


def wide(element, endian="<"):
    """The values of WIDE as an array of the element type."""
    return np.array(WIDE[element], dtype=f"{endian}{element[0]}{int(element[1:]) // 8}")


def make_binary():
    u8, i8 = wide("u8"), wide("i8")
    write("plain.bvecs", b"".join(struct.pack("<i", 3) + row.tobytes() for row in u8))
    expect("plain.bvecs", "bvecs", "u8", "row-major", BLOCKS, u8)
    write("plain.u8bin", struct.pack("<II", 2, 3) + u8.tobytes())
    expect("plain.u8bin", "u8bin", "u8", "row-major", BLOCKS, u8)
    write("plain.i8bin", struct.pack("<II", 2, 3) + i8.tobytes())
    expect("plain.i8bin", "i8bin", "i8", "row-major", BLOCKS, i8)


def make_parts():
    """Three parts, of which part-2 comes before part-10; and a list that takes two of them in its own order."""
    (OUT / "parts").mkdir(exist_ok=True)
    parts = {i: X + np.float32(i) for i in (0, 2, 10)}
    for i, array in parts.items():
        out = io.BytesIO()
        npy_format.write_array(out, array, version=(1, 0), allow_pickle=False)
        write(f"parts/part-{i}.npy", out.getvalue())
    expect("parts", "npy", "f32", "row-major", VIEW, np.vstack([parts[0], parts[2], parts[10]]))
    write("parts.list", b"parts/part-10.npy\nparts/part-0.npy\n")
    expect("@parts.list", "npy", "f32", "row-major", VIEW, np.vstack([parts[10], parts[0]]))


def safetensors(header, data, pad=8, remainder=0):
    """A header, padded with blanks until the data's offset leaves `remainder` when divided by `pad`, and the data."""
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    text += b" " * ((remainder - 8 - len(text)) % pad)
    return struct.pack("<Q", len(text)) + text + data


def tensors(arrays, metadata=None):
    """Header and data of tensors (name -> dtype, shape, bytes) that lie one behind the other."""
    header, data = {} if metadata is None else {"__metadata__": metadata}, b""
    for name, (dtype, shape, content) in arrays.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    return header, data


def make_safetensors():
    one = {"embeddings": ("F32", X.shape, X.tobytes())}
    write("st_f32.safetensors", safetensors(*tensors(one)))
    write("st_metadata.safetensors", safetensors(*tensors(one, {"format": "pt", "note": "a::b"})))
    write("st_whitespace.safetensors", safetensors(json.dumps(tensors(one)[0], indent=1).encode(), X.tobytes()))
    for name in ("st_f32", "st_metadata", "st_whitespace", "st_f32.safetensors::embeddings"):
        argument = name if "::" in name else name + ".safetensors"
        expect(argument, "safetensors", "f32", "row-major", VIEW, X)
    # The header decides where the data begins; some writers do not pad it.
    write("st_unaligned_header.safetensors", safetensors(*tensors(one), 4, 3))
    expect("st_unaligned_header.safetensors", "safetensors", "f32", "row-major", BLOCKS, X)
    odd = {"a": ("U8", (1, 3), bytes([7, 8, 9])), "b": ("F32", X.shape, X.tobytes())}
    write("st_unaligned_tensor.safetensors", safetensors(*tensors(odd)))
    expect("st_unaligned_tensor.safetensors::a", "safetensors", "u8", "row-major", BLOCKS, [[7, 8, 9]])
    expect("st_unaligned_tensor.safetensors::b", "safetensors", "f32", "row-major", BLOCKS, X)
    # bf16 is the upper half of an f32: 1.5, -2.25, 3.3895e38 (its largest), 9.18e-41 (its smallest), 0.1, -0.
    half = np.array([[0x3FC0, 0xC010, 0x7F7F], [0x0001, 0x3DCD, 0x8000]], dtype="<u2")
    every = {element: (element.upper(), (2, 3), wide(element).tobytes()) for element in WIDE}
    every["bf16"] = ("BF16", (2, 3), half.tobytes())
    write("st_elements.safetensors", safetensors(*tensors(every)))
    for element in WIDE:
        access = VIEW if element == "f32" else BLOCKS
        expect(f"st_elements.safetensors::{element}", "safetensors", element, "row-major", access, wide(element))
    bf16 = (half.astype("<u4") << 16).view("<f4")
    expect("st_elements.safetensors::bf16", "safetensors", "bf16", "row-major", BLOCKS, bf16)
    # The header may name the tensors in another order than that of their data, and the fields too.
    text = (b'{"model.layers.0.weight":{"data_offsets":[24,48],"shape":[2,3],"dtype":"F32"},'
            b'"model.embed.weight":{"shape":[2,3],"data_offsets":[0,24],"dtype":"F32"}}')
    write("st_offset_order.safetensors", safetensors(text, X.tobytes() + (-X).tobytes()))
    expect("st_offset_order.safetensors::model.embed.weight", "safetensors", "f32", "row-major", VIEW, X)
    expect("st_offset_order.safetensors::model.layers.0.weight", "safetensors", "f32", "row-major", VIEW, -X)
    text = rb'{"\u00e9t\u00e9 \ud83d\ude00":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},'
    text += b'"z":{"dtype":"F32","shape":[1,1],"data_offsets":[24,28]}}'
    write("st_escapes.safetensors", safetensors(text, X.tobytes() + struct.pack("<f", 7)))
    expect("st_escapes.safetensors::\u00e9t\u00e9 \U0001f600", "safetensors", "f32", "row-major", VIEW, X)
    write("st_no_rows.safetensors", safetensors(*tensors({"x": ("F32", (0, 3), b"")})))
    expect("st_no_rows.safetensors", "safetensors", "f32", "row-major", VIEW, np.zeros((0, 3)))
    layers = np.arange(24, dtype="<f4").reshape(2, 3, 4) / 8
    half = (layers * 2).astype("<f2")
    both = {"hidden": ("F32", layers.shape, layers.tobytes()), "half": ("F16", half.shape, half.tobytes())}
    write("st_layers.safetensors", safetensors(*tensors(both)))
    for layer in range(3):
        order = f"layer {layer}"
        expect(f"st_layers.safetensors::hidden::{layer}", "safetensors", "f32", order, VIEW, layers[:, layer])
        expect(f"st_layers.safetensors::half::{layer}", "safetensors", "f16", order, BLOCKS, half[:, layer])
    write("st_layers_one.safetensors", safetensors(*tensors({"hidden": both["hidden"]}, {})))
    expect("st_layers_one.safetensors::1", "safetensors", "f32", "layer 1", VIEW, layers[:, 1])


def make_glove():
    texts = {
        "plain": ("cat 1.5 -2.25 3\ndog 4 5.5 -6.125\n", ["cat", "dog"]),
        "crlf": ("cat 1.5 -2.25 3\r\ndog 4 5.5 -6.125\r\n", ["cat", "dog"]),
        "trailing_blanks": ("cat 1.5 -2.25 3 \ndog 4 5.5 -6.125 \n", ["cat", "dog"]),
        "number_word": ("cat 1.5 -2.25 3\n1984 4 5.5 -6.125\n", ["cat", "1984"]),
        "number_word_first": ("1984 1.5 -2.25 3\ncat 4 5.5 -6.125\n", ["1984", "cat"]),
        "utf8": ("na\u00efve 1.5 -2.25 3\n\u65e5\u672c\u8a9e 4 5.5 -6.125\n", ["na\u00efve", "\u65e5\u672c\u8a9e"]),
        "nbsp_and_comma": (", 1.5 -2.25 3\na\u00a0b,c 4 5.5 -6.125\n", [",", "a\u00a0b,c"]),
        # No line ends and no blanks, whatever Unicode says: U+0085, U+2028, U+3000.
        "odd_blanks": ("a\u0085b 1.5 -2.25 3\nc\u2028d\u3000 4 5.5 -6.125\n", ["a\u0085b", "c\u2028d\u3000"]),
        "quotes": ("\" 1.5 -2.25 3\n'' 4 5.5 -6.125\n", ['"', "''"]),
        "scientific": ("cat 1.5e0 -225E-2 +.3e+1\ndog 4.e00 0.55e1 -6125e-3\n", ["cat", "dog"]),
        "no_newline": ("cat 1.5 -2.25 3\ndog 4 5.5 -6.125", ["cat", "dog"]),
        "bom": ("\ufeffcat 1.5 -2.25 3\ndog 4 5.5 -6.125\n", ["cat", "dog"]),
    }
    for name, (text, names) in texts.items():
        write(f"glove_{name}.txt", text.encode())
        expect(f"glove_{name}.txt", "glove", "f32", "row-major", MEMORY, X, names)
    # As in the 840B vectors: the word is all that stands before the last d fields.
    write("glove_words_with_blanks.txt", b"the 1.5 -2.25 3\n. . . 4 5.5 -6.125\nat name@domain.com 7 8 9\n")
    values = np.vstack([X, np.array([[7, 8, 9]], dtype=np.float32)])
    names = ["the", ". . .", "at name@domain.com"]
    expect("glove_words_with_blanks.txt", "glove", "f32", "row-major", MEMORY, values, names)
    # Just above halfway between two f32: rounding to f64 first would give the lower one.
    write("glove_one_rounding.txt", b"cat 1.000000059604644776 1 -0\n")
    values = [[np.float32(1.0000001), 1.0, -0.0]]
    expect("glove_one_rounding.txt", "glove", "f32", "row-major", MEMORY, values, ["cat"])


def make_word2vec():
    texts = {
        "plain.txt": ("2 3\ncat 1.5 -2.25 3\ndog 4 5.5 -6.125\n", ["cat", "dog"]),
        "plain.vec": ("2 3\ncat 1.5 -2.25 3\ndog 4 5.5 -6.125\n", ["cat", "dog"]),
        "fasttext.vec": ("2 3\n</s> 1.5 -2.25 3.0 \ndog 4.0 5.5 -6.125 \n", ["</s>", "dog"]),
        "crlf.vec": ("2 3\r\ncat 1.5 -2.25 3\r\ndog 4 5.5 -6.125\r\n", ["cat", "dog"]),
        "no_newline.vec": ("2 3\ncat 1.5 -2.25 3\ndog 4 5.5 -6.125", ["cat", "dog"]),
        "number_words.vec": ("2 3\n1984 1.5 -2.25 3\n2 4 5.5 -6.125\n", ["1984", "2"]),
        "blank_in_word.txt": ("2 3\nat home 1.5 -2.25 3\ndog 4 5.5 -6.125\n", ["at home", "dog"]),
        "utf8.vec": ("2 3\n\u00e9t\u00e9 1.5 -2.25 3\n\u00a0 4 5.5 -6.125\n", ["\u00e9t\u00e9", "\u00a0"]),
    }
    for name, (text, names) in texts.items():
        write(f"w2v_{name}", text.encode())
        expect(f"w2v_{name}", "word2vec", "f32", "row-major", MEMORY, X, names)
    # Values whose bytes are blanks and newlines; the word2vec tool ends every row with a newline, gensim does not.
    blanks = np.frombuffer(bytes([10, 10, 10, 10, 32, 32, 32, 32, 10, 32, 10, 32, 32, 10, 0, 10, 0, 0, 32, 66]) +
                           b"\n  \n", dtype="<f4").reshape(2, 3)
    cases = {"plain": (X, ["cat", "dog"]), "blanks": (blanks, ["</s>", "x"]), "utf8": (X, ["\u65e5\u672c", "\u00e9"])}
    for name, (values, words) in cases.items():
        for tool, end in {"c": b"\n", "gensim": b""}.items():
            body = b"".join(w.encode() + b" " + v.tobytes() + end for w, v in zip(words, values, strict=True))
            write(f"w2v_{name}_{tool}.bin", b"2 3\n" + body)
            expect(f"w2v_{name}_{tool}.bin", "word2vec-binary", "f32", "row-major", BLOCKS, values, words)


# MATLAB level 5: the numbers of the stored types and of the array classes.
MI = {"i8": 1, "u8": 2, "i16": 3, "u16": 4, "i32": 5, "u32": 6, "f32": 7, "f64": 9, "i64": 12, "u64": 13}
CLASS = {"f64": 6, "f32": 7, "i8": 8, "u8": 9, "i16": 10, "u16": 11, "i32": 12, "u32": 13, "i64": 14, "u64": 15}
CELL, CHAR, MATRIX, COMPRESSED, UTF16 = 1, 4, 14, 15, 17


def mat_element(endian, kind, data, small=True):
    """A data element, padded to 8 bytes; up to 4 bytes fit into the tag (the small format)."""
    if small and 0 < len(data) <= 4:
        return struct.pack(endian + "I", len(data) << 16 | kind) + data.ljust(4, b"\0")
    return struct.pack(endian + "II", kind, len(data)) + data + bytes(-len(data) % 8)


def mat_matrix(endian, name, shape, number, parts, flags=0, dims_kind="i32", small=True):
    """A matrix element of class `number` whose contents are `parts`: elements, already put together."""
    body = mat_element(endian, MI["u32"], struct.pack(endian + "II", flags << 8 | number, 0))
    body += mat_element(endian, MI[dims_kind], struct.pack(f"{endian}{len(shape)}i", *shape))
    body += mat_element(endian, MI["i8"], name.encode(), small) + b"".join(parts)
    return struct.pack(endian + "II", MATRIX, len(body)) + body


def mat_numbers(endian, name, array, cls=None, **options):
    """A numeric matrix: `array` in its own type as stored, `cls` the class if that is another one."""
    element = array.dtype.kind + str(8 * array.dtype.itemsize)
    data = array.astype(array.dtype.newbyteorder(endian)).tobytes("F")
    parts = [mat_element(endian, MI[element], data, options.get("small", True))]
    return mat_matrix(endian, name, array.shape, CLASS[cls or element], parts, **options)


def mat_compressed(endian, element):
    """The element as zlib; it is not padded."""
    packed = zlib.compress(element)
    return struct.pack(endian + "II", COMPRESSED, len(packed)) + packed


def mat_file(endian, *elements):
    text = b"MATLAB 5.0 MAT-file, written by make_golden_more.py".ljust(116) + bytes(8)
    return text + struct.pack(endian + "HH", 0x0100, 0x4D49) + b"".join(elements)


def make_mat():
    def golden(name, element, values, *elements, endian="<", access=BLOCKS, member=""):
        write(f"mat_{name}.mat", mat_file(endian, *elements))
        expect(f"mat_{name}.mat{member}", "mat", element, "column-major", access, values)

    for element in CLASS:
        array = wide(element)
        golden(f"{element}_little", element, array, mat_numbers("<", "x", array))
        golden(f"{element}_big", element, array, mat_numbers(">", "x", array), endian=">")
    # MATLAB stores doubles and singles that are small whole numbers as integers.
    for element, cls in (("u8", "f64"), ("i16", "f64"), ("u16", "f64"), ("i32", "f64"), ("u8", "f32")):
        golden(f"{cls}_as_{element}", element, wide(element), mat_numbers("<", "x", wide(element), cls))
    four = np.array([[1, 2], [3, 255]], dtype=np.uint8)
    for name, endian in {"little": "<", "big": ">"}.items():
        golden(f"small_data_{name}", "u8", four, mat_numbers(endian, "abcd", four), endian=endian)
    golden("no_small_format", "u8", four, mat_numbers("<", "ab", four, small=False))
    golden("long_name", "f32", X, mat_numbers("<", "embeddings_1", X))
    golden("name_8", "f32", X, mat_numbers("<", "x" * 8, X))
    golden("one_of_one", "f32", X, mat_numbers("<", "x", X), member="::x")
    golden("dims_u32", "f32", X, mat_numbers("<", "x", X, dims_kind="u32"))
    golden("global", "f32", X, mat_numbers("<", "x", X, flags=0x04))
    golden("no_rows", "f64", np.zeros((0, 3)), mat_numbers("<", "x", np.zeros((0, 3))))
    for name, endian in {"little": "<", "big": ">"}.items():
        packed = mat_compressed(endian, mat_numbers(endian, "x", wide("f64")))
        golden(f"compressed_{name}", "f64", wide("f64"), packed, endian=endian, access=MEMORY)
    golden("compressed_as_u8", "u8", four, mat_compressed("<", mat_numbers("<", "x", four, "f64")), access=MEMORY)
    # Several variables: those that hold no numbers are passed over.
    text = mat_matrix("<", "text", (1, 5), CHAR, [mat_element("<", UTF16, "hello".encode("utf-16-le"))])
    cells = [mat_numbers("<", "", X), mat_matrix("<", "", (1, 0), CHAR, [mat_element("<", UTF16, b"")])]
    cell = mat_matrix("<", "cells", (1, 2), CELL, cells)
    layers = np.arange(24, dtype="<f4").reshape(2, 3, 4) / 8
    numbers = [mat_numbers("<", "x", X), mat_numbers("<", "whole", wide("i16")), mat_numbers("<", "layers", layers)]
    plain = [text, numbers[0], cell, *numbers[1:]]
    for name, elements in {"several": plain, "several_compressed": [mat_compressed("<", e) for e in plain]}.items():
        access = BLOCKS if name == "several" else MEMORY
        golden(name, "f32", X, *elements, member="::x", access=access)
        expect(f"mat_{name}.mat::whole", "mat", "i16", "column-major", access, wide("i16"))
        for layer in range(3):
            expect(f"mat_{name}.mat::layers::{layer}", "mat", "f32", f"layer {layer}", access, layers[:, layer])
    write("mat_mixed.mat", mat_file("<", mat_compressed("<", text), numbers[0], mat_compressed("<", numbers[1]), cell))
    expect("mat_mixed.mat::x", "mat", "f32", "column-major", BLOCKS, X)
    expect("mat_mixed.mat::whole", "mat", "i16", "column-major", MEMORY, wide("i16"))
    write("mat_layers.mat", mat_file("<", mat_numbers("<", "layers", layers.astype("<f8"))))
    expect("mat_layers.mat::2", "mat", "f64", "layer 2", BLOCKS, layers[:, 2])
    expect("mat_layers.mat::layers::0", "mat", "f64", "layer 0", BLOCKS, layers[:, 0])


def make():
    make_binary()
    make_parts()
    make_safetensors()
    make_glove()
    make_word2vec()
    make_mat()
