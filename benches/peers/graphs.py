"""Times mnno's graph index against those of hnswlib, faiss and usearch, in turns, on the same data and with the same truth.

Usage: benches/peers/.venv/bin/python benches/peers/graphs.py [--data NAME,..] [--systems NAME,..] [--tiers NAME,..]
           [--rounds 3] [--threads 2] [--mnno PATH] [--folder FOLDER] [--list]

Each round gives every system one turn, a process of its own: it builds its index (M 16, ef-construction 200), and searches
for 10 neighbours of 1,000 queries with each `ef` of a list. mnno's turn is `mnno bench`, once with the traversal it chooses
and once in f32 (mnno-f32); --tiers has both run with each MNNO_SIMD named. Queries per second at a recall lie on a straight
line between the two settings around it, in their logarithm. Ratios are medians over rounds of those of two turns in one
round. Prints Markdown. Data that cannot be had are left out, and named at the end; so is a turn that fails.
"""

import argparse
import json
import math
import os
import sys
import time
from collections import namedtuple
from functools import partial
from statistics import median

import numpy as np

import data
from graph_worker import SYSTEMS as PEERS
from programs import HERE, PAUSE, Failed, Mnno, add_options, folder_of, machine, run_once

K, M, EF_CONSTRUCTION = 10, 16, 200
TARGETS = [0.95, 0.99]
TIES = 1e-6  # of two distances, relative
QUERIES = 64  # at a time, in the truth
RATES = [10, 13, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128, 160, 200, 256, 400, 800]
RECALLS = [10, 50, 200]

Data = namedtuple("Data", "make metric ef")
DATA = {
    "latent-128": Data(partial(data.latent, n=100_000, d=128), "l2", RATES),
    "latent-300": Data(partial(data.latent, n=200_000, d=300), "l2", RATES),
    "glove": Data(data.glove, "cosine", RATES),
    "nouns": Data(data.nouns, "cosine", RATES),
    "clusters-50": Data(partial(data.far_clusters, centres=50, between=False), "l2", RECALLS),
    "between-50": Data(partial(data.far_clusters, centres=50, between=True), "l2", RECALLS),
    "clusters-1000": Data(partial(data.far_clusters, centres=1000, between=False), "l2", RECALLS),
    "between-1000": Data(partial(data.far_clusters, centres=1000, between=True), "l2", RECALLS),
    "copies": Data(data.many_copies, "l2", RECALLS),
}
OURS = {"mnno": "auto", "mnno-f32": "f32"}  # and their traversal

Point = namedtuple("Point", "ef recall qps")
Turn = namedtuple("Turn", "points build bytes about")  # about: mnno's traversal, a peer's version


class Truth:
    """The distance of the k-th neighbour of each query in float64, and the recall of lists by it: what is as near counts."""

    def __init__(self, base, queries, metric):
        self.base, self.queries = (np.load(path).astype(np.float64) for path in (base, queries))
        if metric == "cosine":
            for rows in (self.base, self.queries):
                rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        half = np.einsum("ij,ij->i", self.base, self.base) / 2
        nearest = [
            np.argpartition(half - self.queries[start : start + QUERIES] @ self.base.T, K - 1, axis=1)[:, :K]
            for start in range(0, len(self.queries), QUERIES)
        ]
        self.furthest = self.distances(np.concatenate(nearest)).max(axis=1)

    def distances(self, lists):
        """Of the rows in lists [query, k] from the query: Euclidean, of unit rows for the cosine, in the same order."""
        return np.array([np.linalg.norm(self.base[found] - query, axis=1) for found, query in zip(lists, self.queries)])

    def recall(self, lists):
        """Of lists [query, k], in which -1 is no row, and a row that comes again counts once."""
        lists = np.sort(lists, axis=1)
        counts = np.ones(lists.shape, bool)
        counts[:, 1:] = lists[:, 1:] != lists[:, :-1]
        counts &= lists >= 0
        return (counts & (self.distances(lists) <= self.furthest[:, None] * (1 + TIES))).mean()


class Peer:
    def __init__(self, name, threads):
        self.name, self.threads = name, threads

    def turn(self, base, queries, of, truth, folder):
        out = folder / "lists.npy"
        job = {"system": self.name, "base": str(base), "queries": str(queries), "metric": of.metric, "k": K, "m": M}
        job |= {"ef_construction": EF_CONSTRUCTION, "ef": of.ef, "threads": self.threads, "out": str(out)}
        env = {"OMP_NUM_THREADS": str(self.threads)}
        answer = json.loads(run_once([sys.executable, HERE / "graph_worker.py", json.dumps(job)], env)[1])
        recalls = map(truth.recall, np.load(out))
        points = [Point(ef, recall, len(truth.queries) / s) for ef, recall, s in zip(of.ef, recalls, answer["passes"])]
        return Turn(points, answer["build"], answer["bytes"], answer["about"])


class Ours:
    def __init__(self, kind, tier, args):
        self.name, self.traversal = " ".join(filter(None, [kind, tier])), OURS[kind]
        self.mnno = Mnno(self.name, args.mnno, args.threads, {"MNNO_SIMD": tier} if tier else None)

    def turn(self, base, queries, of, truth, folder):
        answer = self.mnno.bench(base, queries, of.metric, K, of.ef, self.traversal)
        try:
            found = [line for line in answer["results"] if line["index"] == "knn-graph"]
            found = [line for line in found if line["threads"] == self.mnno.threads]
            points = [Point(line["ef"], line["recall"], line["qps"]) for line in found]
            return Turn(points, found[0]["build_s"], found[0]["bytes"], found[0].get("traversal", self.traversal))
        except (KeyError, IndexError) as error:
            raise Failed(f"mnno bench: results of another form, without {error}") from error


def rate(points, recall):
    """Queries per second where the recall is reached; None if it is not."""
    for i, point in enumerate(points):
        if point.recall >= recall:
            if i == 0:
                return point.qps
            before = points[i - 1]
            share = (recall - before.recall) / (point.recall - before.recall)
            return math.exp(math.log(before.qps) + share * math.log(point.qps / before.qps))
    return None


def middle(values, text):
    """The median of those values that are there, as text."""
    values = [value for value in values if value is not None]
    return format(median(values), text) if values else "-"


def ratio(ours, peer, value):
    """The median over rounds of ours / the peer's, of those in which both are there."""
    pairs = [(value(a), value(b)) for a, b in zip(ours, peer) if a and b]
    return middle([a / b for a, b in pairs if a and b], ".2f")


def rate_text(turns, recall):
    """Queries per second, with + where the smallest ef reaches more than that recall already."""
    more = any(turn and turn.points[0].recall >= recall for turn in turns)
    return middle([rate(turn.points, recall) for turn in turns if turn], ",.0f") + "+" * more


def formula(name, d):
    """Bytes of a row in an index that copies vectors: those, 2 M links of 4 bytes, their number, and 8 bytes for the key."""
    return d * (2 if name == "usearch-f16" else 4) + 8 * M + 12 if name in PEERS else "-"


def label(system, turns):
    """Its name, for mnno with the traversals it has taken."""
    return system if system in PEERS else f"{system} ({', '.join(sorted({turn.about for turn in turns if turn}))})"


def table(heads, lines):
    for line in [heads, ["---"] * len(heads), *lines]:
        print("| " + " | ".join(map(str, line)) + " |")
    print(flush=True)


def report_rates(results):
    lines, compared = [], []
    for name, (turns, shape) in results.items():
        for system, own in turns.items():
            there = [turn for turn in own if turn]
            line = [name, label(system, own), middle([turn.build for turn in there], ".2f")]
            line += [rate_text(own, recall) for recall in TARGETS]
            lines.append([*line, middle([turn.bytes / shape[0] for turn in there], ",.0f"), formula(system, shape[1])])
        for system in (system for system in turns if system not in PEERS):
            for peer in (peer for peer in turns if peer in PEERS):
                line = [name, f"{system} / {peer}"]
                values = [lambda turn, recall=recall: rate(turn.points, recall) for recall in TARGETS]
                values += [lambda turn: turn.build, lambda turn: turn.bytes]
                compared.append([*line, *(ratio(turns[system], turns[peer], value) for value in values)])
    at = [f"queries/s at {recall}" for recall in TARGETS]
    table(["data", "system", "build s", *at, "bytes per row", "formula"], lines)
    table(["data", "ratio", *at, "build time", "memory"], compared)


def report_recalls(results):
    lines = []
    for name, (turns, _) in results.items():
        for system, own in turns.items():
            recalls = [[turn.points[i].recall for turn in own if turn] for i in range(len(RECALLS))]
            lines.append([name, label(system, own), *(middle(recall, ".3f") for recall in recalls)])
    table(["data", "system", *(f"recall at ef {ef}" for ef in RECALLS)], lines)


def measure(name, systems, rounds, folder, left_out):
    """All rounds of one set of data: turns by system (None for one that failed), and the shape of the base."""
    of = DATA[name]
    base, queries = of.make(folder)
    truth = Truth(base, queries, of.metric)
    n, d = truth.base.shape
    print(f"\n{name}: {n:,} x {d}, {len(truth.queries):,} queries, {of.metric}", flush=True)
    turns = {system.name: [] for system in systems}
    for round_ in range(rounds):
        for system in systems:
            time.sleep(PAUSE)
            try:
                turn = system.turn(base, queries, of, truth, folder)
            except Failed as error:
                left_out.append(f"{name}, round {round_ + 1}, {system.name}: {error}")
                print(f"LEFT OUT: {left_out[-1]}", flush=True)
                turns[system.name].append(None)
                continue
            turns[system.name].append(turn)
            rates = ", ".join(f"{rate_text([turn], recall)} at {recall}" for recall in TARGETS)
            first, last = turn.points[0], turn.points[-1]
            print(f"  {round_ + 1} {system.name:16} build {turn.build:7.2f} s; queries/s: {rates};", end=" ")
            print(f"recall {first.recall:.3f} at ef {first.ef} to {last.recall:.3f} at {last.ef}", flush=True)
    return turns, (n, d)


def names(known):
    """A parser of names with commas between them."""

    def parse(text):
        unknown = [name for name in text.split(",") if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
        return text.split(",")

    return parse


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, 3, sample=False)
    systems = [*OURS, *PEERS]
    parser.add_argument("--data", type=names(DATA), default=list(DATA), metavar="NAME,..", help="only these (all)")
    parser.add_argument("--systems", type=names(systems), default=systems, metavar="NAME,..", help="only these (all)")
    parser.add_argument("--tiers", type=lambda text: text.split(","), default=[None], metavar="NAME,..", help="MNNO_SIMD")
    parser.add_argument("--list", action="store_true", help="print the names of data and systems")
    args = parser.parse_args()
    if args.list:
        print("data:", *DATA, sep="\n  ")
        print("systems:", *systems, sep="\n  ")
        return
    ours = [Ours(kind, tier, args) for tier in args.tiers for kind in OURS if kind in args.systems]
    peers = [Peer(name, args.threads) for name in PEERS if name in args.systems]

    used = [machine(args.threads), *(system.mnno.version() for system in ours[:1])]

    results, left_out = {}, []
    with folder_of(args) as folder:
        for name in args.data:
            try:
                results[name] = measure(name, [*ours, *peers], args.rounds, folder, left_out)
            except data.Missing as error:
                left_out.append(str(error))
                print(f"\nLEFT OUT: {error}", flush=True)

    for peer in peers:
        used += [turn.about for turns, _ in results.values() for turn in turns[peer.name] if turn]
    print(f"\n{'; '.join(dict.fromkeys(used))}; {args.rounds} rounds, k {K}, M {M},", end=" ")
    print(f"ef-construction {EF_CONSTRUCTION}, medians; load {os.getloadavg()[0]:.1f} at the end\n")
    rates = {name: result for name, result in results.items() if DATA[name].ef is RATES}
    recalls = {name: result for name, result in results.items() if DATA[name].ef is RECALLS}
    if rates:
        report_rates(rates)
    if recalls:
        report_recalls(recalls)
    for line in left_out:
        print(f"LEFT OUT: {line}")
    sys.exit(bool(left_out))


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(f"error: {error}")
