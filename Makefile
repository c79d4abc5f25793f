# Bare `make` prints what there is to do. Every target but `help` and `lock` sets up what it needs.

PYTHON ?= python3
SEEDS  ?= 2000
JOBS   ?= 4
ARGS   ?=

BIN   := .venv/bin
STAMP := .venv/.stamp
TESTS := .venv/.stamp-tests
pins   = $(patsubst %,requirements/%.txt,$(1))
PINS  := $(call pins,build package mail inbound web demo)
MORE  := $(call pins,test claude browser aws)

# uv where there is one, else pip; also pip where uv can't, for an index may be set up for pip only. Both check hashes.
UV      := $(shell command -v uv 2>/dev/null)
PIP     := $(BIN)/python -m pip install --quiet --disable-pip-version-check
install  = $(if $(UV),uv pip install --quiet --python $(BIN)/python $(1) || { echo "uv could not; trying pip"; $(PIP) $(1); },$(PIP) $(1))

# Tests and `up` start processes by the hundred, and each would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run demo test tools check sim drill bench fmt lock

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## create or update .venv; instant when nothing changed

$(STAMP): $(PINS) pyproject.toml
	@echo "setting up .venv"
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv .venv
	@$(call install,--require-hashes $(PINS:%=-r %))
	@$(call install,--no-deps --no-build-isolation --editable .)
	@touch $@

# What only tests need: large, so that a first `make run` does not wait for it.
$(TESTS): $(STAMP) $(MORE)
	@echo "setting up what the tests need"
	@$(call install,--require-hashes $(MORE:%=-r %))
	@touch $@

run: setup ## bring up the whole system with two sample sites, and stay up
	@$(BIN)/webordinary up $(ARGS)

demo: setup ## play the three scenarios with real processes
	@$(BIN)/webordinary demo

test: check tools ## run everything: the checks, then all tests
	$(BIN)/python -m pytest -n $(JOBS) --maxprocesses 8 --dist worksteal

tools: ## install Bubblewrap and Chromium where that is possible; else say what will be skipped
	@sh tests/tools.sh

check: $(TESTS) ## lint, formatting, types, import direction
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

sim: setup ## simulate SEEDS=2000 random schedules, then every planted fault
	$(BIN)/webordinary simulate --seeds $(SEEDS)
	$(BIN)/webordinary simulate --mutants

drill: $(TESTS) ## the drills of `make test` in their long form: kills, pauses, power cuts, races
	WEBORDINARY_KILLS=2000 WEBORDINARY_STOPS=15 WEBORDINARY_POWER_CUTS=30000 WEBORDINARY_TEST_KILL_MAILS=400 \
	WEBORDINARY_RACES=400 WEBORDINARY_BAD_LINE_JOBS=25 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal \
		tests/reliability tests/aws/test_claim_races.py tests/aws/test_bad_line.py

bench: $(TESTS) ## measure beside peers on this machine
	@$(call install,--require-hashes -r requirements/bench.txt)
	$(BIN)/python -m bench

fmt: $(TESTS) ## format the code and repair what can be repaired
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

lock: ## pin the newest allowed versions in requirements/*.txt (needs uv)
	@for name in package mail web demo test inbound claude browser aws build bench emulators; do \
		uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
			--custom-compile-command 'make lock' --output-file requirements/$$name.txt requirements/$$name.in || exit 1; \
	done
