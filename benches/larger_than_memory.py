"""Searches a file that is larger than the memory allowed, and watches what is taken.

Usage: python benches/larger_than_memory.py FOLDER [--rows 2097152] [--dims 768] [--queries 1000] [--memory 1G]
                                            [--program target/release/mnno]

Makes FOLDER/base.npy (6 GiB of float32 unless told otherwise; kept, and used again) and FOLDER/queries.npy. Prints the peak of
RssAnon, the memory that is not file pages, and checks the lists of every 50th query against numpy in float64, and all of them
against a search with --io read, which holds the file in memory. Linux only; needs numpy (tools/setup_venv.sh).
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

K = 10
ROWS_AT_ONCE = 16384


def make(path, rows, dims, seed):
    if path.exists() and np.load(path, mmap_mode="r").shape == (rows, dims):
        return
    random = np.random.default_rng(seed)
    out = np.lib.format.open_memmap(path, mode="w+", dtype="<f4", shape=(rows, dims))
    for start in range(0, rows, ROWS_AT_ONCE):
        block = out[start : start + ROWS_AT_ONCE]
        block[:] = random.random(block.shape, dtype=np.float32) - 0.5
    out.flush()


def run(command):
    """Seconds and the peak of RssAnon in MiB."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            continue
        peak = max([peak, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon"))])
        time.sleep(0.01)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
    return time.monotonic() - started, peak / 1024


def nearest(base, queries):
    """Indices of the K largest cosines in float64."""
    queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    found = np.empty((len(queries), 0)), np.empty((len(queries), 0), np.int64)
    for start in range(0, len(base), ROWS_AT_ONCE):
        block = base[start : start + ROWS_AT_ONCE].astype(np.float64)
        scores = queries @ (block / np.linalg.norm(block, axis=1, keepdims=True)).T
        rows = np.broadcast_to(np.arange(start, start + len(block)), scores.shape)
        scores, rows = np.concatenate([found[0], scores], 1), np.concatenate([found[1], rows], 1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :K]
        found = np.take_along_axis(scores, best, 1), np.take_along_axis(rows, best, 1)
    return found[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=2_097_152)
    parser.add_argument("--dims", type=int, default=768)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--memory", default="1G")
    parser.add_argument("--program", default="target/release/mnno")
    args = parser.parse_args()
    base, queries, out = (args.folder / name for name in ("base.npy", "queries.npy", "out.npz"))
    make(base, args.rows, args.dims, 1)
    make(queries, args.queries, args.dims, 2)
    command = [args.program, "knn", str(base), "--queries", str(queries), "-k", str(K), "-o", str(out)]

    seconds, peak = run([*command, "--memory", args.memory])
    print(f"{os.path.getsize(base) / 2**30:.1f} GiB, {args.queries} queries, --memory {args.memory}:", end=" ")
    print(f"{seconds:.1f} s, peak RssAnon {peak:.0f} MiB")
    mapped = out.read_bytes()
    found = np.load(out)["indices"][::50]
    expected = nearest(np.load(base, mmap_mode="r"), np.load(queries)[::50].astype(np.float64))
    print(f"lists of {len(found)} queries that differ from numpy's in float64: {(found != expected).any(1).sum()}")
    seconds, peak = run([*command, "--memory", "64G", "--io", "read"])
    same = "the same bytes" if out.read_bytes() == mapped else "OTHER BYTES"
    print(f"held in memory: {seconds:.1f} s, peak RssAnon {peak:.0f} MiB, {same}")
    sys.exit(same != "the same bytes" or bool((found != expected).any()))


if __name__ == "__main__":
    main()
