"""Times `mnno knn` against faiss's flat index, in turns, on the same data, and prints the median ratios.

Usage: python benches/peers.py [--rounds 5] [--threads 2]    (needs numpy and faiss-cpu; build mnno with --release first)

mnno is timed as a whole process: reading and checking the file, searching, writing the result. faiss is timed in this process,
with the data in memory: adding them to the index and searching. So the ratio favours faiss. Both use float32 input and k = 10,
self-join, squared Euclidean distance. The lists are compared: faiss ranks by float32 rounding, mnno by the float64 score.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

# The OpenBLAS of some wheels does not know newer CPUs and falls back to a slow kernel; this one is the fastest there.
os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
import faiss  # noqa: E402
import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
SIZES = [(9251, 128), (9251, 300), (9251, 2048), (20000, 768), (100000, 128)]


def mnno(folder, threads):
    command = [ROOT / "target/release/mnno", "knn", "x.npy", "--metric", "l2", "-k", "10", "-o", "out.npy"]
    start = time.perf_counter()
    subprocess.run(command + ["--threads", str(threads)], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start, np.load(Path(folder) / "out.indices.npy")


def flat(x):
    start = time.perf_counter()
    index = faiss.IndexFlatL2(x.shape[1])
    index.add(x)
    _, found = index.search(x, 11)
    seconds = time.perf_counter() - start
    # Self is left out by its number; without duplicates it is among the 11.
    rows = np.arange(len(x))[:, None]
    others = np.argsort(found == rows, axis=1, kind="stable")[:, :10]
    return seconds, np.take_along_axis(found, others, axis=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    faiss.omp_set_num_threads(args.threads)
    print(f"faiss {faiss.__version__}, numpy {np.__version__}, {args.threads} threads, {args.rounds} rounds, medians")
    print(f"{'n x d':>14} {'mnno s':>8} {'faiss s':>8} {'faiss/mnno':>11} {'lists that differ':>18}")
    for n, d in SIZES:
        x = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder) / "x.npy", x)
            ours, theirs, ratios = [], [], []
            for _ in range(args.rounds):
                a, exact = mnno(folder, args.threads)
                b, approximate = flat(x)
                ours.append(a)
                theirs.append(b)
                ratios.append(b / a)
        differ = int((exact != approximate).any(axis=1).sum())
        row = f"{n} x {d}", statistics.median(ours), statistics.median(theirs), statistics.median(ratios), differ
        print("{:>14} {:8.2f} {:8.2f} {:11.2f} {:18}".format(*row))


if __name__ == "__main__":
    main()
