# Everything a user or a contributor needs; `make help` lists it. Needs only Python 3.11+ (venv, pip) and make;
# the tests also Java 17, for Spark.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Dependency groups need a pip of 2025; a new environment may have an older one.
GROUP   = $(INSTALL) 'pip>=25.1' && $(INSTALL) -e

.PHONY: help demo test lint types compiled pytest proofs nightly oldest lock sbom changelog package bench docs paper paper-quick clean

help:           ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# A stamp file is newer than pyproject.toml once everything is installed, so a second run installs nothing.
$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(INSTALL) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(GROUP) '.[dask,postgres,spark,sql]' --group dev
	@touch $@ $(VENV)/.base

demo: $(VENV)/.base  ## install into .venv, then release, fit and report on a bundled survey
	$(BIN)/graphveil demo

test: $(VENV)/.dev   ## every check; STRICT=1 makes a skipped test a failure
	$(MAKE) -j 2 lint types compiled
	$(MAKE) pytest

lint: $(VENV)/.dev   ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev  ## strict types of src/
	$(BIN)/mypy

# Fills numba's cache, beside mypy; without it both processes of the tests would compile the same at the same time.
compiled: $(VENV)/.dev
	$(BIN)/python -m pytest -q --collect-only src > /dev/null

pytest: $(VENV)/.dev ## tests, doctests, README, layers, exports, proofs
	GRAPHVEIL_STRICT=$(STRICT) $(BIN)/python -m pytest -q -n 2

proofs:         ## let Coq check the proofs in formal/, which needs the packages in formal/packages.txt
	$(PYTHON) formal/check.py

nightly: $(VENV)/.dev ## what takes minutes: kills, load tests, long audits, fuzzing
	GRAPHVEIL_STRICT=1 $(BIN)/python -m pytest -q -n 2 --dist loadgroup -m nightly tests

oldest:         ## the tests, with the oldest versions that pyproject.toml allows
	$(PYTHON) -m venv $(VENV)-oldest
	$(PYTHON) tools/minimum_versions.py > $(VENV)-oldest/requirements.txt
	$(VENV)-oldest/bin/python -m pip install --quiet --disable-pip-version-check -r $(VENV)-oldest/requirements.txt
	$(VENV)-oldest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	$(VENV)-oldest/bin/python -m pytest -q -n 2 -W ignore::DeprecationWarning -W ignore::pytest.PytestUnraisableExceptionWarning

$(VENV)/.supply: pyproject.toml | $(BIN)/python
	$(INSTALL) 'pip>=25.1' && $(BIN)/python -m pip install --quiet --disable-pip-version-check --group supply
	@touch $@

lock: $(VENV)/.supply  ## write requirements.lock: versions and hashes of the development environment
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
	  --all-extras --group dev pyproject.toml -o requirements.lock

sbom: $(VENV)/.supply  ## a bill of materials (CycloneDX) of what graphveil needs at run time, from an empty environment
	$(PYTHON) -m venv --clear build/runtime
	build/runtime/bin/python -m pip install --quiet --disable-pip-version-check .
	build/runtime/bin/python -m pip uninstall --quiet --yes pip
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --mc-type library -o build/graphveil.cdx.json build/runtime/bin/python

changelog: $(VENV)/.dev  ## what the next release will say; VERSION=1.2.3 writes it into CHANGELOG.md
	$(BIN)/towncrier build $(if $(VERSION),--yes --version $(VERSION),--draft --version next)

package: $(VENV)/.package  ## build wheel and sdist, check their contents, try each extra in an empty environment
	$(BIN)/python tools/try_package.py dist

$(VENV)/.package: pyproject.toml | $(BIN)/python
	$(GROUP) . --group package
	@touch $@

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(GROUP) '.[dask,postgres,spark,sql]' --group bench
	@touch $@

bench: $(VENV)/.bench  ## ratios against peers and physical yardsticks, accuracy, figures
	-$(BIN)/python benchmarks/gate.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/solvers.py --largest 1000
	$(BIN)/python benchmarks/utility.py
	$(BIN)/python benchmarks/intervals.py
	$(BIN)/python benchmarks/regression_intervals.py
	$(BIN)/python benchmarks/rare_events.py
	$(BIN)/python benchmarks/regression.py
	$(BIN)/python benchmarks/comparison.py
	$(BIN)/python benchmarks/categories.py
	PYTHONPATH=tests $(BIN)/python benchmarks/nested.py
	$(BIN)/python benchmarks/rivals.py
	$(BIN)/python benchmarks/classify.py
	$(BIN)/python benchmarks/ledger.py
	$(BIN)/python benchmarks/sql.py
	$(BIN)/python benchmarks/figures.py
	$(BIN)/python benchmarks/attacker.py
	$(BIN)/python benchmarks/timing.py

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(GROUP) . --group docs
	@touch $@

docs: $(VENV)/.docs  ## the site, into build/site; a broken link or docstring is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

$(VENV)/.paper: pyproject.toml | $(BIN)/python
	$(GROUP) . --group paper
	@touch $@

paper: $(VENV)/.paper  ## every table, figure and theorem of the paper with 50 replications; resumes where it stopped
	$(BIN)/python -m paper all

paper-quick: $(VENV)/.paper  ## the same with two replications, into paper/results/quick
	$(BIN)/python -m paper all --quick

clean:          ## remove the virtual environment and caches
	rm -rf $(VENV) $(VENV)-oldest .pytest_cache .mypy_cache .ruff_cache .hypothesis
