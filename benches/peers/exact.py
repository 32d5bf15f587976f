"""Exact lists in float64, to check every program's answers against. Imported by the scripts beside it.

The score is the one the README defines: dot / sqrt(dot(q,q) dot(b,b)) cut to [-1, 1] for cosine, dot for ip, the sum of
squared differences for l2; equal scores by the lower row. Sums are taken in mnno's own order, which is part of its score:
element j goes to partial sum j mod 8, and the 8 are added as ((0+4)+(2+6)) + ((1+5)+(3+7)). A product of two float32 is
exact in float64, so these scores have the same bits as mnno's, and its lists must be equal to these.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

ROWS = 1024  # base rows at a time: 8 partial sums of each lie in the cache
QUERIES = 64  # queries at a time, which bounds the memory for scores


def steps(rows):
    """float32 rows [m, d] as float64 [ceil(d / 8), 8, m], filled up with zeros, which change no sum."""
    m, d = rows.shape
    filled = np.zeros((m, -(-d // 8) * 8))
    filled[:, :d] = rows
    return np.ascontiguousarray(filled.T).reshape(-1, 8, m)


def sums(x, y, metric):
    """Dot products, or sums of squared differences for l2, of what `steps` returns, [m]; x may be of one row."""
    s, term = np.zeros(y.shape[1:]), np.empty(y.shape[1:])
    for a, b in zip(x, y):
        if metric == "l2":
            np.subtract(a, b, out=term)
            np.multiply(term, term, out=term)
        else:
            np.multiply(a, b, out=term)
        s += term
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))


def goodness(queries, base, metric):
    """Scores of [q, d] with [m, d] float32 rows, turned so that larger is nearer: [q, m]."""
    y = steps(base)
    found = np.empty((len(queries), len(base)))
    squares = sums(y, y, "ip") if metric == "cosine" else None
    for row, query in zip(found, queries):
        x = steps(query[None])
        row[:] = sums(x, y, metric)
        if metric == "cosine":
            row[:] = np.clip(row / np.sqrt(sums(x, x, "ip") * squares), -1.0, 1.0)
    return -found if metric == "l2" else found


def best(scores, k):
    """The k largest of [n] scores, equal ones by the lower index."""
    if len(scores) > k:
        candidates = np.flatnonzero(scores >= np.partition(scores, -k)[-k])
    else:
        candidates = np.arange(len(scores))
    return candidates[np.argsort(-scores[candidates], kind="stable")][:k]


def lists(base, queries, metric, k, own=None, threads=2):
    """Indices and scores (larger is nearer) of the k nearest of each query, [q, k]. own: the row to leave out for each."""
    indices, scores = [], []
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(queries), QUERIES):
            some = np.asarray(queries[start : start + QUERIES])
            blocks = [base[i : i + ROWS] for i in range(0, len(base), ROWS)]
            found = np.concatenate(list(pool.map(partial(goodness, some, metric=metric), blocks)), axis=1)
            if own is not None:
                found[np.arange(len(some)), own[start : start + QUERIES]] = -np.inf
            indices += [best(row, k) for row in found]
            scores += [row[place] for row, place in zip(found, indices[-len(some) :])]
    return np.array(indices), np.array(scores)


def differ(found, expected):
    """How many lists are not the expected ones, place by place."""
    return int((found != expected).any(axis=1).sum())


def wrong(found, expected, scores, base, queries, metric, own, tolerance=1e-12):
    """How many of the lists that differ do so by more than rounding: a list has another neighbour than the expected one
    where the two scores are equal (so the tie rule is broken) or further apart than a relative `tolerance`, or it holds the
    row itself, a row twice, or none."""
    count = 0
    for i in np.flatnonzero((found != expected).any(axis=1)):
        row = found[i]
        valid = len(set(row)) == len(row) and row.min() >= 0 and row.max() < len(base) and (own is None or own[i] not in row)
        if valid:
            here = row != expected[i]
            other, right = goodness(queries[i : i + 1], base[row], metric)[0][here], scores[i][here]
            near = np.abs(other - right) <= tolerance * np.maximum(np.abs(other), np.abs(right))
            valid = (near & (other != right)).all()
        count += not valid
    return count
