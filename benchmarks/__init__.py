"""Benchmarks: each script measures this package and its peers in one run and prints a Markdown table of ratios.

`python -m benchmarks` runs them all and writes `results/`; `python -m benchmarks.prepare` runs one.
"""
