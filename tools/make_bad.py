"""Writes fixtures/bad: one small file per fault. What is to be said of each stands in fixtures/bad/expected.txt.

Usage: python tools/make_bad.py (standard library only; writes the same bytes every time).
"""

import io
import struct
import zipfile
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "fixtures" / "bad"
F6 = struct.pack("<6f", 1, 2, 3, 4, 5, 6)


def write(name, data):
    (OUT / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def npy(literal, data=F6, version=(1, 0), length=None):
    text = literal.encode("latin-1") + b"\n"
    size = "<H" if version[0] == 1 else "<I"
    return b"\x93NUMPY" + bytes(version) + struct.pack(size, len(text) if length is None else length) + text + data


def header(descr="'<f4'", fortran="False", shape="(2, 3)"):
    return f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"


def make_npy():
    write("npy_empty.npy", b"")
    write("npy_text.npy", "1,2,3\n")
    write("npy_magic_only.npy", b"\x93NUMPY")
    write("npy_no_length.npy", b"\x93NUMPY\x01\x00\x10")
    write("npy_version_9.npy", npy(header(), version=(9, 0)))
    write("npy_version_1_7.npy", npy(header(), version=(1, 7)))
    write("npy_header_past_end.npy", npy(header(), length=60000))
    write("npy_header_4_gib.npy", npy(header(), version=(2, 0), length=2**32 - 1))
    write("npy_header_latin1.npy", npy(header(descr="'\xe9'"), version=(3, 0)))
    write("npy_header_not_a_dict.npy", npy("[1, 2, 3]"))
    write("npy_header_open.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)"))
    write("npy_header_open_string.npy", npy("{'descr': '<f4"))
    write("npy_header_open_fields.npy", npy("{'descr': [('a', '<f4'"))
    write("npy_header_trailing.npy", npy(header() + " {}"))
    write("npy_key_unknown.npy", npy("{'descr': '<f4', 'order': 'C', 'fortran_order': False, 'shape': (2, 3)}"))
    write("npy_key_twice.npy", npy("{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}"))
    write("npy_key_missing.npy", npy("{'descr': '<f4', 'shape': (2, 3)}"))
    write("npy_fortran_number.npy", npy(header(fortran="1")))
    write("npy_fortran_trueish.npy", npy(header(fortran="Truest")))
    write("npy_shape_negative.npy", npy(header(shape="(2, -3)")))
    write("npy_shape_number.npy", npy(header(shape="6")))
    write("npy_shape_u64.npy", npy(header(shape="(18446744073709551616, 3)")))
    write("npy_shape_overflows.npy", npy(header(shape="(4294967296, 4294967296)")))
    write("npy_shape_hides_overflow.npy", npy(header(shape="(0, 18446744073709551615)"), b""))
    write("npy_short.npy", npy(header(shape="(1000000, 128)")))
    write("npy_one_byte_short.npy", npy(header(), F6[:-1]))
    write("npy_one_byte_extra.npy", npy(header(), F6 + b"\0"))
    write("npy_0d.npy", npy(header(shape="()"), F6[:4]))
    write("npy_1d.npy", npy(header(shape="(6,)")))
    write("npy_3d.npy", npy(header(shape="(1, 2, 3)")))
    write("npy_4d.npy", npy(header(shape="(1, 1, 2, 3)")))
    for name, descr in {
        "objects": "'|O'", "structured": "[('a', '<f4'), ('b', '<i4')]", "complex": "'<c8'", "bool": "'|b1'",
        "bytes": "'|S4'", "unicode": "'<U1'", "dates": "'<M8[D]'", "longdouble": "'<f16'", "void": "'|V4'",
        "unknown": "'<x4'", "empty_type": "''", "escapes": "'\x1b\n'",
    }.items():
        write(f"npy_{name}.npy", npy(header(descr=descr)))
    write("npy_nan.npy", npy(header(), struct.pack("<6f", 1, 2, 3, 4, float("nan"), 6)))
    write("npy_infinite.npy", npy(header(), struct.pack("<6f", 1, 2, float("-inf"), 4, 5, 6)))
    write("npy_nan_big_endian_fortran.npy",
          npy(header(descr="'>f4'", fortran="True"), struct.pack(">6f", 1, 2, 3, 4, 5, float("nan"))))
    write("npy_beyond_f32.npy", npy(header(descr="'<f8'"), struct.pack("<6d", 1, 2, 3, 1e39, 5, 6)))


def npz(members, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = compression
            archive.writestr(info, data)
    return out.getvalue()


def patched(data, at, new):
    return data[:at] + new + data[at + len(new):]


def make_npz():
    good = npy(header())
    stored, deflated = npz([("x.npy", good)]), npz([("x.npy", good)], zipfile.ZIP_DEFLATED)
    directory = stored.index(b"PK\x01\x02")
    write("npz_text.npz", "not a zip")
    write("npz_empty_file.npz", b"")
    write("npz_no_members.npz", npz([]))
    write("npz_several.npz", npz([("a.npy", good), ("b.npy", npy(header(descr="'<f2'"), F6[:12])), ("c.txt", b"hello")]))
    write("npz_not_an_array.npz", npz([("notes.txt", b"hello")]))
    write("npz_control_characters.npz", npz([("\x1b[31m\n.npy", good), ("y" * 1000 + ".npy", good)]))
    write("npz_same_name.npz", npz([("x.npy", good), ("y.npy", good)]).replace(b"y.npy", b"x.npy"))
    write("npz_cut.npz", stored[: len(stored) // 2])
    write("npz_no_directory.npz", stored[:directory])
    write("npz_stored_damaged.npz", patched(stored, stored.index(F6), b"\xff"))
    write("npz_deflated_damaged.npz", patched(deflated, 80, b"\xff\xff\xff\xff"))
    write("npz_encrypted.npz", patched(patched(stored, 6, b"\x01"), directory + 8, b"\x01"))
    write("npz_bzip2.npz", npz([("x.npy", good)], zipfile.ZIP_BZIP2))
    write("npz_stored_longer.npz", patched(stored, directory + 24, struct.pack("<I", len(good) + 8)))
    write("npz_past_end.npz", patched(stored, directory + 20, struct.pack("<II", 10**6, 10**6)))
    directory = deflated.index(b"PK\x01\x02")
    write("npz_unpacks_to_more.npz", patched(deflated, directory + 24, struct.pack("<I", len(good) - 8)))
    write("npz_unpacks_to_less.npz", patched(deflated, directory + 24, struct.pack("<I", len(good) + 8)))
    write("npz_over_budget.npz", patched(deflated, directory + 24, struct.pack("<I", 2**32 - 2)))
    bomb = npy(header(shape="(2048, 256)"), bytes(2048 * 256 * 4))
    write("npz_bomb.npz", npz([("x.npy", bomb)], zipfile.ZIP_DEFLATED))
    bomb_directory = npz([("x.npy", bomb)], zipfile.ZIP_DEFLATED)
    at = bomb_directory.index(b"PK\x01\x02")
    write("npz_bomb_that_lies.npz", patched(bomb_directory, at + 24, struct.pack("<I", 1000)))
    write("npz_objects.npz", npz([("x.npy", npy(header(descr="'|O'")))]))
    write("npz_member_short.npz", npz([("x.npy", npy(header(), F6[:-4]))], zipfile.ZIP_DEFLATED))
    write("npz_nan.npz", npz([("x.npy", npy(header(), struct.pack("<6f", 1, 2, 3, float("nan"), 5, 6)))]))


def vecs(*rows):
    return b"".join(struct.pack(f"<i{len(row)}f", len(row), *row) for row in rows)


def make_binary():
    write("vecs_3_bytes.fvecs", b"\x01\x00\x00")
    write("vecs_negative.fvecs", struct.pack("<i", -1) + F6)
    write("vecs_huge.fvecs", struct.pack("<i", 2**31 - 1) + F6)
    write("vecs_row_differs.fvecs", vecs([1, 2, 3], [4, 5, 6]) + struct.pack("<i3f", 2, 7, 8, 9))
    write("vecs_cut.fvecs", vecs([1, 2, 3], [4, 5, 6])[:-4])
    write("vecs_cut_in_dimension.fvecs", vecs([1, 2, 3]) + b"\x03\x00")
    write("vecs_is_fbin.fvecs", struct.pack("<II", 2, 3) + F6)
    write("vecs_is_ibin.ivecs", struct.pack("<II", 2, 3) + F6)
    write("vecs_nan.fvecs", vecs([1, 2, 3], [4, float("nan"), 6]))
    write("bin_empty.fbin", b"")
    write("bin_7_bytes.fbin", bytes(7))
    write("bin_short.fbin", struct.pack("<II", 1000, 128) + F6)
    write("bin_extra.fbin", struct.pack("<II", 2, 3) + F6 + b"\0")
    write("bin_overflows.fbin", struct.pack("<II", 2**32 - 1, 2**32 - 1) + F6)
    write("bin_is_fvecs.fbin", vecs([1, 2, 3], [4, 5, 6]))
    write("bin_is_ivecs.ibin", vecs([1, 2, 3], [4, 5, 6]))
    write("bin_infinite.fbin", struct.pack("<II", 1, 2) + struct.pack("<2f", 1, float("inf")))


def make_text():
    write("csv_ragged.csv", "1,2,3\n4,5,6\n7,8\n")
    write("csv_ragged_wide.csv", "a,1,2\nb,3,4,5\n")
    write("csv_not_a_number.csv", "1,2,3\n4,five,6\n")
    write("csv_typo_in_first_row.csv", "1,2x,3\n4,5,6\n")
    write("csv_missing_in_first_row.csv", "1,NA,NA\n2,3,4\n")
    write("csv_typo_in_first_column.csv", "1,2,3\n4,5,6\nx7,8,9\n")
    write("csv_empty_cell.csv", "cat,1,,3\ndog,4,5,6\n")
    write("csv_trailing_delimiter.csv", "1,2,\n3,4,\n")
    write("csv_decimal_commas.csv", "1,5;2,5;3,5\n4,5;5,5;6,5\n")
    write("csv_control_characters.csv", b"1,2\n3,\x1b[31m\x00\n")
    write("csv_long_cell.csv", "1,2\n3," + "x" * 1000 + "\n")
    write("csv_name_not_utf8.csv", b"caf\xe9,1,2\n")
    write("csv_open_quote.csv", 'cat,1,2\n"dog,3,4\n')
    write("csv_words_only.csv", "word\n1\ncat\n")
    write("csv_nan.csv", "x,1,2\ny,3,nan\n")
    write("csv_infinite.csv", "1,2\n-inf,4\n")
    write("csv_beyond_f32.csv", "1,2\n3,1e39\n")
    write("csv_beyond_f64.csv", "x,1,2\ny,-1e999,4\n")
    write("unknown.xyz", "hello\n")
    write("no_extension", b"")


OUT.mkdir(parents=True, exist_ok=True)
make_npy()
make_npz()
make_binary()
make_text()
