"""Times how mnno trains maps against PyTorch on the CPU, in turns, on the same data.

Usage: benches/peers/.venv/bin/python benches/peers/training.py [--work NAME].. [--rounds 5] [--threads 2] [--mnno PATH]
           [--without-mnno] [--folder FOLDER]

- epoch: one epoch of 7,400 rows from 300 to 2,048 dimensions with a hidden layer of 512 and relu, in batches of 64, with
  RMSprop. mnno's is a tenth of what `mnno map fit` takes longer, as a whole process, for eleven epochs than for one;
  PyTorch's is the mean of ten, after one that is not timed.
- grid: five folds of 1,962 rows from 64 to 128 dimensions, of each 15 maps (3 learning rates, hidden layers of 64 to 1,024),
  30 epochs, with the losses on training and test rows after each. mnno's is what `mnno experiment cross-modal`, as a whole
  process, takes longer than when it runs again and finds these trainings kept; PyTorch's is a loop over the maps, from the
  rows in memory to the losses. What the whole experiment takes is printed beside.

PyTorch is taken with the setting that is fastest here, tried before the first turn: how the parameters are updated, what is
compiled, and for the grid whether one process has all threads or every thread a process. Compiling is not timed. Every
turn is a process of its own. Ratios are medians over rounds of PyTorch / mnno, of two turns in one round: more than 1 says
that mnno is faster. Prints Markdown. --without-mnno takes the turns of PyTorch alone.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import data
from programs import HERE, PAUSE, Failed, Mnno, add_options, folder_of, machine, run, run_once

SHAPES = {"epoch": (7400, 300, 2048), "grid": (1962, 64, 128)}  # rows, from, to
MORE = 10  # epochs that are timed
EPOCHS = 30  # of each map of the grid
TRYING = 2  # epochs when settings are tried
UPDATES = ["foreach", "for-loop", "by hand"]
COMPILED = [("for-loop", ["update"]), ("for-loop", ["loss", "update"])]


def mnno_epoch_seconds(mnno, x, y, folder):
    """Seconds of an epoch: what eleven take longer than one, by ten."""
    options = "--map nn-1 --hidden 512 --loss mse --optimizer rmsprop --learning-rate 0.001 --batch 64 --seed 0".split()
    seconds = []
    for epochs in (1, 1 + MORE):
        command = mnno.command("map", "fit", x, y, *options, "--epochs", epochs, "-o", folder / "model.safetensors")
        seconds.append(run(command, mnno.env)[0])
    return (seconds[1] - seconds[0]) / MORE


def mnno_grid_seconds(mnno, x, y, folder):
    """Seconds of the grid: what the experiment takes longer when it finds no trainings than when it finds them all."""
    options = f"--maps nn-1 --losses mse --direction x-to-y --epochs {EPOCHS} --folds 5".split()
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        command = mnno.command("experiment", "cross-modal", x, y, *options, "-o", Path(fresh) / "out")
        seconds = []
        for _ in ("trains", "finds"):
            time.sleep(PAUSE)
            seconds.append(run_once(command, mnno.env)[0])
    print(f"  whole experiment {seconds[0]:.3f} s, with the grid kept {seconds[1]:.3f} s", flush=True)
    return seconds[0] - seconds[1]


OURS = {"epoch": mnno_epoch_seconds, "grid": mnno_grid_seconds}


def settings(work, threads):
    """What is tried of PyTorch. The grid is a plain loop: its many small maps would each be compiled anew."""
    ways = [(update, []) for update in UPDATES] + (COMPILED if work == "epoch" else [])
    shares = {(1, threads), (threads, 1)} if work == "grid" else {(1, threads)}
    for update, compiled in ways:
        for processes, each in sorted(shares):
            yield {"update": update, "compile": compiled, "processes": processes, "threads": each}


def label(setting):
    compiled = f", compiled {' and '.join(setting['compile'])}" if setting["compile"] else ""
    return f"{setting['update']}{compiled}, {setting['processes']} x {setting['threads']} threads"


def torch_turn(work, paths, epochs, setting, folder):
    """The answer of training_worker.py."""
    x, y = map(str, paths)
    job = {"work": work, "x": x, "y": y, "epochs": epochs, "setting": setting}
    env = {"OMP_NUM_THREADS": str(setting["threads"]), "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor")}
    time.sleep(PAUSE)
    return json.loads(run_once([sys.executable, HERE / "training_worker.py", json.dumps(job)], env)[1])


def fastest_setting(work, paths, threads, folder):
    best = {}
    for setting in settings(work, threads):
        try:
            turns = [torch_turn(work, paths, TRYING, setting, folder)["seconds"] for _ in range(2)]
        except Failed as error:
            print(f"  left out: {label(setting)}: {str(error)[-300:]}", flush=True)
            continue
        best[label(setting)] = min(turns), setting
        print(f"  tried: {label(setting)}: {min(turns):.3f} s", flush=True)
    if not best:
        raise Failed(f"{work}: no setting of PyTorch works")
    return min(best.values(), key=lambda pair: pair[0])[1]


def time_work(work, mnno, args, folder):
    """Prints the turns of all rounds; a line of the table."""
    n, d, into = SHAPES[work]
    paths = data.gaussian(folder, n, d), data.mapped(folder, n, d, into)
    print(f"{work}:", flush=True)
    setting = fastest_setting(work, paths, args.threads, folder)
    ours, theirs = [], []
    for _ in range(args.rounds):
        if mnno:
            ours.append(OURS[work](mnno, *paths, folder))
        answer = torch_turn(work, paths, MORE if work == "epoch" else EPOCHS, setting, folder)
        theirs.append(answer["seconds"])
        told = f"mnno {ours[-1]:.3f} s, " if mnno else ""
        print(f"  {told}{answer['about']} {theirs[-1]:.3f} s, loss {answer['loss']:.4f}", flush=True)
    line = [work, f"{median(theirs):.3f}", label(setting)]
    if mnno:
        ratios = [b / a for a, b in zip(ours, theirs)]
        line += [f"{median(ours):.3f}", f"{median(ratios):.2f}", f"{min(ratios):.2f} to {max(ratios):.2f}"]
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, 5, sample=False)
    parser.add_argument("--work", action="append", choices=SHAPES, metavar="NAME", help="epoch or grid alone")
    parser.add_argument("--without-mnno", action="store_true", help="time PyTorch alone")
    args = parser.parse_args()
    about = machine(args.threads)
    mnno = None if args.without_mnno else Mnno("mnno", args.mnno, args.threads)
    if mnno:
        about += f"; {mnno.version()}"
    with folder_of(args) as folder:
        lines = [time_work(work, mnno, args, folder) for work in args.work or SHAPES]
    heads = ["work", "PyTorch s", "its setting"] + (["mnno s", "PyTorch / mnno", "over rounds"] if mnno else [])
    print(f"\n{about}; {args.rounds} rounds, medians; load {os.getloadavg()[0]:.1f} at the end\n")
    for line in [heads, ["---"] * len(heads), *lines]:
        print("| " + " | ".join(line) + " |")


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(f"error: {error}")
