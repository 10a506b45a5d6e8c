.DEFAULT_GOAL := help
BIN := .venv/bin
RESULTS := .neve/bench
#: COVERAGE=on measures what the tests without a JVM cover, which takes three minutes more.
MEASURED := $(if $(COVERAGE),-m coverage run)
# Tests that every worker compiles anew take ten seconds more in each.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test coverage test-unit test-edges test-slow test-spark test-cases test-all test-attack test-system test-world test-world-quick stack-up stack-status stack-down lint format schemas reference docs postman lock lock-images lock-superset bench bench-service fuzz soak conformance clean

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: .venv/.ready ## Make .venv from the lock; find or install a Java.

.venv/.ready: requirements.lock requirements-java.lock pyproject.toml tools/setup.sh
	@tools/setup.sh

demo: setup ## Make an ill table, cure it, check that no row changed.
	@$(BIN)/neve demo

test: setup ## What to run first: parts, edges, and the core on Spark. Some minutes.
	@rm -f .coverage .coverage.*
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-explore} $(BIN)/python $(MEASURED) -m pytest -n 2 tests/unit tests/edges
	$(if $(COVERAGE),@$(MAKE) --no-print-directory coverage)
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/spark --ignore tests/spark/cases

test-all: test test-slow test-cases test-attack test-system ## All of them, but for the world's.

coverage:
	@$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report --fail-under=90
	$(BIN)/python -m coverage report --fail-under=95 --include='src/neve/model/*,src/neve/planning/*'

test-unit: setup ## Tests of single parts, without a JVM: half a minute.
	$(BIN)/python -m tests.halves tests/unit

test-edges: setup ## Commands, REST, functions and access through all parts below, without a JVM.
	$(BIN)/python -m pytest -n 2 tests/edges

test-slow: setup ## Tests that start and kill servers and processes, without a JVM.
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-explore} $(BIN)/python -m pytest -n 2 --dist loadfile tests/slow

test-spark: setup ## The core on local Spark sessions, one for each of two processes.
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/spark --ignore tests/spark/cases

test-cases: setup ## Case by case on Spark: matrices, oracles, random histories, races, pages, programs.
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/spark/cases

test-attack: setup ## Kills, writers and a second Neve at points of every operation, by ATTACK_SEED.
	$(BIN)/python -m pytest -n 2 --dist loadgroup tests/attack

test-system: setup ## Tests against real servers; they are started and stopped around it.
	$(BIN)/python tools/stack/stack.py up
	$(BIN)/python -m pytest tests/system; \
	  code=$$?; $(BIN)/python tools/stack/stack.py down; exit $$code

test-world: setup ## Airflow, Superset, a Spark cluster, Nessie, Glue, wheels, Helm: real ones, by themselves.
	$(BIN)/python tools/stack/checkers.py airflow superset promtool actionlint compose-schema \
	  kubernetes-schemas kubeconform helm
	$(BIN)/python tools/stack/stack.py up
	$(BIN)/python -m pytest tests/world; \
	  code=$$?; $(BIN)/python tools/stack/stack.py down; exit $$code

test-world-quick: setup ## Of these, what is fetched within a minute: wheels, a Spark cluster, workflows, compose.
	$(BIN)/python -m pytest tests/world/test_wheel.py tests/world/test_deployment.py \
	  tests/world/test_spark_cluster.py

stack-up: setup ## Start servers on loopback: S3, REST catalog, Trino, or PARTS="redis nessie …".
	$(BIN)/python tools/stack/stack.py up $(PARTS)

stack-status: setup ## Tell which of them run, and where.
	$(BIN)/python tools/stack/stack.py status $(PARTS)

stack-down: setup ## Stop them and drop their data, or stop PARTS and keep it.
	$(BIN)/python tools/stack/stack.py down $(PARTS)

lint: setup ## Style, types, layers.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## Put every file into the house style.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

schemas: setup ## Make the JSON Schemas of docs/json from the model.
	$(BIN)/python -m neve.cli.json_schemas docs/json

reference: setup ## Make docs/reference from the program: commands, keys, metrics, JSON, errors.
	$(BIN)/python tools/reference/write.py docs/reference

docs: setup ## Build the documentation site into .neve/site; a broken link fails it.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

postman: setup ## Make the Postman collection from the API's own document.
	$(BIN)/python tools/postman.py docs/postman

lock: ## Resolve the dependencies anew into the lock files.
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-emit-index-url --no-header --quiet -o requirements.lock
	uv pip compile --group java --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-emit-index-url --no-header --quiet -o requirements-java.lock
	uv pip compile --group integrations/airflow/pyproject.toml:environment --universal \
	  --python-version 3.11 --upgrade --generate-hashes --no-emit-index-url --no-header --quiet \
	  -o integrations/airflow/requirements.lock
	@$(MAKE) --no-print-directory lock-images

lock-images: ## Take the locks of the images out of the lock.
	uv pip compile pyproject.toml --all-extras -c requirements.lock --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate --quiet -o deploy/image/requirements.lock
	uv pip compile pyproject.toml deploy/lambda/requirements.in --extra client --extra redis --extra s3 \
	  -c requirements.lock --no-emit-package pyspark --no-emit-package py4j --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate --quiet -o deploy/lambda/requirements.lock

lock-superset: ## Resolve the environment that Superset is tested in.
	uv pip compile deploy/superset/requirements.in --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate --quiet -o deploy/superset/requirements.lock

bench: setup ## All benchmarks, once; tables here, JSON in .neve/bench. Takes about 40 minutes.
	$(BIN)/python benchmarks/planning.py --json-file $(RESULTS)/planning.json
	$(BIN)/python benchmarks/cold_start.py --json-file $(RESULTS)/cold_start.json
	$(BIN)/python benchmarks/many_tables.py --json-file $(RESULTS)/many_tables.json
	$(BIN)/python benchmarks/job_queue.py --json-file $(RESULTS)/job_queue.json
	$(BIN)/python benchmarks/parquet_footer.py --json-file $(RESULTS)/parquet_footer.json
	$(BIN)/python benchmarks/compaction.py copy-1gb copy-4gb one-shot many-files wide \
	  --json-file $(RESULTS)/compaction.json
	$(BIN)/python benchmarks/row_groups.py --json-file $(RESULTS)/row_groups.json
	$(BIN)/python benchmarks/native.py --scale $(or $(SCALE),0.2) --verify-cost --json-file $(RESULTS)/native.json
	$(BIN)/python benchmarks/native_tasks.py --json-file $(RESULTS)/native_tasks.json
	$(BIN)/python benchmarks/maintenance.py --json-file $(RESULTS)/maintenance.json
	$(BIN)/python benchmarks/orphans.py --json-file $(RESULTS)/orphans.json
	$(BIN)/python benchmarks/foreign_references.py --json-file $(RESULTS)/foreign_references.json
	$(BIN)/python benchmarks/busy_writer.py --json-file $(RESULTS)/busy_writer.json
	$(BIN)/python benchmarks/scale_out.py --json-file $(RESULTS)/scale_out.json
	$(BIN)/python tools/stack/stack.py up
	$(BIN)/python benchmarks/remote_copy.py --json-file $(RESULTS)/remote_copy.json; \
	  code=$$?; $(BIN)/python tools/stack/stack.py down; exit $$code

fuzz: setup ## Random histories of tables, cured beside Iceberg's own action: SECONDS=300, SEED=….
	$(BIN)/python -m tests.fuzz.run --seconds $(or $(SECONDS),300) $(if $(SEED),--seed $(SEED))

soak: setup ## A writer in every file, once a second, beside Neve and beside Iceberg's procedure.
	$(BIN)/python benchmarks/soak.py --seconds $(or $(SECONDS),90) --json-file $(RESULTS)/soak.json

conformance: setup ## Write docs/conformance.md from the marks of the tests.
	$(BIN)/python tools/conformance.py docs/conformance.md

bench-service: setup ## Benchmarks of queue, worker, scheduler, API and writes.
	$(BIN)/python benchmarks/job_queue.py --json-file $(RESULTS)/job_queue.json
	$(BIN)/python benchmarks/service.py --json-file $(RESULTS)/service.json
	$(BIN)/python benchmarks/service_reads.py --json-file $(RESULTS)/service_reads.json
	$(BIN)/python benchmarks/warm_server.py --json-file $(RESULTS)/warm_server.json
	$(BIN)/python benchmarks/group_commit.py --json-file $(RESULTS)/group_commit.json

clean: ## Remove what the targets above made here (not the cache of jars).
	rm -rf .venv .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis
