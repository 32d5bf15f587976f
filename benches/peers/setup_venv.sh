#!/bin/sh
# Makes .venv in this folder with the peers that run.py and million.py time mnno against.
#
# torch's build for Linux with CUDA takes 6 GB; its CPU build, which is enough, is an option of pip's (PIP_EXTRA_INDEX_URL).
set -eu
cd "$(dirname "$0")"
python3 -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check numpy==2.4.6 faiss-cpu==1.15.1 torch==2.15.0 \
    scikit-learn==1.9.1 threadpoolctl==3.8.0
.venv/bin/python -c 'import numpy, faiss, torch, sklearn, threadpoolctl as t
print("benches/peers/.venv:", ", ".join(f"{p.__name__} {p.__version__}" for p in (numpy, faiss, torch, sklearn, t)))'
