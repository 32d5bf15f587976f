"""How mnno's time grows with the number of rows.

Usage: benches/peers/.venv/bin/python benches/peers/scaling.py [--n 100000] [--d 128] [--metric cosine] [--rounds 5]
           [--threads 2] [--mnno PATH] [--folder FOLDER]

Self-joins of n/8, n/4, n/2 and n gaussian rows, and 2,000 queries against n/2, n and 2n rows; all sizes have one turn in
each round. mnno is timed as a whole process. Prints medians, and the median over rounds of each time divided by that of half
the size: 4 is quadratic, 2 is linear. A sample of the lists of every size is checked against float64: exit code 1 if one
differs.
"""

import argparse
import sys
from statistics import median

import numpy as np

import data
import exact
from programs import Failed, Mnno, add_options, folder_of, machine

K = 10
QUERIES = 2000


def expected(path, queries, metric, sample, threads):
    """Places of the sampled queries, and their lists."""
    x = np.load(path, mmap_mode="r")
    asking = np.load(queries) if queries else x
    rows = np.sort(np.random.default_rng(0).choice(len(asking), min(sample, len(asking)), replace=False))
    return rows, exact.lists(x, asking[rows], metric, K, None if queries else rows, threads)[0]


def grow(title, sizes, queries, mnno, args, folder):
    """Times and prints one series; how many sampled lists differ."""
    paths = [data.gaussian(folder, n, args.d) for n in sizes]
    checks = [expected(path, queries, args.metric, args.sample, args.threads) for path in paths]
    options = ["--queries", queries] if queries else []
    times, differ = [[] for _ in sizes], [0] * len(sizes)
    for round_ in range(-1, args.rounds):  # the first one is not counted
        for i, (path, (rows, lists)) in enumerate(zip(paths, checks)):
            seconds, found = mnno.knn(path, args.metric, K, folder / "out.npz", *options)
            differ[i] = max(differ[i], exact.differ(found[rows], lists))
            if round_ >= 0:
                times[i].append(seconds)
    print(f"\n| {title} | min s | median s | / half the size | lists that differ |\n|---|---|---|---|---|")
    for i, n in enumerate(sizes):
        ratio = f"{median(a / b for a, b in zip(times[i], times[i - 1])):.2f}" if i else ""
        print(f"| {n:,} | {min(times[i]):.3f} | {median(times[i]):.3f} | {ratio} | {differ[i]} of {len(checks[i][0])} |")
    return sum(differ)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, 5)
    parser.add_argument("--n", type=int, default=100000, help="rows of the largest self-join (100000)")
    parser.add_argument("--d", type=int, default=128)
    parser.add_argument("--metric", choices=["cosine", "ip", "l2"], default="cosine")
    args = parser.parse_args()
    mnno = Mnno("mnno", args.mnno, args.threads)
    print(f"{machine(args.threads)}; {mnno.version()}; d {args.d}, {args.metric}, k {K}, {args.rounds} rounds")
    with folder_of(args) as folder:
        differ = grow("rows, self-join", [args.n // 8, args.n // 4, args.n // 2, args.n], None, mnno, args, folder)
        queries = data.gaussian(folder, QUERIES, args.d)
        differ += grow(f"rows, {QUERIES:,} queries", [args.n // 2, args.n, 2 * args.n], queries, mnno, args, folder)
    sys.exit(bool(differ))


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(f"error: {error}")
