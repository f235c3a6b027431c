# `make run` starts a gateway, `make test` proves it. Both make the environment first.
PYTHON  ?= python3
VENV    ?= .venv
WORKERS ?= 2
BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run test lint types check bench docs clean env env-test

run: $(VENV)/.run
	@$(BIN)/sayso dev

test: $(VENV)/.test
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n $(WORKERS) -m "not faults"
	$(BIN)/python -m pytest -m faults

lint: $(VENV)/.test
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

types: $(VENV)/.test
	$(BIN)/python -m mypy

bench: $(VENV)/.test
	$(BIN)/python bench/compare.py

docs: $(VENV)/.test
	$(BIN)/python docs/pictures.py

env: $(VENV)/.run
env-test: $(VENV)/.test

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Sayso needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/bin/python pyproject.toml sdk/pyproject.toml constraints.txt
	$(PIP) install -c constraints.txt -e sdk -e .
	@touch $@

$(VENV)/.test: $(VENV)/.run
	$(PIP) install -c constraints.txt -e sdk -e '.[test]'
	@touch $@

clean:
	rm -rf $(VENV) var .mypy_cache .ruff_cache .pytest_cache
