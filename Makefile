# What one can do here. Every target sets up what it needs by itself, in .venv.
# PYTHON=/path/to/python chooses the interpreter; ARGS="..." goes on to what is started.

.DEFAULT_GOAL := help
# The parts of test-all beside "make test" and "make interop"; each can be run alone.
PARTS := test-brokers test-admin test-applications test-logins test-nodes test-clusters test-pipeline test-pages test-conformance \
    check-site test-long test-advice test-containers wheel-extras
.PHONY: help setup setup-system serve test interop test-pythons test-all $(PARTS) parts coverage vectors check generate site check-site \
        wheel bench bench-quick bench-parts pipeline-demo lock image clean

py := .venv/bin/python
ARGS ?=
export PYTHON
# The tests start hundreds of processes, each of which would compile what it imports anew.
unexport PYTHONDONTWRITEBYTECODE
parallel := --numprocesses auto --dist

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## make .venv with all that serving, testing and checking need
	@scripts/environment check

setup-system:  ## install Java, Node.js, Kerberos for the interop suites (apt-get, as root)
	@scripts/setup-system

serve:  ## start Doorkeeper; ARGS="--config server.properties --override key=value"
	@scripts/environment run
	@exec $(py) -m doorkeeper serve $(ARGS)

test:  ## run the unit, property and end-to-end tests: all that need no foreign part and no long time
	@scripts/environment test
	@TMPDIR=$$(scripts/temporary-folder) $(py) -m pytest $(parallel) worksteal \
	    -m "not interop and not slow" $(ARGS)

interop:  ## run the quick tests with a real Kafka broker, its tools, foreign clients, and Spark
	@scripts/environment interop
	@$(py) -m pytest $(parallel) loadgroup -m "interop and not slow" tests/interop tests/conformance $(ARGS)

test-pythons:  ## try the other supported Pythons that are here: imports, serve, some hundred tests
	@scripts/test-pythons $(ARGS)

test-all: test interop $(PARTS)  ## run all tests; each part (make test-nodes ...) can be run alone

test-brokers:  ## answers beside real brokers: frames, conversations, audits, configurations
test-admin:  ## Kafka's tools and foreign clients that manage ACLs, topics, users
test-applications:  ## producers, consumers and applications, the ACLs that they need
test-logins:  ## SASL, Kerberos, OAuth and TLS with real clients and a KDC
test-nodes:  ## several nodes of one store, under fire; two versions of the code
test-clusters:  ## real clusters that are kept equal to a Doorkeeper, under fire
test-pipeline:  ## Spark, object stores, topics, killed runs
test-pages:  ## the pages whose commands need foreign parts; the site and the report in a browser
test-brokers test-admin test-applications test-logins test-nodes test-clusters test-pipeline test-pages:
	@scripts/setup-system
	@scripts/environment interop
	@$(py) -m pytest tests/interop/$(@:test-%=%) $(ARGS)

test-conformance:  ## Kafka's own classes and test suites as judges; prints totals
	@scripts/setup-system
	@scripts/environment interop
	@$(py) -m pytest tests/conformance $(ARGS)

test-long:  ## the slow tests that need no foreign part
	@scripts/environment test
	@$(py) -m pytest $(parallel) worksteal -m "slow and not interop" --ignore $(advice) $(ARGS)

advice := tests/unit/pipeline/synthetic/test_advice.py
test-advice:  ## proposals for a hundred clusters whose truth is known; prints precision and recall
	@scripts/environment test
	@$(py) -m pytest -m slow $(advice) $(ARGS)

test-containers:  ## build the image, run both stacks of docker/ with podman (as root)
	@scripts/setup-system containers
	@scripts/environment interop
	@$(py) -m pytest tests/interop/containers $(ARGS)

parts:  ## print the parts of test-all that the nightly workflow runs, as JSON
	@echo '$(PARTS)' | sed 's/\([^ ]\{1,\}\)/"\1"/g; s/ /, /g; s/.*/[&]/'

vectors:  ## ask Kafka's and other encoders for the bytes of every message, in tests/vectors
	@scripts/setup-system
	@scripts/environment interop
	@$(py) tests/vectors/generate.py

coverage:  ## run "make test" and record which test reaches which line, in .cache/coverage
	@scripts/environment check
	@mkdir -p .cache/coverage
	@COVERAGE_FILE=.cache/coverage/data TMPDIR=$$(scripts/temporary-folder) $(py) -m pytest \
	    $(parallel) worksteal -m "not interop and not slow" \
	    --cov --cov-context=test --cov-report= --junitxml=.cache/coverage/junit.xml $(ARGS)
	@$(py) benchmarks/mutants.py times .cache/coverage/junit.xml
	@COVERAGE_FILE=.cache/coverage/data $(py) -m coverage report --skip-covered

check:  ## lint, formatting, types, import directions, docker/, generated code and pages current
	@scripts/environment check
	@scripts/check

generate:  ## write the generated code and pages anew
	@scripts/environment test
	@$(py) -m doorkeeper_schemas
	@PYTHONPATH=tools:tests $(py) -m pages

site:  ## build the documentation site into build/site
	@scripts/environment docs
	@scripts/site

check-site: site  ## check the site: links, spelling, and in a browser
	@scripts/check-site

wheel:  ## build wheel, source distribution and SBOM twice, compare, and try the wheel elsewhere
	@scripts/environment check
	@scripts/distributions
	@scripts/try-wheel

wheel-extras:  ## install the wheel with each extra alone, and try what it is for
	@scripts/environment check
	@scripts/try-extras $(ARGS)

bench:  ## measure against a Kafka broker; writes benchmarks/RESULTS.md (under 20 minutes)
	@scripts/environment spark
	@scripts/bench $(ARGS)

bench-quick:  ## the same with few ACLs and short rounds; prints only (a minute)
	@scripts/environment spark
	@scripts/bench --quick --output .cache/bench-quick.md $(ARGS)

bench-parts:  ## run the benchmarks of single parts; ARGS=--quick takes small numbers
	@scripts/environment spark
	@scripts/bench --parts $(ARGS)

pipeline-demo:  ## traffic at a running Doorkeeper, its audit log, the tables, the report
	@scripts/environment test
	@$(py) scripts/pipeline_demo.py $(ARGS)

lock:  ## pin requirements/*.txt anew; ARGS=--upgrade takes newer versions
	@scripts/environment run
	@scripts/lock $(ARGS)

image:  ## build the container image; ARGS="--build-arg BASE=..."
	@docker build --file docker/Dockerfile --tag doorkeeper \
	    --build-arg COMMIT=$$(git rev-parse --short HEAD) $(ARGS) .

clean:  ## remove .venv, caches, builds (never ./data)
	rm -rf .venv .venv-3.1? .venv-clients .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	    .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
