# Every target is one line that calls the command line; without make: python -m harness lesson 3
.DEFAULT_GOAL := help
PYTHON ?= python3
# Windows lays the interpreter elsewhere.
BIN := $(if $(filter Windows_NT,$(OS)),.venv/Scripts,.venv/bin)
RUN := $(BIN)/python -m harness
# MODEL=local: the lesson is run against a small real model, on this machine.
LOCAL := $(if $(filter local,$(MODEL)),.venv/ready-local)
WITH := $(if $(LOCAL),model run )

# The environment: made once, quietly, with uv where it is there, else with venv and pip.
.venv/ready: pyproject.toml
	@$(PYTHON) install.py
.venv/ready-dev: .venv/ready
	@$(PYTHON) install.py dev

.venv/ready-local: .venv/ready
	@$(PYTHON) install.py local

.PHONY: help chat list matrix progress bundle survey doctor cassettes pages picture test clean
help:            ## this help
	@$(PYTHON) install.py help $(MAKEFILE_LIST)
lesson-%: .venv/ready $(LOCAL)   ## play lesson N: make lesson-1, ... (ARGS=--step, TAPE=real, MODEL=local)
	@$(RUN) $(WITH)lesson $* $(if $(filter real,$(TAPE)),--real )$(ARGS)
diff-%: .venv/ready     ## the lines by which lesson N differs from the one before
	@$(RUN) diff $* $(ARGS)
compare-%: .venv/ready  ## lesson N and the one before on N's scenario, side by side, then the patch
	@$(RUN) compare $* $(ARGS)
start-%: .venv/ready    ## write lesson N yourself: the task, in workbench/ (ARGS=--from-mine)
	@$(RUN) start $* $(ARGS)
check-%: .venv/ready    ## check your lesson N: what holds, and what does not yet
	@$(RUN) check $* $(ARGS)
watch-%: .venv/ready    ## check it again whenever you save
	@$(RUN) watch $* $(ARGS)
try-%: .venv/ready      ## run your lesson N on the lesson's scenario
	@$(RUN) try $* $(ARGS)
hint-%: .venv/ready     ## the next of three hints (ARGS=--all: those so far)
	@$(RUN) hint $* $(ARGS)
solve-%: .venv/ready    ## your lesson N beside ours
	@$(RUN) solve $* $(ARGS)
reset-%: .venv/ready    ## start lesson N again; yours is kept as a backup
	@$(RUN) reset $* $(ARGS)
progress: .venv/ready   ## where you are
	@$(RUN) progress
record-%: .venv/ready   ## record lesson N from your own model, into recordings/
	@$(RUN) record $* $(ARGS)
carry-%: .venv/ready    ## merge an uncommitted fix of lesson N into every later lesson
	@$(RUN) carry $*
chat: .venv/ready       ## talk to a model about your own project (ARGS="--workspace DIR")
	@$(RUN) chat $(ARGS)
list: .venv/ready       ## the lessons, a line each
	@$(RUN) list
matrix: .venv/ready     ## behaviour by lesson, from a real run
	@$(RUN) matrix
bundle: .venv/ready     ## one archive for a room without a network
	@$(RUN) bundle $(ARGS)
survey: .venv/ready     ## what real models do; with BASE_URL= and MODEL=, what yours does
	@$(RUN) survey $(if $(BASE_URL),--base-url "$(BASE_URL)") $(if $(MODEL),--model "$(MODEL)") $(ARGS)
doctor: .venv/ready     ## check this machine
	@$(RUN) doctor $(ARGS)
cassettes: .venv/ready  ## record every tape again from its scripted model
	@$(RUN) cassettes
pages: .venv/ready      ## write the generated parts of every page again
	@$(RUN) pages
picture: .venv/ready    ## draw the README's picture again
	@$(RUN) picture
test: .venv/ready-dev   ## ruff, mypy, the suite, the gates, the offline proof
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m mypy
	@$(BIN)/python -m pytest -n 2 --dist loadgroup
clean:           ## remove the environment
	@rm -rf .venv
