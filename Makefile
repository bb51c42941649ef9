# Ackline's front door. Every target installs what it needs (Debian 12 packages, as root or through sudo) and says
# what it does. CMake and its presets do the work: `cmake --preset release`, `debug`, `asan`, `tsan`.

.DEFAULT_GOAL := help
.PHONY: help build demo test bench fuzz asan tsan soak fmt lint lint-tidy clean deps-build deps-test deps-bench

# Binaries of `make bench`, and arguments that go on to a program: make demo ARGS=--exit
ARGS ?=

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps-build:
	@tools/install-deps build
deps-test:
	@tools/install-deps test
deps-bench:
	@tools/install-deps bench

build/build.ninja: | deps-build
	cmake --preset release

build: deps-build build/build.ninja ## the product, optimised: build/ackline
	ninja -C build ackline

demo: build ## a server with sample traffic, a stuck consumer and a dead letter, to look at (ARGS=--exit: once, then stop)
	build/ackline demo $(ARGS)

test: deps-test ## everything, with a table at the end (ONLY=unit: the quick loop; ONLY=lint,fuzz: those suites)
	tools/run-tests

bench: deps-bench build/build.ninja ## the benchmarks, one table
	ninja -C build
	tools/run-bench $(ARGS)

fuzz: deps-test ## the fuzz targets, 60 seconds each (SECONDS_EACH=600)
	cmake --preset asan
	ninja -C build/asan fuzz_targets
	tools/run-fuzz --build build/asan --seconds $(or $(SECONDS_EACH),60)

asan: deps-test ## the unit tests under the address and undefined-behaviour sanitizers
	ONLY=asan tools/run-tests

tsan: deps-test ## the threaded unit tests under the thread sanitizer
	ONLY=tsan tools/run-tests

soak: deps-test ## the long campaigns: everything of test with larger counts, then clang-tidy over all
	SOAK=1 tools/run-tests
	$(MAKE) lint-tidy

fmt: deps-test ## formats every C++ file
	@find src tests bench -name '*.h' -o -name '*.cc' | xargs clang-format-19 -i

lint: deps-test ## layering, headers, house rules, format
	ONLY=lint tools/run-tests

lint-tidy: deps-test build/build.ninja ## clang-tidy over the product's sources (slow)
	@ninja -C build ackline_precompiled_product
	@find src -name '*.cc' | xargs -P "$$(nproc)" -n 1 clang-tidy-19 -p build --quiet --warnings-as-errors='*'

clean: ## removes build/
	rm -rf build
