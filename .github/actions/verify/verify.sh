#!/usr/bin/env bash
# Verifies HEAD of the working directory, as action.yml says. In: BUNDLE, KEY, SCRIPT, BASE, REQUIRE, each of which may be empty, and what GitHub sets.
# Exit status: that of dialect.
set -euo pipefail
set -f # the names in REQUIRE are no patterns of files

if [[ ${BUNDLE:-} == *[$'\r\n']* ]]; then
	echo '::error title=dialect::the input bundle has a line end in it' # it would be an output of its own
	exit 64
fi

asked=()
[[ -z ${BASE:-} ]] || asked+=(--base "$BASE")
for name in ${REQUIRE:-}; do asked+=(--require "$name"); done

# say TITLE TEXT: an annotation.
say() {
	local text=${2//'%'/%25}
	text=${text//$'\r'/%0D}
	printf '::%s::%s\n' "$1" "${text//$'\n'/%0A}"
}

# gate prints the id of the gate by which `dialect verify` with these arguments answers.
gate() { dialect verify --tree HEAD --json "$@" ${asked[@]+"${asked[@]}"} | sed -n 's/^  "gate": "\(g-[0-9a-f]*\)".*/\1/p'; }

out() { [[ -z ${GITHUB_OUTPUT:-} ]] || printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"; }

if [[ -n ${BUNDLE:-} ]]; then
	if [[ -z ${KEY:-} ]]; then
		say 'warning title=dialect' 'a bundle without a key says only what its writer recorded: the script is run'
	elif answer=$(dialect verify --tree HEAD --bundle "$BUNDLE" --key "$KEY" ${asked[@]+"${asked[@]}"} 2>&1); then
		printf '%s\n' "$answer"
		out gate "$(gate --bundle "$BUNDLE" --key "$KEY")"
		out bundle "$BUNDLE"
		exit 0
	else
		say 'warning title=dialect' "the bundle does not speak for this commit, so that the script is run: $answer"
	fi
fi

status=0
dialect run -- "${SCRIPT:-quality.dlct}" || status=$?
if ((status)); then
	say 'error title=dialect' "dialect run ${SCRIPT:-quality.dlct} ended with status $status"
	exit "$status"
fi
answer=$(dialect verify --tree HEAD ${asked[@]+"${asked[@]}"} 2>&1) || status=$?
printf '%s\n' "$answer"
if ((status)); then
	say 'error title=dialect' "$answer"
	exit "$status"
fi
id=$(gate)
file=${RUNNER_TEMP:-.dialect}/dialect-bundle.json
dialect receipts export --bundle "$id" >"$file"
out gate "$id"
out bundle "$file"
