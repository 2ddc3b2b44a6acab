# What one can do here. Every target sets up what it needs by itself, in .venv.
# PYTHON=/path/to/python chooses the interpreter; ARGS="..." goes on to what is started.

.DEFAULT_GOAL := help
.PHONY: help setup setup-system serve test test-pythons test-all test-containers interop-quick conformance check docs generate wheel wheel-extras \
        bench bench-quick bench-parts pipeline-demo lock image clean

py := .venv/bin/python
ARGS ?=
export PYTHON

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## make .venv with all that serving, testing and checking need
	@scripts/environment check

setup-system:  ## install Java, Node.js, Kerberos for the interop suites (apt-get, as root)
	@scripts/setup-system

serve:  ## start Doorkeeper; ARGS="--config server.properties --override key=value"
	@scripts/environment run
	@exec $(py) -m doorkeeper serve $(ARGS)

test:  ## run all tests but those that need real Kafka, foreign clients or a long time
	@scripts/environment test
	@$(py) -m pytest --numprocesses auto --dist loadfile -m "not interop and not slow" $(ARGS)

test-pythons:  ## run the unit and end-to-end tests with Python 3.12 and 3.13, if they are here
	@scripts/environment test
	@scripts/test-pythons $(ARGS)

test-all:  ## run all tests: the slow ones, those with real Kafka and with containers too
	@scripts/setup-system containers
	@scripts/environment containers
	@$(py) -m pytest $(ARGS)

test-containers:  ## build the image, run both stacks of docker/ with podman (as root)
	@scripts/setup-system containers
	@scripts/environment containers
	@$(py) -m pytest tests/interop/containers $(ARGS)

interop-quick:  ## run the quick tests with Kafka's own tools and foreign clients
	@scripts/environment interop
	@$(py) -m pytest -m "interop and not slow" $(ARGS)

conformance:  ## compare with Kafka's code, its broker and its tools; print totals
	@scripts/environment interop
	@$(py) -m pytest -m "not slow" tests/conformance tests/interop/test_same_*.py $(ARGS)

check:  ## lint, formatting, types, import directions, docker/, generated code current
	@scripts/environment check
	@scripts/check

generate:  ## write the generated code anew from schemas/
	@scripts/environment test
	@$(py) -m doorkeeper_schemas

docs:  ## build the documentation site into build/site; check its links, words and commands
	@scripts/environment docs
	@scripts/docs

wheel:  ## build wheel, source distribution and SBOM twice, compare, and try the wheel elsewhere
	@scripts/environment release
	@scripts/distributions
	@scripts/try-wheel

wheel-extras:  ## install the wheel with each extra alone, and try what it is for
	@scripts/environment release
	@scripts/try-extras $(ARGS)

bench:  ## measure against a Kafka broker; writes benchmarks/RESULTS.md (under 20 minutes)
	@scripts/environment bench
	@scripts/bench $(ARGS)

bench-quick:  ## the same with few ACLs and short rounds; prints only (a minute)
	@scripts/environment bench
	@scripts/bench --quick --output .cache/bench-quick.md $(ARGS)

bench-parts:  ## run the benchmarks of single parts; ARGS=--quick takes small numbers
	@scripts/environment bench
	@scripts/bench --parts $(ARGS)

pipeline-demo:  ## traffic at a running Doorkeeper, its audit log, the tables, the report
	@scripts/environment test
	@$(py) scripts/pipeline_demo.py $(ARGS)

lock:  ## pin requirements/*.txt anew; ARGS=--upgrade takes newer versions
	@scripts/environment lock
	@scripts/lock $(ARGS)

image:  ## build the container image; ARGS="--build-arg BASE=..."
	@docker build --file docker/Dockerfile --tag doorkeeper \
	    --build-arg COMMIT=$$(git rev-parse --short HEAD) $(ARGS) .

clean:  ## remove .venv, caches, builds (never ./data)
	rm -rf .venv .venv-3.1? .venv-clients .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	    .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
