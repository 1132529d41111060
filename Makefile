# Every target sets up what it needs: a virtual environment with pinned dependencies in .venv/.
SUITE ?= instruction-drift
ARGS ?=
PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
TRIALBOOK := $(BIN)/trialbook

.DEFAULT_GOAL := help
.PHONY: help test-exhaustive eval gate judge resume check-suite lock-suite status site serve test clients real-agents test-clients test-all benchmark reference-ledger lint fmt types architecture docs ci clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

.venv/run: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) pip
	$(PIP) --editable .
	@touch $@

.venv/dev: .venv/run
	$(PIP) --group dev
	@touch $@

.venv/browser: .venv/dev
	$(PIP) --group browser
	@touch $@

.venv/crosscheck: .venv/dev
	$(PIP) --group crosscheck
	@touch $@

eval: .venv/run ## run a suite and commit every trial: make eval SUITE=instruction-drift
	$(TRIALBOOK) eval $(SUITE) $(ARGS)

gate: .venv/run ## fail for a regression, not for noise: make gate SUITE=x BASE=main HEAD=.
	$(TRIALBOOK) gate $(SUITE) $(if $(BASE),--revisions $(BASE)..$(or $(HEAD),.)) $(ARGS)

judge: .venv/run ## let a judge read the diffs of a run: make judge RUN=... JUDGE=strict
	$(TRIALBOOK) judge $(RUN) --judge $(JUDGE) $(ARGS)

resume: .venv/run ## continue an interrupted run: make resume RUN=...
	$(TRIALBOOK) resume $(RUN) $(ARGS)

check-suite: .venv/run ## report every mistake in a suite's files: make check-suite SUITE=...
	$(TRIALBOOK) suite check $(SUITE)

lock-suite: .venv/run ## freeze a suite under its protocol number
	$(TRIALBOOK) suite lock $(SUITE) $(ARGS)

status: .venv/run ## list the runs of this ledger
	$(TRIALBOOK) status

site: .venv/run ## build the static site into site/_build
	$(TRIALBOOK) site build

serve: .venv/run ## serve the static site on this machine: make serve PORT=8000
	$(TRIALBOOK) site serve --port $(PORT)

test: .venv/dev ## the fast tests
	$(BIN)/python -m pytest -m "not slow and not index and not agents" -n 2 $(ARGS)

clients: .venv/dev ## install the agents' clients that the tests run, outside the repository
	$(BIN)/python -m tests.agents.install

real-agents: clients ## run the suite real-agents offline: real clients, a scripted model
	$(BIN)/python suites/real-agents/start.py \
	  $$($(BIN)/python -m tests.agents.install --where | sed 's/^/--clients /') $(ARGS)

test-clients: .venv/dev ## install more clients, outside the repository, and run the tests of all of them
	$(BIN)/python -m tests.agents.install --more
	$(BIN)/python -m pytest -m agents $(ARGS)

test-all: .venv/dev clients ## all tests but the exhaustive sweeps
	$(BIN)/python -m pytest -m "not exhaustive" -n 2 $(ARGS)

test-exhaustive: .venv/dev ## kill and fill the disk at every call of a run: many minutes
	$(BIN)/python -m pytest -m exhaustive -n 2 $(ARGS)

browser: .venv/browser ## look at the site in a real browser: needs Debian's chromium
	$(BIN)/python -m pytest -m browser $(ARGS)

screenshots: .venv/browser ## take pictures of every kind of page into site/_screenshots
	$(BIN)/python -m tests.browser.screenshots $(ARGS)

benchmark: .venv/dev ## measure against plain git and write the figures into the docs (takes an hour)
	$(BIN)/python -m benchmarks.ledger --write $(ARGS)
	$(BIN)/python -m benchmarks.overhead --write $(ARGS)
	$(BIN)/python -m benchmarks.comparing --write
	$(BIN)/python -m benchmarks.simulations --write
	$(BIN)/python -m benchmarks.sandboxes --write
	$(BIN)/python -m benchmarks.startup --write
	$(BIN)/python -m benchmarks.site --peers --write

reference-ledger: .venv/dev clients ## make the shipped runs anew, in a clone: make reference-ledger TO=FOLDER
	$(BIN)/python -m reference $(TO) $(ARGS)

lint: .venv/dev ## style, by ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

fmt: .venv/dev ## put everything into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: .venv/dev ## types, by mypy
	$(BIN)/mypy

architecture: .venv/dev ## import directions, doors and sizes
	$(BIN)/python -m pytest -q tests/test_architecture.py

docs: .venv/dev ## write the generated reference pages anew
	$(BIN)/python -m trialbook.cli.reference site/pages/reference

ci: .venv/crosscheck .venv/browser lint types architecture test-all ## what the build server runs

clean: ## remove what was generated; the ledger stays
	rm -rf .venv site/_build site/_screenshots .mypy_cache .pytest_cache .ruff_cache .hypothesis
