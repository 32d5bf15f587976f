#!/bin/sh
# Makes .venv with what the scripts in tools/ need. The program and its tests need none of it.
set -eu
cd "$(dirname "$0")/.."
python3 -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check numpy==2.3.5 scipy==1.17.1 gensim==4.4.0 \
    safetensors==0.8.0 ml_dtypes==0.6.0
.venv/bin/python -c 'import numpy, scipy, gensim, safetensors, ml_dtypes as m
print(".venv:", ", ".join(f"{p.__name__} {p.__version__}" for p in (numpy, scipy, gensim, safetensors, m)))'
