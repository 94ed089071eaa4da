# make build        ./bin/dialect, a static binary, and ./bin/dialect-mcp, its helper
# make build-temporal   ./bin/dialect-temporal, the helper and the worker of `dialect run --engine temporal`, of a module of its own
# make install      both into $(DESTDIR)$(PREFIX)/bin, as root so that a signing key is believed
# make dist         release archives of all platforms, and their SHA256SUMS, into ./bin/dist
# make release      the same, a bill of materials of each program, and the packages for npm
# make dependencies write the page about what dialect links anew
# make test         vet and all tests: the command that README names
# make test-deps    what some tests need of npm (editors, MCP servers, tools whose checks are tested); without it they are skipped
# make test-agents  real coding agents of npm, held by the hook, against a scripted model; 400 MB each
# make race         all tests under the race detector (RACE="./runtime/..." for some)
# make check        dialect gates its own repository: examples/quality.dlct
# make tokens       write the page about what a model reads anew
# make field        try dialect on public repositories (FIELDFLAGS="-from FOLDER/{owner}+{name}"), and write the page about it
# make bench        whole processes against the peers that are on PATH, as ratios; fails on a budget; writes the page
# make bench-temporal   lines on 1, 2, 4 and 8 workers beside the local engine and beside plain activities of Temporal, DIALECT_COST (3) rounds
# make bench-peers  install into ./bin/peers what can be had of the peers
# make fuzz         every fuzz target for FUZZTIME (30s)
# make golden       write the golden files, the output in the documentation, the generated pages and the picture anew;
#                   read the diff before it is committed
# make soak         the tests of processes and receipts at full length
# make clean        remove ./bin

GO       ?= go
FUZZTIME ?= 30s
RACE     ?= ./...
PREFIX   ?= /usr/local

# Of dist: GOOS/GOARCH. Linux is fully supported, the others compile.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
DIST      ?= bin/dist

module  := github.com/command-dialect/dialect
# Of a commit without a tag git abbreviates the hash by what else a clone holds: a fixed length is the same in each.
version  = $(shell git describe --tags --always --dirty --abbrev=12 2>/dev/null)
conformance := lang/diag/output/conformance
# Modules of their own: what they need enters no build of dialect.
tool     := cmd/dialect/internal/release
modules  := $(conformance) $(tool) cmd/dialect/internal/tokens cmd/dialect/internal/field cmd/dialect/internal/bench
temporal := cmd/dialect/dialect-temporal
peers    := $(CURDIR)/bin/peers

.PHONY: build build-temporal test-temporal install dist test test-deps test-agents race check release dependencies tokens field bench bench-peers bench-temporal fuzz golden soak clean

build-temporal:
	cd $(temporal) && CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(CURDIR)/bin/dialect-temporal .

# Without cgo the binary links nothing of the system it was built on, and with
# -trimpath it holds no path of it.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X $(module)/cmd/dialect/internal/cli.stamped=$(version)' -o bin/dialect ./cmd/dialect
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/dialect-mcp ./cmd/dialect/dialect-mcp

# A binary that its user can execute and not read starts undumpable: no other process of the
# user can take a signing key from it (runtime/keyfd). That needs another owner, so: `make build`,
# then `sudo make install`. Without root the mode is the same, and a key gives level L0.
install:
	test -x bin/dialect -a -x bin/dialect-mcp || $(MAKE) build
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -m 0711 $$(test "$$(id -u)" != 0 || echo -o root -g root) bin/dialect bin/dialect-mcp "$(DESTDIR)$(PREFIX)/bin"

# One archive a platform, with both programs, the completions of shells, the licence and README. The same commit and version of Go
# give the same bytes: the times in an archive are those of the commit, and neither the umask, nor settings of Go, nor the clone's
# depth, nor its path decide.
dist: stamp = $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
dist: export GOFLAGS :=
dist: export GOEXPERIMENT :=
dist: export GOAMD64 := v1
dist: export GOARM64 := v8.0
dist: export GOWORK := off
dist:
	rm -rf "$(DIST)" && mkdir -p "$(DIST)/completions"
	set -e; CGO_ENABLED=0 $(GO) build -trimpath -o "$(DIST)/host" ./cmd/dialect; \
	for shell in bash zsh fish powershell; do "$(DIST)/host" completion $$shell >"$(DIST)/completions/dialect.$$shell"; done; rm "$(DIST)/host"
	set -e; for platform in $(PLATFORMS); do \
		os=$${platform%/*} arch=$${platform#*/}; name=dialect_$(version)_$${os}_$$arch; \
		mkdir "$(DIST)/$$name"; cp -r LICENSE README.md "$(DIST)/completions" "$(DIST)/$$name"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) build -trimpath -buildvcs=false -ldflags '-s -w -X $(module)/cmd/dialect/internal/cli.stamped=$(version)' -o "$(DIST)/$$name/" ./cmd/dialect ./cmd/dialect/dialect-mcp; \
		tar --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime=@$(stamp) -C "$(DIST)" -cf - "$$name" | gzip -n >"$(DIST)/$$name.tar.gz"; \
		rm -r "$(DIST)/$$name"; \
	done
	rm -r "$(DIST)/completions"
	cd "$(DIST)" && sha256sum *.tar.gz >SHA256SUMS

# What a program depends on is read from it. The tool is a module of its own, as it needs more than dialect may.
release: dist
	set -e; dist=$$(cd "$(DIST)" && pwd); cd $(tool); $(GO) build -o "$$dist/release" .; for archive in "$$dist"/*.tar.gz; do \
		name=$$(basename "$$archive" .tar.gz); mkdir "$$dist/bom"; tar -xzf "$$archive" -C "$$dist/bom" --strip-components=1; \
		for program in dialect dialect-mcp; do \
			"$$dist/release" sbom "$$(find "$$dist/bom" -name $$program -o -name $$program.exe)" "$(version)" "$$dist/$$name.$$program.cdx.json"; \
		done; rm -r "$$dist/bom"; \
	done; rm "$$dist/release"
	node cmd/dialect/npm/pack.mjs "$(version)" "$(DIST)" "$(DIST)"
	cd "$(DIST)" && sha256sum *.tar.gz *.tgz *.cdx.json >SHA256SUMS

dependencies:
	cd $(tool) && $(GO) run . dependencies $(CURDIR)/stdlib/docs/dependencies.md

tokens:
	cd cmd/dialect/internal/tokens && $(GO) run . $(CURDIR)/stdlib/docs/tokens.md

field:
	cd cmd/dialect/internal/field && $(GO) run . $(FIELDFLAGS) $(CURDIR)/stdlib/docs/field.md

test:
	$(GO) vet ./...
	$(GO) test -timeout 30m ./...
	$(GO) vet -tags portable ./runtime/process && $(GO) test -tags portable ./runtime/process
	set -e; for module in $(modules); do (cd $$module && $(GO) vet ./... && $(GO) test ./...); done
	$(MAKE) test-temporal

# The server of Temporal is a module of 200 requirements: where it cannot be had this part is left out, and says so.
test-temporal:
	@if (cd $(temporal) && $(GO) mod download >/dev/null 2>&1); then cd $(temporal) && $(GO) vet ./... && $(GO) test ./...; \
	else echo "SKIPPED: $(temporal) IS NOT TESTED: the server of Temporal cannot be downloaded here" >&2; fi

test-deps:
	cd lang/editors/vscode && npm ci --ignore-scripts --no-audit --no-fund
	cd runtime/mcpclient/broker/testdata/npm && npm ci --ignore-scripts --no-audit --no-fund
	cd examples/testdata/controls/npm && npm install --no-save --ignore-scripts --no-audit --no-fund # npm ci wants the packages of all platforms
	set -e; for module in $(modules); do (cd $$module && $(GO) mod download); done

# What the hook promises is about what these versions do: they are pinned. A client that cannot be had is left out, and the
# test says so. Where namespaces are to be had they run without a network.
#
# AGENTS, AGENTSRUN and AGENTSTIME select clients, tests (as go test -run does) and a bound in time; each npm gets NPMTIME.
agents   := $(CURDIR)/bin/agents
packages := codex=@openai/codex@0.169.0 gemini=@google/gemini-cli@0.61.0 qwen=@qwen-code/qwen-code@0.24.4 qwen-0.15=@qwen-code/qwen-code@0.15.10 opencode=opencode-ai@1.18.33 kilo=@kilocode/cli@7.7.7 \
	managers=lefthook@2.2.2,husky@9.1.7
AGENTS     ?= codex gemini qwen qwen-0.15 opencode kilo managers
AGENTSRUN  ?= .
AGENTSTIME ?= 2h
NPMTIME    ?= 20m
offline   = $(shell unshare --net true 2>/dev/null && echo unshare --net sh -c \''ip link set lo up; exec "$$0" "$$@"'\')

test-agents:
	@for p in $(foreach a,$(AGENTS),$(filter $(a)=%,$(packages))); do \
		dir=$(agents)/$${p%%=*}; test -d $$dir/node_modules && continue; \
		timeout $(NPMTIME) npm install --prefix $$dir --no-audit --no-fund --ignore-scripts $$(echo $${p#*=} | tr , ' ') || \
			{ rm -rf $$dir; echo "NOT INSTALLED, and so NOT TESTED: $$p"; }; \
	done
	$(GO) test -c -o $(agents)/live.test ./cmd/dialect/internal/hook/live
	cd cmd/dialect/internal/hook/live && DIALECT_AGENTS=$(agents) $(offline) $(agents)/live.test -test.v -test.timeout $(AGENTSTIME) -test.run '$(AGENTSRUN)'

race:
	$(GO) test -race -timeout 60m $(RACE)

check: build
	./bin/dialect run examples/quality.dlct

# The figures of one run are comparable, those of two are not: nothing else
# should run beside it, so it is no prerequisite of anything.
bench:
	cd cmd/dialect/internal/bench && PATH="$(peers):$$PATH" $(GO) run . -page $(CURDIR)/stdlib/docs/benchmarks.md $(BENCHFLAGS)

bench-temporal:
	cd $(temporal) && DIALECT_COST=$${DIALECT_COST:-3} $(GO) test -count=1 -timeout 60m -v -run TestCost .

# Each peer is tried on its own; one that cannot be had is left out, and the
# benchmark says so. npm gets --ignore-scripts because lefthook's would install
# git hooks into this repository. What npm puts into .bin starts node first,
# hence the links to the programs themselves.
bench-peers:
	mkdir -p $(peers)/npm
	-command -v ninja >/dev/null || apt-get install -y --no-install-recommends ninja-build
	-npm install --prefix $(peers)/npm --no-save --no-audit --no-fund --ignore-scripts rust-just lefthook
	for name in just lefthook; do \
		find $(peers)/npm -type f -path "*/bin/$$name" -size +200k -exec ln -sf {} $(peers)/ ';'; \
	done
	-GOBIN=$(peers) $(GO) install github.com/go-task/task/v3/cmd/task@v3.53.0
	-GOBIN=$(peers) $(GO) install github.com/in-toto/in-toto-golang@v0.11.0

# The targets are found, not listed: one that nobody listed would never run.
fuzz:
	@set -e; for pkg in $$($(GO) list ./...); do \
		list=$$($(GO) test -list '^Fuzz' $$pkg); \
		for target in $$(echo "$$list" | grep '^Fuzz' || true); do \
			echo "== $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

# Only the packages that know the flag: the others would refuse it.
golden:
	$(GO) test $$(grep -rl --include='*_test.go' --exclude-dir=bin --exclude-dir=bench 'flag.Bool("update"' . | xargs -n 1 dirname | sort -u) -update
	cd cmd/dialect/internal/bench && $(GO) test . -update

# The tests themselves read the variable, and do more of the same.
soak:
	DIALECT_SOAK=1 $(GO) test -count=1 -timeout 60m ./runtime/... ./receipts/...
	cd $(temporal) && DIALECT_SOAK=1 $(GO) test -count=1 -timeout 60m -run TestKills .

clean:
	rm -rf bin
