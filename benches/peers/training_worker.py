"""PyTorch's side of training.py: one turn, in a process of its own.

Usage: training_worker.py JOB, which is JSON: {"work": "epoch" or "grid", "x": PATH, "y": PATH, "epochs": timed epochs,
"setting": {"update": a name of UPDATES, "compile": what goes through torch.compile, of "loss" and "update", "processes": 1,
"threads": 2}}. Prints JSON: {"about": version, "seconds": of an epoch, or of the whole grid, "loss": at the end: of the
training rows, or the best mean over folds of the test rows' loss}.

Timed from the float32 rows in memory of processes that have been warmed up, compiling included. An epoch takes every row once,
in random order, in batches of 64; its training loss is the mean of those of its batches.
"""

import json
import math
import multiprocessing
import sys
import time
from itertools import product

import numpy as np
import torch

BATCH, RHO, EPSILON = 64, 0.9, 1e-8
FOLDS, RATES, HIDDEN = 5, [0.01, 0.001, 0.0001], [1024, 512, 256, 128, 64]  # the longest first, for the sake of the last


class ByHand:
    """RMSprop without what torch.optim does around it."""

    def __init__(self, parameters, lr):
        self.pairs, self.lr = [(p, torch.zeros_like(p)) for p in parameters], lr

    def zero_grad(self):
        for p, _ in self.pairs:
            p.grad = None

    @torch.no_grad()
    def step(self):
        for p, v in self.pairs:
            v.mul_(RHO).addcmul_(p.grad, p.grad, value=1 - RHO)
            p.addcdiv_(p.grad, v.sqrt().add_(EPSILON), value=-self.lr)


def torch_optim(foreach):
    return lambda parameters, lr: torch.optim.RMSprop(parameters, lr=lr, alpha=RHO, eps=EPSILON, foreach=foreach)


UPDATES = {"foreach": torch_optim(True), "for-loop": torch_optim(False), "by hand": ByHand}


def train(x, y, test, hidden, lr, setting):
    """A map with one hidden layer; yields after each epoch its loss on the training rows, and on those of `test`, if any."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, y.shape[1])
    )
    for layer in (model[0], model[2]):
        torch.nn.init.xavier_uniform_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
    optimizer = UPDATES[setting["update"]](list(model.parameters()), lr)

    def loss(x, y):
        return torch.nn.functional.mse_loss(model(x), y, reduction="sum") / (2 * len(x))

    step = optimizer.step
    if "loss" in setting["compile"]:
        loss = torch.compile(loss)
    if "update" in setting["compile"]:
        step = torch.compile(step)
    while True:
        total = torch.zeros(())
        for rows in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            value = loss(x.index_select(0, rows), y.index_select(0, rows))
            value.backward()
            step()
            total += value.detach() * len(rows)
        with torch.no_grad():
            yield total.item() / len(x), loss(*test).item() if test else None


def load(job):
    return [torch.from_numpy(np.load(job[name])) for name in ("x", "y")]


def epoch(job):
    torch.set_num_threads(job["setting"]["threads"])
    losses = train(*load(job), None, 512, 0.001, job["setting"])
    next(losses)
    start = time.perf_counter()
    for _ in range(job["epochs"]):
        loss = next(losses)[0]
    return (time.perf_counter() - start) / job["epochs"], loss


def start_process(job, ready):
    """Loads the data, draws the folds, warms up; `ready` when all processes are."""
    torch.set_num_threads(job["setting"]["threads"])
    x, y = load(job)
    folds = torch.randperm(len(x), generator=torch.Generator().manual_seed(0)).tensor_split(FOLDS)
    point.data, point.job = (x, y, folds), job
    for hidden in HIDDEN:
        next(train(x, y, (x, y), hidden, 0.001, job["setting"]))
    ready.wait()


def point(place):
    """The test loss after each epoch of one map: of a fold and a point of the grid."""
    hidden, lr, fold = place
    x, y, folds = point.data
    rows, test = torch.cat([other for i, other in enumerate(folds) if i != fold]), folds[fold]
    losses = train(x[rows], y[rows], (x[test], y[test]), hidden, lr, point.job["setting"])
    return place, [next(losses)[1] for _ in range(point.job["epochs"])]


def grid(job):
    spawn = multiprocessing.get_context("spawn")
    processes = job["setting"]["processes"]
    ready = spawn.Barrier(processes + 1)
    with spawn.Pool(processes, start_process, (job, ready)) as pool:
        ready.wait()
        start = time.perf_counter()
        found = dict(pool.imap_unordered(point, product(HIDDEN, RATES, range(FOLDS))))
        seconds = time.perf_counter() - start
    curves = [np.mean([found[hidden, lr, fold] for fold in range(FOLDS)], axis=0) for hidden, lr in product(HIDDEN, RATES)]
    return seconds, float(np.min(curves))


def main():
    job = json.loads(sys.argv[1])
    seconds, loss = {"epoch": epoch, "grid": grid}[job["work"]](job)
    if not math.isfinite(loss):
        sys.exit(f"error: the loss is {loss}")
    print(json.dumps({"about": f"torch {torch.__version__}", "seconds": seconds, "loss": loss}))


if __name__ == "__main__":
    main()
