# make test      installs into .venv and runs all the tests
# make quick     without those marked slow: the loop while you work
# make check     formatting, lint, types
# make fix       formats and repairs what can be repaired
# make bench     runs all benchmarks and writes results/, overnight; BENCH='--data DIR --only encode', see python -m benchmarks --help
# make soak      attacks everything for an hour and a half and writes results/reliability.md; SOAK='--scale 0.1' for less
# make docs      builds the pages of docs/ into site/

PYTHON ?= python3
BIN := .venv/bin
PARALLEL := -n auto --dist loadfile # a process for each core, which keep the tests of a file together

.PHONY: install fix check test quick bench soak docs

install: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[test]'
	touch $@

fix: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test: install
	$(BIN)/pytest $(PARALLEL)

quick: install
	$(BIN)/pytest $(PARALLEL) -m 'not slow'

bench: install
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python -m benchmarks $(BENCH)

soak: install
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[soak]'
	$(BIN)/python tests/faults/soak.py $(SOAK)

docs: install
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	$(BIN)/mkdocs build --strict
