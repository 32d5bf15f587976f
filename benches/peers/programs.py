"""What is timed: mnno as a whole process, peers in worker processes (worker.py). Imported by the scripts beside it."""

import argparse
import contextlib
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from datetime import date
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
RELEASE = HERE.parents[1] / "target/release/mnno"
PAUSE = 0.3  # seconds before a turn, in which idle threads of the program before it stop spinning
SHORT = 2.0  # seconds; a shorter turn is run twice
FLAGS = ["avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16", "amx_int8"]
CORETYPES = ["Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids"]  # OpenBLAS kernels that are tried


class Failed(Exception):
    """A program that did not do its work, with what it said."""


def settled(turn):
    """What `turn` returns, seconds first, after a pause. Of a short turn the second in a row counts: on a virtual machine the
    first one after a pause pays for waking it, up to a tenth of a second, whoever runs."""
    time.sleep(PAUSE)
    seconds, result = turn()
    return turn() if seconds < SHORT else (seconds, result)


def run(*arguments, **options):
    """As run_once, settled."""
    return settled(lambda: run_once(*arguments, **options))


def run_once(command, env=None, timeout=None, peaks=None, address_space=None):
    """Seconds that a command takes as a whole process, and what it prints.

    `peaks`, a dictionary, gets the peaks of RssAnon (what is no file) and VmHWM (all resident memory) in MiB, looked
    up every 2 ms (Linux). `address_space` limits the process, in bytes. subprocess.TimeoutExpired after `timeout` seconds.
    """
    command = [str(part) for part in command]

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit if address_space else None,
    )
    if peaks is not None:
        threading.Thread(target=watch, args=(process, peaks), daemon=True).start()
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    seconds = time.perf_counter() - start
    if process.returncode:
        raise Failed(f"{' '.join(command)}: exit code {process.returncode}: {err.strip()[-500:]}")
    return seconds, out


def watch(process, peaks):
    while process.returncode is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            return
        for name, kib in re.findall(r"^(RssAnon|VmHWM):\s+(\d+) kB", status, re.MULTILINE):
            peaks[name] = max(peaks.get(name, 0), int(kib) / 1024)
        time.sleep(0.002)


class Mnno:
    """A binary of mnno with the environment variables it is given."""

    def __init__(self, name, path, threads, env=None):
        self.name, self.path, self.threads, self.env = name, Path(path), threads, env
        if not self.path.is_file():
            sys.exit(f"error: no {path}: build it first (cargo build --release), or name it with --mnno")

    def command(self, *arguments):
        return [self.path, *arguments, "--threads", self.threads]

    def knn(self, base, metric, k, out, *options, **limits):
        """Seconds of `mnno knn`, and its lists. Reading, checking, searching, writing: all of it."""
        command = self.command("knn", base, "--metric", metric, "-k", k, "-o", out, *options)
        seconds, _ = run(command, self.env, **limits)
        with np.load(out) as written:
            return seconds, written["indices"]

    def compare(self, x, y, metric, k, *options, **limits):
        """Seconds of `mnno compare`, and the value it prints."""
        command = self.command("compare", x, y, "--metric", metric, "-k", k, "--json", *options)
        seconds, out = run(command, self.env, **limits)
        return seconds, json.loads(out)["results"][0]["value"]

    def bench(self, base, queries, metric, k, ef, traversal):
        """What `mnno bench` finds of the graph that it builds from exact lists: JSON."""
        options = ["--queries", queries, "--metric", metric, "-k", k, "--index", "knn-graph"]
        options += ["--ef", ",".join(map(str, ef)), "--traversal", traversal, "--json"]
        return json.loads(run_once(self.command("bench", base, *options), self.env)[1])

    def has_filter(self):
        return "--filter" in run([self.path, "knn", "--help"])[1]

    def version(self):
        return run([self.path, "--version"])[1].strip()


class Worker:
    """A worker process that has imported one library, with one OpenBLAS kernel (None: the one OpenBLAS chooses)."""

    def __init__(self, library, threads, coretype=None):
        env = {**os.environ, **{f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "OPENBLAS", "MKL")}}
        env.pop("OPENBLAS_CORETYPE", None)
        if coretype:
            env["OPENBLAS_CORETYPE"] = coretype
        self.process = subprocess.Popen(
            [sys.executable, HERE / "worker.py"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.library, self.coretype = library, coretype
        self.about = self.ask("import", library=library, threads=threads)

    def ask(self, what, **job):
        try:
            print(json.dumps({"do": what, **job}), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Failed(f"{self.library} (OpenBLAS kernel {self.coretype or 'default'}): exit code {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(f"{self.library}: {answer['error']}")
        return answer

    def timed(self, what, **job):
        def turn():
            answer = self.ask(what, **job)
            return answer["seconds"], answer

        return settled(turn)[1]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def fastest_worker(library, threads, folder, rows=4096, dims=768, rounds=5):
    """The worker with the OpenBLAS kernel that searches fastest on this CPU, tried in turns, and the one with the default:
    one and the same if OpenBLAS chooses the fastest kernel by itself."""
    path = str(folder / f"tune_{rows}x{dims}.npy")
    np.save(path, np.random.default_rng(1).standard_normal((rows, dims), dtype=np.float32))
    program = {"faiss": "faiss knn", "numpy": "numpy"}[library]
    workers = {}
    for coretype in [None, *CORETYPES]:
        try:
            worker = Worker(library, threads, coretype)
        except Failed:
            if coretype is None:
                raise
            continue
        worker.ask("load", paths=[path])
        workers[coretype] = worker
    best = dict.fromkeys(workers, float("inf"))
    for _ in range(rounds):
        for coretype in list(workers):
            try:
                job = {"program": program, "base": path, "queries": None, "k": 10, "metric": "ip"}
                seconds = workers[coretype].ask("search", **job, out=str(folder / "tune.npy"))["seconds"]
            except Failed:  # a kernel with instructions that this CPU lacks
                del workers[coretype], best[coretype]
                continue
            best[coretype] = min(best[coretype], seconds)
    chosen = min(best, key=best.get)
    if workers[chosen].about["blas"] == workers[None].about["blas"]:
        chosen = None
    for coretype in set(workers) - {None, chosen}:
        workers[coretype].close()
    tried = ", ".join(f"{coretype or 'default'} {seconds:.2f}" for coretype, seconds in best.items())
    print(f"{library}: OpenBLAS kernels tried, s: {tried}; taken: {chosen or 'default'} ({workers[chosen].about['blas']})")
    return workers[chosen], workers[None]


def machine(threads):
    """The CPU and what matters about it, the day, the load."""
    cpu = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
        field = dict(re.findall(r"^(.+?)\s*: (.*)$", first, re.MULTILINE))
        flags = [flag for flag in FLAGS if flag in field.get("flags", "").split()]
        numbers = f"family {field.get('cpu family')}, model {field.get('model')}"
        cpu = f"{field.get('model name', cpu)} ({', '.join([numbers, *flags])})"
    return (
        f"{date.today()}, {cpu}, {os.cpu_count()} cores, {threads} threads, load {os.getloadavg()[0]:.1f} at the start, "
        f"Python {platform.python_version()}"
    )


def add_options(parser, rounds, sample=True):
    """The options that all scripts share; --sample for those that check lists in float64."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=rounds, help=f"turns of each program ({rounds})")
    parser.add_argument("--threads", type=int, default=2, help="threads of each program (2)")
    parser.add_argument("--mnno", default=RELEASE, metavar="PATH", help="the binary (target/release/mnno)")
    parser.add_argument("--folder", type=Path, help="where the data are made and kept (a temporary folder)")
    if sample:
        parser.add_argument("--sample", type=int, default=200, help="queries whose lists are checked in float64 (200)")


@contextlib.contextmanager
def folder_of(args):
    if args.folder:
        args.folder.mkdir(parents=True, exist_ok=True)
        yield args.folder.resolve()
    else:
        with tempfile.TemporaryDirectory(prefix="mnno-peers-") as folder:
            yield Path(folder)
