"""mNNO by definition, in numpy and float64: a reference that shares no code with the program.

    tools/reference_mnno.py X Y [-k 10] [--metric cosine|euclidean] [--self exclude|include] [--rows A..B]

X and Y are .npy or headerless CSV `name,v1,..`, paired by row. Values are rounded to float32 once, as the program stores
them; every score is float64. Neighbours are ordered by score, equal scores by the lower row. Prints mNNO^K and, for each
space, how many rows have equal scores at places K and K+1.
"""

import argparse
import csv

import numpy as np

BLOCK = 256  # rows at a time, to stay in the cache


def load(path, rows):
    if path.endswith(".npy"):
        array = np.load(path)
    else:
        with open(path, encoding="utf-8", newline="") as file:
            array = np.array([[float(value) for value in row[1:]] for row in csv.reader(file)])
    return array[rows].astype(np.float32).astype(np.float64)


def sums(rows):
    """The sum of each row. Plain products and sums per row, unlike einsum or a matrix product: equal rows, equal bits."""
    return rows.sum(axis=1)


def scores(x, squares, i, metric):
    """Scores of row i against all rows, [n]; smaller is nearer."""
    found = np.empty(len(x))
    for start in range(0, len(x), BLOCK):
        block = slice(start, start + BLOCK)
        if metric == "cosine":
            cosine = sums(x[i] * x[block]) / np.sqrt(squares[i] * squares[block])
            found[block] = -np.clip(cosine, -1.0, 1.0)
        else:
            found[block] = sums((x[i] - x[block]) ** 2)
    return found


def neighbours(x, k, metric, exclude_self):
    """The k nearest rows of each row, [n, k], and the number of rows with a tie across k."""
    squares = sums(x * x)
    if metric == "cosine" and not squares.all():
        raise SystemExit(f"error: row {int(np.flatnonzero(squares == 0)[0])} is zero and has no cosine")
    n = len(x)
    lists = np.empty((n, k), dtype=np.int64)
    ties = 0
    for i in range(n):
        row = scores(x, squares, i, metric)
        order = np.argsort(row, kind="stable")
        if exclude_self:
            order = order[order != i]
        lists[i] = order[:k]
        ties += len(order) > k and row[order[k - 1]] == row[order[k]]
    return lists, int(ties)


def row_range(text):
    start, _, end = text.partition("..")
    return slice(int(start), int(end))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("x")
    parser.add_argument("y")
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--metric", choices=["cosine", "euclidean"], default="cosine")
    parser.add_argument("--self", dest="own", choices=["exclude", "include"], default="exclude")
    parser.add_argument("--rows", type=row_range, default=slice(None), metavar="A..B")
    args = parser.parse_args()

    x, y = load(args.x, args.rows), load(args.y, args.rows)
    if len(x) != len(y):
        raise SystemExit(f"error: {args.x} has {len(x)} rows, {args.y} has {len(y)}")
    exclude_self = args.own == "exclude"
    if not 1 <= args.k <= len(x) - exclude_self:
        raise SystemExit(f"error: k = {args.k} with {len(x) - exclude_self} candidates per row")
    (a, ties_a), (b, ties_b) = (neighbours(space, args.k, args.metric, exclude_self) for space in (x, y))
    shared = sum(len(np.intersect1d(p, q, assume_unique=True)) for p, q in zip(a, b))
    print(
        f"mnno {shared / (args.k * len(x)):.6f}  n {len(x)}  k {args.k}  {args.metric}  self {args.own}d"
        f"  tied rows {ties_a} {ties_b}"
    )


if __name__ == "__main__":
    main()
