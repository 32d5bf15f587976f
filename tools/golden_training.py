"""Writes fixtures/golden/training.json: gradients and update rules from PyTorch, ridge from scikit-learn, all in float64.

PyTorch and scikit-learn are in the environment of the peers (benches/peers/setup_venv.sh):

    benches/peers/.venv/bin/python tools/golden_training.py

Matrices are row-major and flattened; a layer's weights are [out, in]. What goes in is the same in float32. No unit
of relu and no hinge is as near to its kink as KINK, so that finite differences agree with the gradients.

- gradients: of the mean `value` of the loss over the rows of one batch, `x` and `y`. `negatives` has, for each row, the row
  of the batch that is compared with it, the first that violates the margin in a random order, or null where none does: the
  loss of that row is 0.
- optimizers: parameters at first and after each step, with the gradient of that step.
- ridge: the maps for each penalty, and the mean squared error of leaving one row out at a time.
"""

import json
from pathlib import Path

import numpy as np
import sklearn
import torch
from sklearn.linear_model import Ridge, RidgeCV

OUT = Path(__file__).resolve().parents[1] / "fixtures/golden/training.json"
BATCH = 5
KINK = 0.005
MARGINS = [1.0, 0.5, 0.25, 0.125, 0.0625]
ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid}
WIDTHS = [[4, 3], [4, 5, 3], [4, 5, 4, 5, 3]]


def normal(random, *shape, scale=1.0):
    """Normal multiples of 1/64."""
    return np.round(random.standard_normal(shape) * scale * 64) / 64


def forward(layers, activation, x, margins=None):
    """f(x), [rows, out]; the distances of the units of relu from their kink go into `margins`."""
    for i, (weights, biases) in enumerate(layers):
        if i:
            if margins is not None and activation == "relu":
                margins.append(x.abs().min())
            x = ACTIVATIONS[activation](x)
        x = x @ weights.T + biases
    return x


def mse(f, y, margin, negative):
    return ((f - y) ** 2).sum(1) / 2


def cosine(f, y, margin, negative):
    return 1 - (f * y).sum(1) / (f.norm(dim=1) * y.norm(dim=1))


def max_margin(f, y, margin, negative):
    return margin + (f - y).norm(dim=1) - (f[negative] - y).norm(dim=1)


def max_margin_target(f, y, margin, negative):
    return margin + (f - y).norm(dim=1) - (f - y[negative]).norm(dim=1)


def hinge_rank(f, y, margin, negative):
    t = y / y.norm(dim=1, keepdim=True)
    return margin - (t * f).sum(1) + (t[negative] * f).sum(1)


PLAIN = {"mse": mse, "cosine": cosine}
HINGES = {"max-margin": max_margin, "max-margin-target": max_margin_target, "hinge-rank": hinge_rank}


def first_violating(random, values):
    """For each row the first other row, in random order, whose hinge is open; None if there is none. values: [row, other]."""
    chosen = []
    for row in range(BATCH):
        others = [other for other in random.permutation(BATCH) if other != row and values[row][other] > 0]
        chosen.append(int(others[0]) if others else None)
    return chosen


def draw(random, activation, widths, name):
    """A case, or None if it is too near a kink, or if not at least one row has no negative and three have one."""
    layers = []
    for d_in, d_out in zip(widths, widths[1:]):
        layers.append((normal(random, d_out, d_in, scale=2 * d_in**-0.5), normal(random, d_out, scale=0.25)))
    layers = [tuple(torch.tensor(part, requires_grad=True) for part in layer) for layer in layers]
    x = torch.tensor(normal(random, BATCH, widths[0]))
    margins = []
    f = forward(layers, activation, x, margins)
    # Targets that the map has learnt in part, or no row would be free of negatives.
    y = f.detach() + f.detach().std(0) * torch.tensor(normal(random, BATCH, widths[-1], scale=0.5))
    y = torch.round(y * 64) / 64
    if name in PLAIN:
        margin, negatives = None, [None] * BATCH
        rows = PLAIN[name](f, y, None, None)
    else:
        loss, margin = HINGES[name], random.choice(MARGINS)
        columns = [loss(f, y, margin, torch.full((BATCH,), other)) for other in range(BATCH)]
        values = torch.stack(columns, dim=1).detach()
        margins.append(values[~torch.eye(BATCH, dtype=bool)].abs().min())
        negatives = first_violating(random, values)
        if not 1 <= negatives.count(None) <= BATCH - 3:
            return None
        open_ = torch.tensor([negative is not None for negative in negatives])
        rows = torch.where(open_, loss(f, y, margin, torch.tensor([negative or 0 for negative in negatives])), 0.0)
    value = rows.mean()
    value.backward()
    live = [part.grad.count_nonzero() > 0 for layer in layers for part in layer]
    if min(margins, default=1) < KINK or not all(live):
        return None
    flat = [[part.detach().flatten().tolist() for part in parts] for parts in zip(*layers)]
    gradients = [[part.grad.flatten().tolist() for part in parts] for parts in zip(*layers)]
    return {
        "name": f"{name} {activation} {'-'.join(map(str, widths))}",
        "activation": activation,
        "widths": widths,
        "loss": {"name": name, "margin": margin},
        "weights": flat[0],
        "biases": flat[1],
        "x": x.flatten().tolist(),
        "y": y.flatten().tolist(),
        "negatives": negatives,
        "value": value.item(),
        "gradients": {"weights": gradients[0], "biases": gradients[1]},
    }


def gradients():
    cases = []
    for widths in WIDTHS:
        for activation in ACTIVATIONS if len(widths) > 2 else ["relu"]:  # without hidden layers it has no part
            for name in [*PLAIN, *HINGES]:
                random = np.random.default_rng(len(cases))
                case = None
                while case is None:
                    case = draw(random, activation, widths, name)
                cases.append(case)
    return cases


def optimizers():
    """Seven parameters: among the gradients one is always 0, one tiny beside epsilon, one large."""
    makers = {
        "rmsprop": (0.01, lambda p: torch.optim.RMSprop(p, lr=0.01, alpha=0.9, eps=1e-8)),
        "adam": (0.01, lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.9, 0.999), eps=1e-8)),
        "adagrad": (0.1, lambda p: torch.optim.Adagrad(p, lr=0.1, eps=1e-10, initial_accumulator_value=0.0)),
        "sgd": (0.1, lambda p: torch.optim.SGD(p, lr=0.1)),
    }
    random = np.random.default_rng(0)
    cases = []
    for name, (lr, make) in makers.items():
        parameters = torch.tensor(normal(random, 7), requires_grad=True)
        optimizer = make([parameters])
        case = {"name": name, "learning_rate": lr, "parameters": parameters.tolist(), "steps": []}
        for _ in range(4):
            gradient = normal(random, 7) * [1, 1, 1, 1, 0, 2.0**-26, 2.0**10]
            parameters.grad = torch.tensor(gradient)
            optimizer.step()
            case["steps"].append({"gradient": gradient.tolist(), "parameters": parameters.tolist()})
        cases.append(case)
    return cases


def left_out(x, y, penalty):
    """The mean squared error of each row from a map fitted to the others, one fit for each."""
    errors = []
    for i in range(len(x)):
        others = np.arange(len(x)) != i
        errors.append((Ridge(alpha=penalty).fit(x[others], y[others]).predict(x[i : i + 1]) - y[i]) ** 2)
    return np.mean(errors)


def ridge():
    random = np.random.default_rng(1)
    x = normal(random, 12, 3) + [0.5, -1, 2]
    y = np.round((x @ normal(random, 3, 2) + normal(random, 12, 2) + [3, -1]) * 64) / 64
    maps = []
    for penalty in (0.1, 1.0, 10.0):
        fitted = Ridge(alpha=penalty).fit(x, y)
        maps.append({"lambda": penalty, "weights": fitted.coef_.flatten().tolist(), "intercept": fitted.intercept_.tolist()})
    grid = [0.01, 0.1, 1.0, 10.0, 100.0]
    errors = RidgeCV(grid, store_cv_results=True).fit(x, y).cv_results_.mean(axis=(0, 1)).tolist()
    np.testing.assert_allclose(errors, [left_out(x, y, penalty) for penalty in grid], rtol=1e-12)
    return {
        "x": x.flatten().tolist(),
        "y": y.flatten().tolist(),
        "widths": [3, 2],
        "maps": maps,
        "leave_one_out": {"lambdas": grid, "errors": errors},
    }


def main():
    torch.set_num_threads(1)
    groups = {"gradients": gradients(), "optimizers": optimizers()}
    versions = {"torch": torch.__version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__}
    compact = {"separators": (",", ":"), "allow_nan": False}
    lines = []
    for name, cases in groups.items():
        lines.append(f'"{name}":[\n' + ",\n".join(json.dumps(case, **compact) for case in cases) + "\n]")
    lines += [f'"{name}":' + json.dumps(part, **compact) for name, part in {"ridge": ridge(), "versions": versions}.items()]
    OUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{OUT}: {OUT.stat().st_size} bytes, {len(groups['gradients'])} gradients")


if __name__ == "__main__":
    main()
