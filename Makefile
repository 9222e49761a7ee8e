# Everything here needs only python3, make and a compiler.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Most tests wait more than they work, so more of them run at once than there are processors.
TOGETHER ?= 5
CROWDS ?= 3
PYTEST := $(BIN)/python -m pytest
AT_ONCE := -n $(TOGETHER) --dist loadfile --no-loadscope-reorder
# Tests start hundreds of processes: none of them should compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install test-fast test check schema client-types bench bench-articles soak up demo clean

# At every change: what is pure, and the engine on SQLite.
test-fast: $(VENV)/ready
	$(PYTEST) tests/unit tests/engine --engines sqlite $(AT_ONCE)

# Before a change lands: everything, on both engines, in three steps: what may run beside other
# tests, what starts many processes of its own, and what measures time. All are run whatever the
# first says, and one that is red makes it red.
test: $(VENV)/ready
	$(BIN)/python tests/support/programs.py
	red=0; \
	$(PYTEST) -m "not alone and not crowd" $(AT_ONCE) || red=1; \
	$(PYTEST) tests/slow -m crowd -n $(CROWDS) --dist worksteal || red=1; \
	$(PYTEST) tests/system/api -m alone || red=1; \
	$(BIN)/python tests/support/programs.py --only-say; exit $$red

check: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST) tests/unit/project

# After a new migration: the script that creates the tables of an empty SQLite file.
schema: $(VENV)/ready
	$(BIN)/python -m curtsy.store.fresh_schema

# After a change of a request or response of the API: the types of the Python client.
client-types: $(VENV)/ready
	$(BIN)/python scripts/client_types.py

# What runs curtsy, without the tools of its developers.
install: $(VENV)/runtime-ready

up: $(VENV)/runtime-ready
	$(BIN)/curtsy up

demo: $(VENV)/runtime-ready
	$(BIN)/curtsy demo

bench: $(VENV)/bench-ready
	$(BIN)/python -m bench

# PAGES is a folder of saved pages and their true text: see bench/article_score.py.
bench-articles: $(VENV)/bench-ready
	$(BIN)/python -m bench.article_score $(PAGES)

soak: $(VENV)/ready
	$(BIN)/python -m pytest tests/slow/chaos/test_postgres.py tests/slow/chaos/test_sqlite.py --soak-seconds=$(or $(SECONDS),600)

# What curtsy itself needs, and nothing else: no build tools either, so the source is put on the
# path and the program is a script of two lines. What `make test` installed has all of it already.
$(VENV)/runtime-ready: requirements.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements.txt
	test -e $(VENV)/ready || echo "$(CURDIR)/src" > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/curtsy-source.pth"
	test -e $(VENV)/ready || { printf '#!/bin/sh\nexec "%s/$(BIN)/python" -m curtsy "$$@"\n' "$(CURDIR)" > $(BIN)/curtsy && chmod +x $(BIN)/curtsy; }
	touch $@

$(VENV)/ready: requirements-dev.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	rm -f "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/curtsy-source.pth"
	$(BIN)/pip install --quiet --require-hashes -r requirements-dev.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/bench-ready: $(VENV)/ready requirements-bench.txt
	$(BIN)/pip install --quiet --require-hashes -r requirements-bench.txt
	touch $@

clean:
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
