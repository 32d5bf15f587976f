"""A graph index of a peer, built and searched once: the process of one turn of graphs.py, so that its memory is its own.

Usage: graph_worker.py JOB, which is JSON: {"system": "hnswlib", "base": PATH, "queries": PATH, "metric": "l2" or "cosine",
"k": 10, "m": 16, "ef_construction": 200, "ef": [10, ..], "threads": 2, "out": PATH}. Prints JSON: {"about": version and what
it uses of the CPU, "build": seconds, "bytes": by how much the build made the process grow, "passes": [seconds of all queries
for each ef, ..]}; writes the lists, [ef, query, k], into the file `out`, with -1 where one is short.

Every peer gets all queries in one call. Under the cosine all have unit rows and the inner product, which was faster than
usearch's own cosine and is what hnswlib makes of it; the normalising is timed. Linux only.
"""

import ctypes
import importlib
import json
import re
import sys
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np

SECONDS = 0.5  # the queries are asked again until this much time has passed


def hnswlib(rows, job):
    module = importlib.import_module("hnswlib")
    index = module.Index(space="l2" if job["metric"] == "l2" else "ip", dim=rows.shape[1])
    index.init_index(max_elements=len(rows), M=job["m"], ef_construction=job["ef_construction"])
    index.set_num_threads(job["threads"])
    index.add_items(rows)

    def search(queries, ef):
        index.set_ef(ef)
        return index.knn_query(queries, job["k"])[0]

    return search, f"hnswlib {version('hnswlib')}"


def faiss(rows, job):
    module = importlib.import_module("faiss")
    module.omp_set_num_threads(job["threads"])
    metric = module.METRIC_L2 if job["metric"] == "l2" else module.METRIC_INNER_PRODUCT
    index = module.IndexHNSWFlat(rows.shape[1], job["m"], metric)
    index.hnsw.efConstruction = job["ef_construction"]
    index.add(rows)

    def search(queries, ef):
        index.hnsw.efSearch = ef
        return index.search(queries, job["k"])[1]

    return search, f"faiss {module.__version__} HNSWFlat ({module.SIMDConfig.get_level_name()})"


def usearch(rows, job):
    module = importlib.import_module("usearch.index")
    index = module.Index(
        ndim=rows.shape[1],
        metric="l2sq" if job["metric"] == "l2" else "ip",
        dtype=job["system"].removeprefix("usearch-"),
        connectivity=job["m"],
        expansion_add=job["ef_construction"],
        enable_key_lookups=False,
    )
    index.add(np.arange(len(rows), dtype=np.uint64), rows, threads=job["threads"])

    def search(queries, ef):
        index.expansion_search = ef
        found = index.search(queries, job["k"], threads=job["threads"])
        return np.where(np.arange(job["k"]) < found.counts[:, None], found.keys.astype(np.int64), -1)

    return search, f"usearch {version('usearch')} ({index.hardware_acceleration})"


SYSTEMS = {
    "hnswlib": ("hnswlib", hnswlib),
    "faiss": ("faiss", faiss),
    "usearch-f32": ("usearch.index", usearch),
    "usearch-f16": ("usearch.index", usearch),
}


def resident():
    """Bytes of memory that this process has now, without what it has freed but not given back."""
    ctypes.CDLL(None).malloc_trim(0)
    return 1024 * int(re.search(r"^VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)[1])


def ready(rows, metric):
    return rows if metric == "l2" else rows / np.linalg.norm(rows, axis=1, keepdims=True)


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main():
    job = json.loads(sys.argv[1])
    base, queries = (np.load(job[part]) for part in ("base", "queries"))
    module, index = SYSTEMS[job["system"]]
    importlib.import_module(module)  # before the clock starts
    before = resident()
    build, (search, about) = timed(lambda: index(ready(base, job["metric"]), job))
    answer = {"about": about, "build": build, "bytes": resident() - before, "passes": []}

    lists = []
    for ef in job["ef"]:
        lists.append(search(ready(queries, job["metric"]), ef))  # at the same time its warm-up
        passes = []
        while sum(passes) < SECONDS:
            passes.append(timed(lambda: search(ready(queries, job["metric"]), ef))[0])
        answer["passes"].append(median(passes))
    np.save(job["out"], np.array(lists, np.int64))
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
