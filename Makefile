# SPDX-License-Identifier: Apache-2.0
# The words people type. All logic lives in suite/; this passes words on: STACK=x becomes --stack x.
#   make bench STACK=tf1.14-cuda10 SHAPES="50 500" TARGETS=CPU,XLA_CPU

SHELL = /bin/sh
.SUFFIXES:
.PHONY: help bench reproduce selftest compare explain build image-save image-load list doctor collect export report test test-fast test-gpu lint lock clean

# Only what stands on make's own command line is a word: GPU or OUT in somebody's shell means something else.
given = $(if $(filter command line,$(origin $(1))),$(1))
quoted = '$(subst ','\'',$($(1)))'
flag = $(if $(call given,$(1)), --$(2) $(call quoted,$(1)))

WORDS = $(call flag,STACK,stack)$(call flag,ENGINE,engine)$(call flag,TARGETS,targets)$(call flag,SHAPES,shapes)$(call \
  flag,SAMPLES,samples)$(call flag,REPEATS,repeats)$(call flag,PROFILE,profile)$(call flag,LEVEL,level)$(call flag,PLACEMENT,placement)$(call \
  flag,DTYPE,dtype)$(call flag,PRECISION,precision)$(call flag,GPU,gpu)$(call flag,CPUS,cpus)$(call flag,CPUSET,cpuset)$(call \
  flag,BUILD_ARGS,build-args)$(call flag,BUDGET,budget)$(call \
  flag,TIMEOUT,timeout)$(call flag,RESUME,resume)$(call flag,OUT,out)$(call flag,PYTHON,python)$(call flag,WHEELS,wheels)$(call flag,ADOPT,adopt)

COMPARED = $(call flag,STACKS,stacks)$(call flag,RUNS,runs)$(call flag,BASELINE,baseline)$(call flag,MARGIN,margin)$(call \
  flag,ALLOW,allow)$(call flag,FAIL_ON,fail-on)
# How tables are printed.
VIEW = $(call flag,FORMAT,format)$(call flag,LAYOUT,layout)

EXPLAINED = $(call flag,ABLATIONS,ablations)

# Makes .venv from its hashed lock on first use and prints its Python.
HOST = py=$$(python3 suite/bootstrap.py .venv requirements.lock) || exit
TEST_HOST = py=$$(python3 suite/bootstrap.py .venv-test requirements-test.lock) || exit

# A killed make or nox ends the run: the suite watches these processes.
WATCH = COLDWARM_WATCH=$$PPID

help:
	@echo 'make bench STACK=...     measure a stack: cold and warm, each number proven'
	@echo 'make reproduce STACK=... the snippet of the question, beside its numbers'
	@echo 'make selftest STACK=...  the stack against itself: no difference may be found'
	@echo 'make compare STACKS="a b" stacks side by side, measured interleaved; RUNS="results/a results/b": stored runs'
	@echo 'make explain STACK=...   what a first run was spent on: one thing taken away at a time (TARGETS=XLA_CPU SHAPES=500)'
	@echo 'make build STACK=...     build its image (ENGINE=docker or podman; BUILD_ARGS="A=x B=y")'
	@echo 'make image-save STACK=... FILE=x.tar | image-load: the image as an archive with its sum'
	@echo 'make list                the stacks, and what this machine has of them'
	@echo 'make doctor [STACK=...]  what this machine can measure, and what to do; all stacks against a GPU: CAPABILITY=8.6'
	@echo 'make collect             stored runs: their tables again, an index; CELL="CPU device 500": its history'
	@echo 'make export              stored runs as tidy tables (RUNS="..." STACK=... FORMAT=csv or parquet TO=folder)'
	@echo 'make report RUN=...      report.html of a stored run again (CHARTS=svg or png: files)'
	@echo 'make test | test-fast | test-gpu | lint | lock | clean'
	@echo 'Words: STACK ENGINE TARGETS SHAPES SAMPLES REPEATS PROFILE LEVEL PLACEMENT DTYPE PRECISION GPU CPUS CPUSET'
	@echo '       BUDGET TIMEOUT RESUME OUT PYTHON WHEELS ADOPT; lists by comma or space'
	@echo 'Words of compare: STACKS RUNS BASELINE MARGIN ALLOW FAIL_ON; of explain: ABLATIONS;'
	@echo '       of collect: CELL TABLES, and OUT may name several trees'
	@echo 'How tables are printed: FORMAT=simple, github, grid, plain, html, latex or csv; LAYOUT=wide or long'

bench reproduce selftest:
	@$(HOST); "$$py" -m suite check-stack $(if $(call given,STACK),$(call quoted,STACK)) || exit; \
	  $(WATCH) "$$py" -m nox -s '$@($(if $(call given,STACK),$(STACK)))' --$(WORDS)$(VIEW)

explain:
	@$(HOST); "$$py" -m suite check-stack $(if $(call given,STACK),$(call quoted,STACK)) || exit; \
	  $(WATCH) "$$py" -m nox -s 'explain($(if $(call given,STACK),$(STACK)))' --$(WORDS)$(EXPLAINED)

compare:
	@$(HOST); $(WATCH) "$$py" -m nox -s compare --$(COMPARED)$(WORDS)$(VIEW)

build:
	@$(HOST); "$$py" -m suite check-stack $(if $(call given,STACK),$(call quoted,STACK)) || exit; \
	  $(WATCH) "$$py" -m nox -s 'build($(if $(call given,STACK),$(STACK)))' --$(call flag,STACK,stack)$(call \
	  flag,ENGINE,engine)$(call flag,BUILD_ARGS,build-args)

image-save image-load:
	@$(HOST); "$$py" -m suite $@$(call flag,STACK,stack)$(call flag,ENGINE,engine)$(call flag,FILE,file)

list:
	@$(HOST); "$$py" -m suite list

doctor:
	@$(HOST); "$$py" -m suite doctor$(call flag,STACK,stack)$(call flag,PYTHON,python)$(call flag,CAPABILITY,capability)

collect:
	@$(HOST); "$$py" -m suite collect$(call flag,OUT,out)$(call flag,STACK,stack)$(call flag,CELL,cell)$(call flag,TABLES,tables)$(VIEW)

export:
	@$(HOST); "$$py" -m suite export$(call flag,OUT,out)$(call flag,STACK,stack)$(call flag,FORMAT,format)$(call flag,TO,to)$(call \
	  flag,RUNS,runs)

report:
	@$(HOST); "$$py" -m suite report$(call flag,CHARTS,charts) -- $(if $(call given,RUN),$(call quoted,RUN))

test:
	@$(TEST_HOST); "$$py" -m nox -s tests

test-fast:
	@$(TEST_HOST); "$$py" -m nox -s tests -- -m 'not real'

test-gpu:
	@$(TEST_HOST); COLDWARM_REQUIRE="$${COLDWARM_REQUIRE:-gpu}" $(if $(call given,PYTHON),COLDWARM_GPU_PYTHON=$(call quoted,PYTHON)) "$$py" -m nox -s tests_gpu

lint:
	@$(TEST_HOST); "$$py" -m nox -s lint

lock:
	@$(TEST_HOST); "$$py" -m nox -s $(if $(call given,STACK),lock -- $(call quoted,STACK),lock lock_host)

clean:
	rm -rf .venv .venv-test
