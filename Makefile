# The front door. On a fresh Debian 12: `make demo` runs the main job, `make check` runs the tests; both
# install what is missing first (said aloud). Everything else is CMake: see CMakePresets.json.

JOBS ?= $(shell nproc)
BUILD = build/release

.PHONY: all demo check bench portable deps-demo deps-bench deps-check build clean

all: build

deps-demo:
	@tools/install-deps demo

deps-bench:
	@tools/install-deps demo bench

deps-check:
	@tools/install-deps demo check

build: deps-demo
	@cmake --preset release >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

demo: deps-demo
	@cmake --preset release >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target gpuwire_cli resnet50_inference
	@tools/demo $(BUILD)

check: deps-check
	@cmake --preset release >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)
	@ctest --preset release -j $(JOBS)

bench: deps-bench build
	@tools/bench $(BUILD)

portable: deps-demo
	@tools/portable

clean:
	rm -rf build out
