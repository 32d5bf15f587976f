"""Holds the readers and writers of `mnno convert` to numpy, scipy, gensim and safetensors, bit for bit in float32.

Usage: .venv/bin/python tools/check_formats.py [PROGRAM] [--reference-only]

PROGRAM is target/release/mnno by default; MNNO_DATA, ../shared/data. What the packages read, the program must read as
the same values; what they refuse, or what is no real finite matrix, it must refuse with one message.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import safetensors.numpy
import scipy.sparse
from gensim.models import KeyedVectors
from scipy.io import loadmat, savemat, whosmat

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("MNNO_DATA", ROOT.parent / "shared" / "data")).resolve()
FILES = ("formats/**/*", "ann_small/**/*", "ann_bug_cases/*", "wikipedia_pereira/raw_features.mat")
WORDS = ["the", ",", '"', "naïve", "日本", "#", "3.14", "-0.5", "it's", "a;b", "-", "nan", "New_York", "\u00a0x"]


@dataclass
class Case:
    """One run of the program, and what it must do."""

    path: Path
    part: str  # what follows the path in the argument: "", "::NAME", "::NAME::LAYER"
    said: str  # what the reader says of it
    values: np.ndarray | None = None  # float32; None: must be refused
    names: list[str] | None = None
    may_refuse: bool = False
    mentions: str = ""  # what a refusal must say
    output: str = ".npy"


def expect(path, part, array, refuse="", **more):
    """Real finite 2-d numbers must load, and so must two layers of a 3-d array; all else must be refused."""
    said = f"{'record' if array.dtype.names else array.dtype.name} {array.shape}"
    real = type(array) is np.ndarray and (array.dtype.kind in "iuf" or array.dtype == ml_dtypes.bfloat16)
    refuse = refuse or ("" if real else "no real numbers") or ("" if array.ndim == 2 else f"{array.ndim}-d")
    values = None
    if not refuse:
        values = array.astype(np.float32)
        if not np.isfinite(values).all():
            values, refuse = None, "not finite as float32"
    yield Case(path, part, f"{said}, {refuse}" if refuse else said, values, **more)
    for layer in (0, array.shape[1] - 1) if refuse == "3-d" else ():
        yield from expect(path, f"{part}::{layer}", array[:, layer], **more)


def numpy_cases(path):
    array = np.load(path, allow_pickle=False)
    for part, a in [("", array)] if path.suffix == ".npy" else [(f"::{name}", array[name]) for name in array.files]:
        yield from expect(path, part, a)


def mat_cases(path):
    """Every variable; those of version 4, which scipy reads, must be refused."""
    old = "version 4" if 0 in path.read_bytes()[:4] else ""
    if old:
        yield Case(path, "", old)
    for name, _, kind in whosmat(path):
        array = loadmat(path, variable_names=[name])[name]
        number = kind in ("double", "single") or "int" in kind  # loadmat gives logical arrays as uint8
        # Names that scipy makes up, layers and empty arrays may be offered or not.
        free = name.startswith("__") or array.ndim == 3 or array.size == 0
        yield from expect(path, f"::{name}", array, old or ("" if number else kind), may_refuse=free)


def word_cases(path):
    options = {"binary": path.suffix == ".bin"} | ({"no_header": True} if "glove" in path.name else {})
    vectors = KeyedVectors.load_word2vec_format(str(path), **options)
    yield from expect(path, "", vectors.vectors)
    yield from expect(path, "", vectors.vectors, names=vectors.index_to_key, output=".csv")


def raw_cases(path):
    numbers = np.fromfile(path, "<i4")
    rows = numbers[2:].reshape(numbers[:2]) if path.suffix == ".fbin" else numbers.reshape(-1, numbers[0] + 1)[:, 1:]
    yield from expect(path, "", np.ascontiguousarray(rows).view("<f4" if path.suffix[1] == "f" else "<i4"))


def safetensors_cases(path):
    tensors = safetensors.numpy.load_file(path)
    if len(tensors) > 1:
        yield Case(path, "", f"{len(tensors)} tensors, none named")
    for name, a in tensors.items():
        free = a.dtype.kind in "iu" or a.ndim == 3  # integers and layers may be offered or not
        yield from expect(path, f"::{name}" if len(tensors) > 1 else "", a, may_refuse=free)


READERS = dict.fromkeys((".npy", ".npz"), numpy_cases) | dict.fromkeys((".vec", ".txt", ".tsv", ".bin"), word_cases)
READERS |= dict.fromkeys((".fvecs", ".ivecs", ".fbin"), raw_cases)
READERS |= {".mat": mat_cases, ".safetensors": safetensors_cases}


def cases_of(path):
    if path.suffix not in READERS:
        name = {".parquet": "parquet", ".h5": "hdf5"}.get(path.suffix, "")
        return [Case(path, "", name or "no format of vectors", mentions=name)]
    try:
        return list(READERS[path.suffix](path))
    except Exception as why:  # whatever a package raises: it refuses the file
        return [Case(path, "", " ".join(f"{type(why).__name__} {why}".split())[:72])]


def make_files(folder):
    """Files saved by the packages, and some of them cut short."""
    rng = np.random.default_rng(0)
    edges = [0.0, -0.0, 1e-45, 1.1754944e-38, 3.4028235e38, -3.4028235e38, 1 / 3]
    x = np.vstack([rng.normal(size=(len(WORDS) - 1, 7)), edges]).astype(np.float32)
    for name, array in {"x": x, "row": x[:1], "column": x[:, 1:2]}.items():
        np.save(folder / f"{name}.npy", array)
    f8 = rng.normal(size=(5, 6))
    both = {"f4": x, "f8": f8, "beyond": f8 * 1e300, "nan": x * np.nan, "bool": x > 0, "cube": f8.reshape(5, 2, 3)}
    for t in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
        both[t] = rng.integers(np.iinfo(t).min, np.iinfo(t).max, (4, 3), t, endpoint=True)
    tensors = both | {"f2": f8.astype("f2"), "bf16": f8.astype(ml_dtypes.bfloat16), "line": x[0]}
    safetensors.numpy.save_file(tensors, folder / "several.safetensors", {"made": "by hand"})
    for name in ("f4", "f2", "bf16", "f8", "bool"):
        safetensors.numpy.save_file({name: tensors[name]}, folder / f"{name}.safetensors")
    variables = both | {"one": f8[:1, :1], "a_rather_long_name_of_a_variable": f8.T, "line": f8[0], "empty": f8[:0]}
    variables |= {"complex": f8 * 1j, "text": "words", "sparse": scipy.sparse.csc_array(f8), "struct": {"a": f8}}
    for name, held in {"all": variables, "f8": {"f8": f8}}.items():
        savemat(folder / f"{name}.mat", held)
        savemat(folder / f"{name}_compressed.mat", held, do_compression=True)
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116) + bytes(8) + b"\x00\x02IM"
    (folder / "version_7.3.mat").write_bytes(head.ljust(512, b"\0") + b"\x89HDF\r\n\x1a\n" + bytes(2048))
    vectors = KeyedVectors(7)
    vectors.add_vectors(WORDS, x)
    for name in ("words.vec", "words.txt", "words_glove.txt", "words.bin"):
        vectors.save_word2vec_format(str(folder / name), binary=".bin" in name, write_header="glove" not in name)
    # The original program ends every row of a binary file with a line break.
    rows = [b"%s %s\n" % (word.encode(), row.tobytes()) for word, row in zip(WORDS, x)]
    (folder / "words_lines.bin").write_bytes(b"".join([b"%d %d\n" % x.shape, *rows]))
    for name in ("f4.safetensors", "f8.mat", "f8_compressed.mat", "words.bin"):
        (folder / f"cut_{name}").write_bytes((folder / name).read_bytes()[:-1])
    (folder / "cut_words.vec").write_bytes(b"".join((folder / "words.vec").read_bytes().splitlines(True)[:-1]))


def written_cases(folder):
    """What the program writes, to be read back by the packages."""
    for name in ("x.npy", "row.npy", "column.npy"):
        x = np.load(folder / name)
        for output in (".safetensors", ".mat", ".vec", ".bin", ".npz", ".csv"):
            names = [str(i) for i in range(len(x))] if output in (".vec", ".bin") else None
            yield from expect(folder / name, "", x, names=names, output=output)
    for output in (".vec", ".bin"):  # with the names that came with them
        yield from expect(folder / "words.vec", "", np.load(folder / "x.npy"), names=WORDS, output=output)


def read_back(path):
    """The one array in a file that the program wrote, and the names of its rows if it has any."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            header, *lines = csv.reader(file)
        if header[0] != "name":  # rows without names have no header either
            return np.array([header, *lines], np.float64), None
        assert header[1:] == [str(j) for j in range(len(header) - 1)], f"its header is {header[:4]}"
        return np.array([line[1:] for line in lines], np.float64), [line[0] for line in lines]
    if path.suffix in (".vec", ".bin"):
        vectors = KeyedVectors.load_word2vec_format(str(path), binary=path.suffix == ".bin")
        return vectors.vectors, vectors.index_to_key
    if path.suffix == ".npy":
        return np.load(path), None
    held = {".npz": np.load, ".mat": loadmat, ".safetensors": safetensors.numpy.load_file}[path.suffix](path)
    (array,) = [held[name] for name in held if not name.startswith("__")]
    return array, None


def judge_refusal(case, run, wrote):
    text = run.stderr.replace(str(case.path), "")  # the path may hold the words that are looked for
    errors = [line[6:].strip(" :") for line in text.splitlines() if line.startswith("error:")]
    faults = {
        f"exit code {run.returncode}": run.returncode not in (2, 65, 66),
        f"{len(errors)} error lines": len(errors) != 1,
        "no message": not any(errors),
        "path not named": f"error: {case.path}" not in run.stderr,
        "a panic": "panicked" in text or "Traceback" in text,
        f"does not say {case.mentions}": case.mentions not in text.lower(),
        "left an output": wrote,
        "must load": case.values is not None and not case.may_refuse,
    }
    return f"refused: {' '.join(errors)}", [fault for fault, holds in faults.items() if holds]


def judge(case, program, out):
    """What the program did, and what is wrong with it."""
    command = [program, "convert", f"{case.path}{case.part}", out]
    try:
        run = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=300)
        if run.returncode != 0:
            return judge_refusal(case, run, out.exists())
        array, names = read_back(out)
    except Exception as why:  # no program, no end, or whatever a package raises that cannot read the output
        return f"no readable {case.output}", [f"{type(why).__name__} {why}"]
    what = f"loaded {' x '.join(map(str, array.shape))} {array.dtype}" + (f", {len(names)} names" if names else "")
    if case.values is None:
        return what, ["must be refused"]
    if array.shape != case.values.shape or case.output == ".npy" and array.dtype != np.float32:
        return what, [f"not {case.values.shape} float32"]
    got, want = (np.ascontiguousarray(a, "<f4").view("<u4") for a in (array, case.values))
    if len(differ := np.argwhere(got != want)):
        return what, [f"{len(differ)} differ: {array[*differ[0]]!r}, not {case.values[*differ[0]]!r}, at {differ[0]}"]
    if case.names is not None and names != case.names:
        return what, [f"names differ: {[pair for pair in zip(names or (), case.names) if len(set(pair)) > 1][:2]}"]
    return what, []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=ROOT / "target" / "release" / "mnno", type=Path)
    parser.add_argument("--reference-only", action="store_true", help="print what is expected, run nothing")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if not (DATA / "formats").is_dir():
        sys.exit(f"error: {DATA}: does not hold the folder formats (set MNNO_DATA)")
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary, "made")
        made.mkdir()
        make_files(made)
        paths = [path for pattern in FILES for path in sorted(DATA.glob(pattern))] + sorted(made.iterdir())
        cases = [case for path in paths if path.is_file() for case in cases_of(path)] + list(written_cases(made))
        wrong = 0
        for number, case in enumerate(cases):
            label = f"{case.path.relative_to(temporary if made in case.path.parents else DATA)}{case.part}"
            label += f" to {case.output}" if case.output != ".npy" else ""
            if args.reference_only:
                must = "refuse" if case.values is None else "load or refuse" if case.may_refuse else "load"
                print(f"{label:<64} {case.said:<72} {must}")
                continue
            what, faults = judge(case, args.program.resolve(), Path(temporary, f"{number}{case.output}"))
            wrong += bool(faults)
            print(f"{label:<64} {what[:96]:<96} {'WRONG: ' + '; '.join(faults) if faults else 'ok'}")
    print(f"{len(cases)} listed" if args.reference_only else f"{len(cases)} checked, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
