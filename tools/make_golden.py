"""Writes fixtures/golden: small files of every input format, and expected.tsv with the f32 values they hold.

The files are numpy's own where numpy has the format. Usage: python tools/make_golden.py (needs numpy; writes the same
bytes every time).
"""

import io
import struct
import zipfile

import numpy as np
from numpy.lib import format as npy_format

import golden_more
from golden_table import OUT, X, expect, save, write

def npy_bytes(array, version):
    out = io.BytesIO()
    npy_format.write_array(out, array, version=version, allow_pickle=False)
    return out.getvalue()


def with_header(text, data, version=1):
    """An npy whose dict literal is `text`, padded as the format asks for."""
    length = "<H" if version == 1 else "<I"
    start = 8 + struct.calcsize(length)
    text = text.encode() + b" " * (-(start + len(text) + 1) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack(length, len(text)) + text + data


def npz_bytes(arrays, compression):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0))
            info.compress_type = compression
            archive.writestr(info, npy_bytes(array, (1, 0)))
    return out.getvalue()


WIDE = {
    "f2": [[0.0, -1.5, 65504.0], [6e-8, 0.1, -2.0]],
    "f4": [[0.0, 1e-45, 3.4e38], [-0.1, 1 / 3, 1.5]],
    "f8": [[0.1, 1 / 3, 16777217.0], [1e-50, -3.4e38, 2.0]],
    "i1": [[-128, 0, 127], [1, -1, 5]],
    "u1": [[0, 128, 255], [1, 2, 3]],
    "i2": [[-32768, 0, 32767], [1, -1, 5]],
    "u2": [[0, 32768, 65535], [1, 2, 3]],
    "i4": [[-(2**31), 16777217, 2**31 - 1], [1, -1, 33554435]],
    "u4": [[0, 16777217, 2**32 - 1], [1, 2, 3]],
    "i8": [[-(2**63), 2**53 + 1, 2**63 - 1], [1, -1, 5]],
    "u8": [[0, 2**63 + 1, 2**64 - 1], [1, 2, 3]],
}
NAMES = {"f2": "f16", "f4": "f32", "f8": "f64"} | {f"{k}{s}": f"{k}{8 * s}" for k in "iu" for s in (1, 2, 4, 8)}


def make_npy():
    for code, values in WIDE.items():
        for endian in "<>":
            for fortran in (False, True):
                if code[1] == "1" and endian == ">":
                    continue
                array = np.array(values, dtype=endian + code)
                array = np.asfortranarray(array) if fortran else array
                name = f"{code}_{'big' if endian == '>' else 'little'}_{'fortran' if fortran else 'c'}.npy"
                write(name, npy_bytes(array, (1, 0)))
                view = code == "f4" and endian == "<" and not fortran
                order = "column-major" if fortran else "row-major"
                access = "used in place" if view else "converted block by block"
                expect(name, "npy", NAMES[code], order, access, array)
    for version in (1, 2, 3):
        for fortran in (False, True):
            array = np.asfortranarray(X) if fortran else X
            name = f"version{version}_{'fortran' if fortran else 'c'}.npy"
            write(name, npy_bytes(array, (version, 0)))
            order = "column-major" if fortran else "row-major"
            expect(name, "npy", "f32", order, "converted block by block" if fortran else "used in place", X)
    literals = {
        "no_blanks": "{'descr':'<f4','fortran_order':True,'shape':(2,3)}",
        "trailing_commas": "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3,), }",
        "other_order": '{"shape": (2, 3), "fortran_order": True, "descr": "<f4"}',
        "python2_long": "{'descr': '<f4', 'fortran_order': True, 'shape': (2L, 3L), }",
    }
    for name, literal in literals.items():
        write(f"header_{name}.npy", with_header(literal, X.tobytes("F")))
        expect(f"header_{name}.npy", "npy", "f32", "column-major", "converted block by block", X)
    # Data at an offset that is no multiple of 4 cannot be used in place.
    literal = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n"
    write("unaligned.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(literal) + 1) + b" " + literal + X.tobytes())
    expect("unaligned.npy", "npy", "f32", "row-major", "converted block by block", X)
    for name, shape in {"no_rows": (0, 3), "no_columns": (2, 0)}.items():
        write(f"{name}.npy", npy_bytes(np.zeros(shape, np.float32), (1, 0)))
        expect(f"{name}.npy", "npy", "f32", "row-major", "used in place", np.zeros(shape))
    layers = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8
    for name, array in {"layers_c": layers, "layers_fortran": np.asfortranarray(layers)}.items():
        write(f"{name}.npy", npy_bytes(array, (1, 0)))
        access = "used in place" if name == "layers_c" else "converted block by block"
        for layer in range(3):
            expect(f"{name}.npy::{layer}", "npy", "f32", f"layer {layer}", access, layers[:, layer])


def make_npz():
    arrays = {"text": X, "image": np.array(WIDE["f8"]), "layers": np.arange(12, dtype="<i2").reshape(2, 3, 2)}
    for name, compression in {"stored": zipfile.ZIP_STORED, "deflated": zipfile.ZIP_DEFLATED}.items():
        write(f"{name}.npz", npz_bytes(arrays, compression))
        access = "held in memory" if name == "deflated" else "converted block by block"
        for member in ("text", "text.npy"):
            text_access = access
            expect(f"{name}.npz::{member}", "npz", "f32", "row-major", text_access, X)
        expect(f"{name}.npz::image", "npz", "f64", "row-major", access, arrays["image"])
        expect(f"{name}.npz::layers::1", "npz", "i16", "layer 1", access, arrays["layers"][:, 1])
        write(f"{name}_single.npz", npz_bytes({"layers": arrays["layers"]}, compression))
        expect(f"{name}_single.npz::2", "npz", "i16", "layer 2", access, arrays["layers"][:, 2])
        write(f"{name}_one.npz", npz_bytes({"x": X}, compression))
        expect(f"{name}_one.npz", "npz", "f32", "row-major", access, X)


def make_binary():
    fvecs = b"".join(struct.pack("<i", 3) + row.tobytes() for row in X)
    write("plain.fvecs", fvecs)
    expect("plain.fvecs", "fvecs", "f32", "row-major", "used in place", X)
    whole = np.array(WIDE["i4"], dtype="<i4")
    write("plain.ivecs", b"".join(struct.pack("<i", 3) + row.tobytes() for row in whole))
    expect("plain.ivecs", "ivecs", "i32", "row-major", "converted block by block", whole)
    write("plain.fbin", struct.pack("<II", 2, 3) + X.tobytes())
    expect("plain.fbin", "fbin", "f32", "row-major", "used in place", X)
    write("plain.ibin", struct.pack("<II", 2, 3) + whole.tobytes())
    expect("plain.ibin", "ibin", "i32", "row-major", "converted block by block", whole)


def make_text():
    texts = {
        "plain.csv": ("1.5,-2.25,3\n4,5.5,-6.125\n", None),
        "blanks_crlf.csv": ("1.5, -2.25, 3\r\n 4,5.5 ,-6.125\r\n", None),
        "bom.csv": ("\ufeff1.5,-2.25,3\n4,5.5,-6.125", None),
        "header.csv": ("a,b,c\n1.5,-2.25,3\n4,5.5,-6.125\n", None),
        "names.csv": ("cat,1.5,-2.25,3\ndog,4,5.5,-6.125\n", ["cat", "dog"]),
        "names_header.csv": ("word,a,b,c\ncat,1.5,-2.25,3\ndog,4,5.5,-6.125\n", ["cat", "dog"]),
        "quoted_names.csv": ('"a, b",1.5,-2.25,3\n"c ""d""",4,5.5,-6.125\n', ["a, b", 'c "d"']),
        "number_names.csv": ("7,1.5,-2.25,3\n40 115,4,5.5,-6.125\n", ["7", "40 115"]),
        "id_header.csv": ("ID,x,y,z\n10,1.5,-2.25,3\n11,4,5.5,-6.125\n", ["10", "11"]),
        "pandas.csv": (",0,1,2\n0,1.5,-2.25,3\n1,4,5.5,-6.125\n", ["0", "1"]),
        "semicolons.csv": ("1.5;-2.25;3\n4;5.5;-6.125\n", None),
        "tabs.csv": ("cat\t1.5\t-2.25\t3\ndog\t4\t5.5\t-6.125\n", ["cat", "dog"]),
        "plain.tsv": ("1.5\t-2.25\t3\n4\t5.5\t-6.125\n", None),
        "quotes.tsv": ('"\t1.5\t-2.25\t3\ndog\t4\t5.5\t-6.125\n', ['"', "dog"]),
    }
    for name, (text, names) in texts.items():
        write(name, text.encode())
        expect(name, name.rsplit(".", 1)[1], "f32", "row-major", "held in memory", X, names)
    # Just above halfway between two f32: rounding to f64 first would give the lower one.
    write("one_rounding.csv", b"1.000000059604644776,1\n")
    expect("one_rounding.csv", "csv", "f32", "row-major", "held in memory", [[np.float32(1.0000001), 1.0]])


OUT.mkdir(parents=True, exist_ok=True)
make_npy()
make_npz()
make_binary()
make_text()
golden_more.make()
save()
