"""A self-join of a million rows under a limit of 4 GiB, and what faiss would take for it.

Usage: benches/peers/.venv/bin/python benches/peers/million.py [--n 1000000] [--d 96] [--rounds 5] [--threads 2]
           [--memory 4G] [--limit 4G] [--mnno PATH] [--folder FOLDER]

Makes clustered float32 data (data.py says how), runs `mnno knn x.npy --metric l2 -k 10 --memory 4G -o out.npz` once as a
whole process whose address space (RLIMIT_AS: all memory, mapped files included) may not pass --limit, and prints its time
and the peaks of its memory. faiss (`knn`, the fastest OpenBLAS kernel, data in memory) searches for 4,096 of the rows, as
many as it takes at a time by itself, --rounds times before and --rounds times after mnno. The median of that times n / 4096
is its time for all rows, since it does the same work for each block of queries. A sample of mnno's lists is checked against
float64: exit code 1 if one differs. Linux only.
"""

import argparse
import sys
from statistics import median

import numpy as np

import data
import exact
from programs import Failed, Mnno, add_options, fastest_worker, folder_of, machine

K = 10
QUERIES = 4096


def size(text):
    """Bytes of 4G, 512M."""
    return int(float(text[:-1]) * {"M": 2**20, "G": 2**30}[text[-1]])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, 5)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--d", type=int, default=96)
    parser.add_argument("--memory", default="4G", help="mnno's --memory (4G)")
    parser.add_argument("--limit", default="4G", help="the limit that the system sets on mnno's address space (4G)")
    args = parser.parse_args()
    mnno = Mnno("mnno", args.mnno, args.threads)
    about = f"{machine(args.threads)}; {mnno.version()}"
    with folder_of(args) as folder:
        worker, _ = fastest_worker("faiss", args.threads, folder)
        print(f"{about}; {worker.about['version']} with {worker.about['blas']}", flush=True)
        path = data.clustered(folder, args.n, args.d)
        x = np.load(path, mmap_mode="r")
        some = np.sort(np.random.default_rng(0).choice(args.n, min(QUERIES, args.n), replace=False))
        queries = data.save(folder / "queries.npy", x[some])
        worker.ask("load", paths=[str(path), str(queries)])
        job = {"program": "faiss knn", "base": str(path), "queries": str(queries), "k": K, "metric": "l2"}

        def search():
            return worker.timed("search", **job, out=str(folder / "faiss.npy"))["seconds"]

        search()  # not counted
        before = [search() for _ in range(args.rounds)]
        peaks, limits = {}, {"address_space": size(args.limit)}
        ours, found = mnno.knn(path, "l2", K, folder / "out.npz", "--memory", args.memory, peaks=peaks, **limits)
        after = [search() for _ in range(args.rounds)]
        theirs = median(before + after) * args.n / len(some)

        rows = some[:: max(1, len(some) // args.sample)]
        expected, _ = exact.lists(x, x[rows], "l2", K, rows, args.threads)
        differ = exact.differ(found[rows], expected)

    print(f"{args.n:,} x {args.d} clustered float32, self-join, squared Euclidean distance, k {K}")
    print(f"mnno: {ours:.1f} s; address space limited to {args.limit}; peak RssAnon {peaks['RssAnon']:.0f} MiB,", end=" ")
    print(f"peak RSS {peaks['VmHWM']:.0f} MiB; lists that differ from float64's: {differ} of {len(rows)}")
    print(f"faiss: {len(some):,} queries {median(before):.2f} s before mnno's run, {median(after):.2f} s after it;", end=" ")
    print(f"for all rows {theirs:.0f} s, extrapolated; faiss / mnno {theirs / ours:.2f}")
    sys.exit(bool(differ))


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(f"error: {error}")
