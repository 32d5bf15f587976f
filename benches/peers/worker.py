"""The peers: runs their searches in one process, asked by JSON lines on stdin, answered by JSON lines on stdout.

Started by programs.py, one process for each setting of the environment, since libraries read it when they are imported. Data
are copied into memory before anything is timed. A search is timed from the float32 rows in memory to the finished lists,
normalising rows (cosine), converting them (bf16), filling an index (faiss flat) and leaving out the row itself included.

    {"do": "import", "library": "faiss", "threads": 2}                   -> {"version": .., "blas": ..}
    {"do": "load", "paths": [..]}                                        -> {}
    {"do": "tune", "program": .., "base": PATH, "k": 10, "metric": ..}   -> {"block": queries at a time, null without choice}
    {"do": "search", .. the same, "queries": PATH or null, "out": PATH}  -> {"seconds": ..}; lists in the file `out`
    {"do": "compare", "program": .., "x": PATH, "y": PATH, "k": 10, "metric": .., "out": [PATH, PATH]}
                                                                         -> {"seconds": .., "value": ..}; lists in files

Whatever fails answers {"error": message}.
"""

import importlib
import json
import os
import sys
import time

import numpy as np

BLOCKS = [128, 512, 2048]  # queries at a time that are tried for torch and numpy
TUNING_QUERIES = 4096


def without_self(found, k):
    """Lists of k + 1 without the row's own number, or without the last place where it is not among them."""
    keep = found != np.arange(len(found))[:, None]
    keep[keep.all(axis=1), -1] = False
    return found[keep].reshape(-1, k)


def faiss_search(base, queries, k, metric, own, block, flat=False):
    import faiss

    if metric == "cosine":
        base, given = base.copy(), queries
        faiss.normalize_L2(base)
        queries = base if own else given.copy()
        if not own:
            faiss.normalize_L2(queries)
    if flat:
        index = (faiss.IndexFlatL2 if metric == "l2" else faiss.IndexFlatIP)(base.shape[1])
        index.add(base)
        found = index.search(queries, k + own)[1]
    else:
        kind = faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT
        found = faiss.knn(queries, base, k + own, metric=kind)[1]
    return without_self(found, k) if own else found


def faiss_flat(*job):
    return faiss_search(*job, flat=True)


def torch_search(base, queries, k, metric, own, block, bf16=False):
    import torch

    with torch.inference_mode():
        x = torch.from_numpy(base)
        q = x if own else torch.from_numpy(queries)
        if metric == "cosine":
            x = torch.nn.functional.normalize(x)
            q = x if own else torch.nn.functional.normalize(q)
        half = (x * x).sum(1) / 2 if metric == "l2" else None
        if bf16:
            x, q = x.bfloat16(), q.bfloat16()
        found = np.empty((len(q), k), np.int64)
        for start in range(0, len(q), block):
            part = q[start : start + block]
            if half is None:
                scores = part @ x.T
            elif bf16:
                scores = (part @ x.T).float().sub_(half)
            else:
                scores = torch.addmm(half, part, x.T, beta=-1)
            if own:
                rows = torch.arange(len(part))
                scores[rows, rows + start] = -torch.inf
            found[start : start + block] = scores.topk(k, dim=1).indices.numpy()
    return found


def torch_bf16(*job):
    return torch_search(*job, bf16=True)


def numpy_search(base, queries, k, metric, own, block):
    if metric == "cosine":
        given = queries
        base = base / np.sqrt(np.einsum("ij,ij->i", base, base))[:, None]
        queries = base if own else given / np.sqrt(np.einsum("ij,ij->i", given, given))[:, None]
    half = np.einsum("ij,ij->i", base, base) / 2 if metric == "l2" else None
    found = np.empty((len(queries), k), np.int64)
    for start in range(0, len(queries), block):
        scores = queries[start : start + block] @ base.T
        if half is not None:
            scores -= half
        if own:
            rows = np.arange(len(scores))
            scores[rows, rows + start] = -np.inf
        places = np.argpartition(scores, -k, axis=1)[:, -k:]
        order = np.argsort(-np.take_along_axis(scores, places, axis=1), axis=1, kind="stable")
        found[start : start + block] = np.take_along_axis(places, order, axis=1)
    return found


def sklearn_search(base, queries, k, metric, own, block):
    """Cosine as the distance of unit rows: scikit-learn's fused search knows no cosine. There is no inner product."""
    from sklearn.neighbors import NearestNeighbors
    from sklearn.preprocessing import normalize

    if metric == "cosine":
        base, queries = normalize(base), queries if own else normalize(queries)
    fitted = NearestNeighbors(n_neighbors=k, algorithm="brute", metric="sqeuclidean").fit(base)
    return fitted.kneighbors(None if own else queries, return_distance=False)


SEARCH = {
    "faiss knn": faiss_search,
    "faiss flat": faiss_flat,
    "torch f32": torch_search,
    "torch bf16": torch_bf16,
    "numpy": numpy_search,
    "sklearn": sklearn_search,
}


class Worker:
    def __init__(self):
        self.data = {}
        self.blocks = {}  # the fastest number of queries at a time, by program and file

    def do_import(self, library, threads):
        module = importlib.import_module(library)
        from threadpoolctl import threadpool_info, threadpool_limits

        threadpool_limits(threads)
        if library == "faiss":
            module.omp_set_num_threads(threads)
        if library == "torch":
            module.set_num_threads(threads)
        # The BLAS that the library brought; numpy's own is loaded in every worker.
        blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        blas = [pool for pool in blas if ("numpy.libs" in pool["filepath"]) == (library == "numpy")]
        fields = ["internal_api", "version", "architecture"]
        blas = ", ".join(" ".join(pool[field] for field in fields if pool.get(field)) for pool in blas)
        return {"version": f"{library} {module.__version__}", "blas": blas}

    def do_load(self, paths):
        self.data = {path: np.array(np.load(path, mmap_mode="r"), np.float32, order="C") for path in paths}
        self.blocks = {}
        return {}

    def search(self, program, base, queries, k, metric):
        x = self.data[base]
        q = x if queries is None else self.data[queries]
        return SEARCH[program](x, q, k, metric, queries is None, self.blocks.get((program, base), BLOCKS[0]))

    def do_tune(self, program, base, k, metric):
        """Finds the best block, where there is one to choose; at the same time the library's warm-up."""
        x = self.data[base]
        some = x[:TUNING_QUERIES]
        tried = {}
        for block in BLOCKS if program.startswith(("torch", "numpy")) else BLOCKS[:1]:
            for _ in range(2):
                start = time.perf_counter()
                SEARCH[program](x, some, k, metric, False, block)
                tried[block] = min(tried.get(block, np.inf), time.perf_counter() - start)
        self.blocks[program, base] = min(tried, key=tried.get)
        return {"block": self.blocks[program, base] if len(tried) > 1 else None}

    def do_search(self, program, base, queries, k, metric, out):
        start = time.perf_counter()
        found = self.search(program, base, queries, k, metric)
        seconds = time.perf_counter() - start
        np.save(out, found)
        return {"seconds": seconds}

    def do_compare(self, program, x, y, k, metric, out):
        start = time.perf_counter()
        a, b = (self.search(program, space, None, k, metric) for space in (x, y))
        value = int((a[:, :, None] == b[:, None, :]).sum()) / a.size
        seconds = time.perf_counter() - start
        for path, found in zip(out, (a, b)):
            np.save(path, found)
        return {"seconds": seconds, "value": value}


def main():
    # What libraries print goes to stderr; only answers go to stdout.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker()
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = getattr(worker, "do_" + job.pop("do"))(**job)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
