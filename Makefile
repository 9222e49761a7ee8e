# Everything here needs only python3, make and a compiler.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOGETHER ?= 3
# Tests start hundreds of processes: none of them should compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: test check bench soak up demo clean

# Most tests wait more than they work, so several files run at once; those that measure time
# run afterwards, alone. Both are run whatever the first says.
test: $(VENV)/ready
	$(BIN)/python tests/support/browser.py
	$(BIN)/python -m pytest -m "not alone" -n $(TOGETHER) --dist loadfile --no-loadscope-reorder; \
	    said=$$?; $(BIN)/python -m pytest -m alone && exit $$said

check: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/unit/project tests/system/project

up: $(VENV)/ready
	$(BIN)/curtsy up

demo: $(VENV)/ready
	$(BIN)/curtsy demo

bench: $(VENV)/bench-ready
	$(BIN)/python -m bench

soak: $(VENV)/ready
	$(BIN)/python -m pytest tests/slow/chaos/test_postgres.py tests/slow/chaos/test_sqlite.py --soak-seconds=$(or $(SECONDS),600)

$(VENV)/ready: requirements-dev.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements-dev.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/bench-ready: $(VENV)/ready requirements-bench.txt
	$(BIN)/pip install --quiet --require-hashes -r requirements-bench.txt
	touch $@

clean:
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
