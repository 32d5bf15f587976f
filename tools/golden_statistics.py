"""Writes fixtures/golden/statistics.json: inputs, and what SciPy makes of them.

Holm and Bonferroni are written out here, since SciPy has neither. Needs tools/setup_venv.sh. Values have few digits, so that
every reader of JSON reads the same numbers; long inputs are drawn by `drawn`, which the test repeats.
"""

import json
from pathlib import Path

import numpy as np
import scipy
from scipy import stats


def drawn(n, seed, modulus):
    """Whole numbers below `modulus`: Lehmer's generator."""
    state, values = seed, []
    for _ in range(n):
        state = state * 48271 % 2147483647
        values.append(state % modulus)
    return np.array(values, dtype=float)


def samples():
    rng = np.random.default_rng(6)
    normal = lambda n, shift=0.0: (rng.normal(size=n) + shift).round(6)
    x = normal(10)
    yield "small, no ties", x, (0.5 * x + normal(10)).round(6)
    yield "two values", np.array([1.0, 2.0]), np.array([5.0, 3.0])
    yield "negative", -abs(normal(12)), -abs(normal(12, 1.0))
    yield "different sizes", normal(5), normal(9, 1.0)
    yield "ties", rng.integers(0, 5, 14).astype(float), rng.integers(1, 6, 14).astype(float)
    yield "ties, zero differences", rng.integers(0, 3, 40).astype(float), rng.integers(0, 3, 40).astype(float)
    yield "one tie", np.array([1.0, 2.5, 3.0, 4.5, 4.5]), np.array([0.5, 3.5, 2.75, 1.25, 9.0])
    yield "largest exact rank sum", normal(25), normal(25, 0.8)
    yield "first normal rank sum, exact signed rank", normal(26), normal(26, 0.8)
    yield "largest exact signed rank", normal(50), normal(50, 0.3)
    yield "first normal signed rank", normal(51), normal(51, 0.3)
    yield "all on one side", np.arange(1.0, 11.0), np.arange(21.0, 31.0) ** 2
    yield "far tail", normal(300), normal(300, 12.0)
    yield "ten runs against a number", normal(10, 0.5), np.full(10, 0.125)
    yield "wide range", (10.0 ** rng.integers(-6, 6, 30) * rng.integers(1, 9, 30)).round(6), normal(30)
    yield "equal", x, x
    yield "constant", np.full(8, 3.5), normal(8)
    yield "both constant", np.full(6, 2.0), np.full(6, 2.0)


def long_samples():
    yield "20,000, few ties", (20_000, 1, 2_000_000_011), (20_000, 7, 2_000_000_011)
    yield "20,000, many ties", (20_000, 3, 11), (20_000, 4, 12)
    yield "20,000, far tail", (20_000, 5, 1_000), (20_000, 6, 1_150)


def or_none(value):
    return float(value) if np.isfinite(value) else None


def results(x, y):
    found = {}
    pooled = np.concatenate([x, y])
    if len(set(pooled)) > 1:
        exact = len(pooled) <= 50 and len(set(pooled)) == len(pooled)
        test = stats.mannwhitneyu(x, y, use_continuity=True, method="exact" if exact else "asymptotic")
        found["rank_sum"] = {"statistic": test.statistic, "p": test.pvalue, "exact": exact}
    if len(x) != len(y):
        return found
    for name, correlation in [("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)]:
        varies = len(set(x)) > 1 and len(set(y)) > 1
        found[name] = or_none(correlation(x, y).statistic) if varies else None
    difference = x - y
    sizes = abs(difference[difference != 0])
    if len(sizes):
        exact = len(x) <= 50 and len(sizes) == len(x) and len(set(sizes)) == len(sizes)
        options = {"zero_method": "wilcox", "correction": True, "method": "exact" if exact else "asymptotic"}
        # The sum of positive ranks, where the two-sided test reports the smaller of both sums.
        statistic = stats.wilcoxon(difference, alternative="greater", **options).statistic
        found["signed_rank"] = {"statistic": statistic, "p": stats.wilcoxon(difference, **options).pvalue, "exact": exact}
    return found


def bonferroni(p):
    return [min(1.0, value * len(p)) for value in p]


def holm(p):
    adjusted, least = [0.0] * len(p), 0.0
    for before, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        least = max(least, min(1.0, p[i] * (len(p) - before)))
        adjusted[i] = least
    return adjusted


def main():
    cases = [{"name": name, "x": list(x), "y": list(y), **results(x, y)} for name, x, y in samples()]
    for name, x, y in long_samples():
        cases.append({"name": name, "x": list(x), "y": list(y), **results(drawn(*x), drawn(*y)), "drawn": True})
    families = [[0.01, 0.04, 0.03, 0.005], [0.5, 0.9, 0.5], [0.0, 1.0, 1e-12, 0.02, 0.02], [0.3]]
    adjusted = [{"p": p, "bonferroni": bonferroni(p), "holm": holm(p)} for p in families]
    target = Path(__file__).resolve().parent.parent / "fixtures" / "golden" / "statistics.json"
    lines = lambda items: ",\n".join("  " + json.dumps(item) for item in items)
    target.write_text(
        f'{{\n "scipy": "{scipy.__version__}", "numpy": "{np.__version__}",\n'
        f' "cases": [\n{lines(cases)}\n ],\n "adjusted": [\n{lines(adjusted)}\n ]\n}}\n'
    )
    print(f"{target.name}: {len(cases)} cases, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
