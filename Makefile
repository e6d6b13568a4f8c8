# make run: set-up and app.  make test: set-up and all tests.  The rest is for developers.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501

.PHONY: run test check bench soak chaos shots lock clean

run: $(VENV)/.run-ready
	$(BIN)/streamlit run app.py --server.address 127.0.0.1 --server.port $(PORT)

test: $(VENV)/.dev-ready
	$(BIN)/python -m tests.needs
	$(BIN)/python -m pytest -n 2

check: $(VENV)/.dev-ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev-ready
	$(BIN)/python -m tests.benchmarks

soak: $(VENV)/.dev-ready
	$(BIN)/python -m tests.needs
	$(BIN)/python -m pytest -m soak -s

chaos: $(VENV)/.dev-ready
	$(BIN)/python -m tests.needs
	$(BIN)/python -m pytest -m chaos -s tests/remote/test_chaos_run.py

shots: $(VENV)/.dev-ready
	$(BIN)/python -m tests.needs
	$(BIN)/python -m tests.browser.shots

$(VENV)/.made:
	$(PYTHON) -c "import sys; sys.exit('Python 3.11 or newer is needed, this is %d.%d. Set PYTHON=…' % sys.version_info[:2] if sys.version_info < (3, 11) else 0)"
	$(PYTHON) -m venv $(VENV) || { echo "The venv module is missing: apt-get install python3-venv"; exit 1; }
	touch $@

# Only files whose hash stands in the lock are installed; `make lock` writes it anew after a change of requirements*.txt.
$(VENV)/.run-ready: requirements.lock | $(VENV)/.made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	touch $@

$(VENV)/.dev-ready: requirements.lock requirements-dev.lock | $(VENV)/.made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	touch $(VENV)/.run-ready $@

lock: $(VENV)/.made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile -q --universal --generate-hashes --python-version 3.11 --no-annotate --no-header requirements-dev.txt -o requirements-dev.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --python-version 3.11 --no-annotate --no-header -c requirements-dev.lock requirements.txt -o requirements.lock

clean:
	rm -rf $(VENV) build
