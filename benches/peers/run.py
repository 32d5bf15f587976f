"""Times mnno against its peers, in turns, on the same data, and checks every answer against float64.

Usage: benches/peers/.venv/bin/python benches/peers/run.py [--work NAME].. [--rounds 5] [--threads 2] [--slow]
           [--mnno PATH] [--baseline PATH] [--variant NAME=VALUE[,..]].. [--peer NAME].. [--folder FOLDER] [--list]

mnno is timed as a whole process: reading and checking the file, searching, writing the result. Peers are timed in a process
that has the data in memory, from there to the lists, the normalising of rows included; so the ratios favour the peers.
--baseline times another binary of mnno in the same turns, --variant the same binary with environment variables set.

In each round every program has one turn, mnno first; a short turn is taken twice and the second counts (programs.py). A peer that takes more than twice as long as the fastest one in the
first round has no more turns in that work; slow ones are left out of large works unless --slow is given. Ratios are medians
over rounds of (the peer's seconds / mnno's seconds in the same round). Exit code 1 if any of mnno's sampled lists, or a
value of compare, is not that of float64.
"""

import argparse
import os
import sys
from collections import namedtuple
from statistics import median

import numpy as np

import data
import exact
from programs import Failed, Mnno, Worker, add_options, fastest_worker, folder_of, machine

K = 10
DROP = 2.0  # times the fastest peer's seconds, in the first round
LARGE = 2e11  # products in a search, n * n * d, above which slow peers are left out

Work = namedtuple("Work", "shapes metric options", defaults=[()])
WORKS = {
    "9251x128-cosine": Work([(9251, 128)], "cosine"),
    "9251x300-cosine": Work([(9251, 300)], "cosine"),
    "9251x2048-cosine": Work([(9251, 2048)], "cosine"),
    "20000x2048-cosine": Work([(20000, 2048)], "cosine"),
    "100000x128-ip": Work([(100000, 128)], "ip"),
    "100000x128-l2": Work([(100000, 128)], "l2"),
    "100000x768-cosine": Work([(100000, 768)], "cosine"),
    "compare-bare": Work([(9251, 300), (9251, 2048)], "cosine", ("--permutations", "0")),
    "compare": Work([(9251, 300), (9251, 2048)], "cosine"),
}

# Name: library, whether with the fastest OpenBLAS kernel or the default one, program of worker.py, whether slow.
PEERS = {
    "faiss knn": ("faiss", "fastest", "faiss knn", False),
    "faiss flat": ("faiss", "fastest", "faiss flat", False),
    "faiss knn, default BLAS": ("faiss", "default", "faiss knn", True),
    "faiss flat, default BLAS": ("faiss", "default", "faiss flat", True),
    "torch f32": ("torch", None, "torch f32", False),
    "torch bf16": ("torch", None, "torch bf16", False),
    "numpy": ("numpy", "fastest", "numpy", True),
    "numpy, default BLAS": ("numpy", "default", "numpy", True),
    "sklearn": ("sklearn", None, "sklearn", True),
}
# Its scores have 8 bits, so most of its lists are others: never called the fastest peer, but told beside it.
ROUGH = "torch bf16"


class Peer:
    def __init__(self, name, worker, program, slow):
        self.name, self.worker, self.program, self.slow = name, worker, program, slow

    def search(self, path, metric, out):
        job = {"program": self.program, "base": str(path), "queries": None, "k": K, "metric": metric, "out": str(out)}
        seconds = self.worker.timed("search", **job)["seconds"]
        return seconds, np.load(out)

    def compare(self, paths, metric, outs):
        x, y = map(str, paths)
        job = {"program": self.program, "x": x, "y": y, "k": K, "metric": metric, "out": [str(out) for out in outs]}
        answer = self.worker.timed("compare", **job)
        return answer["seconds"], answer["value"], [np.load(out) for out in outs]


def start_peers(names, threads, folder):
    """The peers that are installed, and lines about their versions."""
    workers, peers, about = {}, [], []
    for library in dict.fromkeys(PEERS[name][0] for name in names):
        try:
            if library in ("faiss", "numpy"):
                workers[library, "fastest"], workers[library, "default"] = fastest_worker(library, threads, folder)
            else:
                workers[library, None] = Worker(library, threads)
        except Failed as error:
            print(f"left out: {error}")
    for name in names:
        library, setting, program, slow = PEERS[name]
        worker = workers.get((library, setting))
        if worker and not (setting == "default" and worker is workers[library, "fastest"]):
            peers.append(Peer(name, worker, program, slow))
            about.append(f"{worker.about['version']}{' with ' if worker.about['blas'] else ''}{worker.about['blas']}")
    return peers, list(dict.fromkeys(about))


class Checked:
    """The lists of a sample of the queries of a work, in float64."""

    def __init__(self, paths, metric, sample, threads):
        n = len(np.load(paths[0], mmap_mode="r"))
        self.rows = np.sort(np.random.default_rng(0).choice(n, min(sample, n), replace=False))
        self.lists = []
        for path in paths:
            x = np.load(path)
            self.lists.append(exact.lists(x, x[self.rows], metric, K, self.rows, threads)[0])
        if len(paths) == 2:
            self.shared = np.array([len(np.intersect1d(a, b)) for a, b in zip(*self.lists)])

    def differ(self, found):
        return sum(exact.differ(a[self.rows], b) for a, b in zip(found, self.lists))

    def count(self):
        return len(self.rows) * len(self.lists)


def turn(work, program, paths, folder, checked):
    """One turn: seconds, how many sampled lists differ (None for mnno's compare, which shows none), the value of compare."""
    compared, is_peer = len(paths) == 2, isinstance(program, Peer)
    if compared and is_peer:
        seconds, value, found = program.compare(paths, work.metric, [folder / "a.npy", folder / "b.npy"])
        return seconds, checked.differ(found), value
    if compared:
        seconds, value = program.compare(*paths, work.metric, K, *work.options)
        return seconds, None, value
    if is_peer:
        seconds, found = program.search(paths[0], work.metric, folder / "a.npy")
    else:
        seconds, found = program.knn(paths[0], work.metric, K, folder / "out.npz")
    return seconds, checked.differ([found]), None


def check_compare(program, work, paths, folder, checked):
    """Runs `compare` untimed with the overlap of every row, and prints how many sampled ones are not float64's, and the
    peaks of memory. Whether none is, and the value that all rows give."""
    out, peaks = folder / "rows.csv", {}
    program.compare(*paths, work.metric, K, *work.options, "--per-row", out)
    shared = np.loadtxt(out, delimiter=",", skiprows=1, dtype=np.int64)[:, 1]
    wrong = int((shared[checked.rows] != checked.shared).sum())
    program.compare(*paths, work.metric, K, *work.options, peaks=peaks)
    print(f"  {program.name}: sampled rows with another overlap than float64's: {wrong} of {len(checked.rows)}", end="; ")
    print(f"peak RssAnon {peaks.get('RssAnon', 0):.0f} MiB, peak RSS {peaks.get('VmHWM', 0):.0f} MiB")
    return wrong == 0, shared.sum() / shared.size / K


def prepare(work, peers, slow, folder):
    """The files of a work, and the peers that take part: with the data loaded, warmed up, their best block found."""
    paths = [data.gaussian(folder, *work.shapes[0])]
    if len(work.shapes) == 2:
        paths.append(data.mapped(folder, *work.shapes[0], work.shapes[1][1]))
    large = max(n * n * d for n, d in work.shapes) > LARGE
    peers = [peer for peer in peers if slow or not (large and peer.slow)]
    peers = [peer for peer in peers if not (work.metric == "ip" and peer.program == "sklearn")]
    for worker in {peer.worker for peer in peers}:
        worker.ask("load", paths=[str(path) for path in paths])
    for peer in peers:
        for path in paths:
            block = peer.worker.ask("tune", program=peer.program, base=str(path), k=K, metric=work.metric)["block"]
            if block:
                print(f"  {peer.name}: blocks of {block} queries for {path.name}", flush=True)
    return paths, peers


Turns = namedtuple("Turns", "seconds differ values")


def time_work(work, ours, peers, args, folder):
    """All rounds of one work: turns by program (seconds None for one left out), whether mnno was right, lists sampled."""
    paths, peers = prepare(work, peers, args.slow, folder)
    checked = Checked(paths, work.metric, args.sample, args.threads)
    right, values = True, {}
    for program in ours:
        program.version()  # its file is in the cache from here on, as the data are
        if len(paths) == 2:
            good, values[program.name] = check_compare(program, work, paths, folder, checked)
            right &= good

    turns = {program.name: Turns([], [], []) for program in [*ours, *peers]}
    dropped = set()
    for round_ in range(args.rounds):
        for program in [*ours, *peers]:
            each = turns[program.name]
            if program.name in dropped:
                each.seconds.append(None)
                continue
            seconds, differ, value = turn(work, program, paths, folder, checked)
            each.seconds.append(seconds)
            if differ is not None:
                each.differ.append(differ)
            if value is not None:
                each.values.append(value)
            if program in ours:
                right &= not differ and (value is None or abs(value - values[program.name]) < 1e-12)
        if round_ == 0:
            first = {peer.name: turns[peer.name].seconds[0] for peer in peers}
            exact_ones = [seconds for name, seconds in first.items() if name != ROUGH]
            dropped = {name for name, seconds in first.items() if seconds > DROP * min(exact_ones or [seconds])}
    return turns, right, checked.count()


def ratio(turns, ours):
    return median(a / b for a, b in zip(turns.seconds, ours.seconds) if a is not None)


def times(turns):
    return [seconds for seconds in turns.seconds if seconds is not None]


def report(name, turns, right, count):
    """A table of one work."""
    ours = turns["mnno"]
    print(f"\n{name}, k {K}; lists that differ from float64's, of {count}")
    width = max(map(len, turns))
    print(f"{'':{width}} {'min s':>9} {'median s':>9} {'/ mnno':>7} {'rounds':>7} {'differ':>7}  value")
    for program, each in turns.items():
        taken = times(each)
        differ = max(each.differ) if each.differ else ""
        value = " ".join(f"{value:.6f}" for value in sorted(set(each.values)))
        line = f"{program:{width}} {min(taken):9.3f} {median(taken):9.3f} {ratio(each, ours):7.2f}"
        print(f"{line} {len(taken):7} {differ:>7}  {value}")
    if not right:
        print("ERROR: an answer of mnno differs from float64's")
    print(flush=True)


def summary(results, others):
    """Markdown: the fastest peer of each work."""
    heads = ["work", "mnno s", "fastest peer", "its s", "peer / mnno", "its lists that differ"]
    heads += [f"{ROUGH} / mnno", "its lists that differ", *(f"{other} / mnno" for other in others)]
    lines = [heads, ["---"] * len(heads)]
    for name, (turns, _, count) in results.items():
        ours = turns["mnno"]
        peers = [peer for peer in PEERS if peer in turns]
        fastest = min((peer for peer in peers if peer != ROUGH), key=lambda peer: median(times(turns[peer])), default=None)

        line = [name, f"{median(ours.seconds):.3f}"]
        if fastest:
            line += [fastest, f"{median(times(turns[fastest])):.3f}", f"{ratio(turns[fastest], ours):.2f}"]
            line += [f"{max(turns[fastest].differ)} of {count}"]
        else:
            line += ["-"] * 4
        if ROUGH in turns:
            line += [f"{ratio(turns[ROUGH], ours):.2f}", f"{max(turns[ROUGH].differ)} of {count}"]
        else:
            line += ["-"] * 2
        lines.append([*line, *(f"{ratio(turns[other], ours):.2f}" for other in others)])
    for line in lines:
        print("| " + " | ".join(line) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, 5)
    parser.add_argument("--work", action="append", choices=WORKS, metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--peer", action="append", choices=[*PEERS, "none"], metavar="NAME", help="only this one; or none")
    parser.add_argument("--slow", action="store_true", help="slow peers in large works too")
    parser.add_argument("--baseline", metavar="PATH", help="another binary of mnno")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME=VALUE[,..]", help="mnno with these set")
    parser.add_argument("--list", action="store_true", help="print the names of works and peers")
    args = parser.parse_args()
    if args.list:
        print("works:", *WORKS, sep="\n  ")
        print("peers:", *PEERS, sep="\n  ")
        return
    about = machine(args.threads)
    ours = [Mnno("mnno", args.mnno, args.threads)]
    if args.baseline:
        ours.append(Mnno("baseline", args.baseline, args.threads))
    for variant in args.variant:
        env = dict(pair.split("=", 1) for pair in variant.split(","))
        ours.append(Mnno(f"mnno {variant}", args.mnno, args.threads, env))

    results = {}
    with folder_of(args) as folder:
        names = [name for name in args.peer or PEERS if name != "none"]
        peers, versions = start_peers(names, args.threads, folder)
        about = "; ".join([about, ours[0].version(), *versions])
        print(about)
        for name in args.work or WORKS:
            print(f"\n{name}: {args.rounds} rounds", flush=True)
            results[name] = time_work(WORKS[name], ours, peers, args, folder)
            report(name, *results[name])
    print(f"{about}; {args.rounds} rounds, k {K}, medians; load {os.getloadavg()[0]:.1f} at the end\n")
    summary(results, [program.name for program in ours[1:]])
    sys.exit(not all(right for _, right, _ in results.values()))


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(f"error: {error}")
