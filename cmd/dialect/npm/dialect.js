#!/usr/bin/env node
// Starts the program of the platform's package with the same arguments, environment, stdin, stdout and stderr, and ends as it ends:
// with its status, or by its signal. A signal that node alone gets is passed on; those of a terminal reach both, as they are one
// process group.
'use strict';

const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { dirname, join } = require('node:path');
const { isatty } = require('node:tty');

const platform = `@command-dialect/${process.platform}-${process.arch}`;
const { version } = require('./package.json');

function refuse(status, ...lines) {
  for (const line of lines) console.error(line);
  process.exit(status);
}

let manifest;
try {
  manifest = require.resolve(`${platform}/package.json`);
} catch {
  refuse(127, `dialect: the package ${platform} is not installed`,
    'hint: npm leaves it out with --omit=optional or --no-optional: install again without; from tarballs, install that of the platform, too;',
    'hint: where no such package exists, build from source: go install github.com/command-dialect/dialect/cmd/dialect@latest');
}
const found = require(manifest).version;
if (found !== version) {
  // node looks for packages in each folder above, and in NODE_PATH: another one may have been left there.
  refuse(127, `dialect: ${dirname(manifest)} is of version ${found}, and this is ${version}`,
    'hint: the package of the platform was left out: install dialect again, with optional dependencies');
}
const program = join(dirname(manifest), process.platform === 'win32' ? 'dialect.exe' : 'dialect');

const args = process.argv.slice(2);
const end = args.indexOf('--');
const flags = end < 0 ? args : args.slice(0, end);
if (process.env.DIALECT_KEY_FD || flags.some((arg) => /^--(key-fd|identity)(=|$)/.test(arg))) {
  // The commands of a run can read what node holds open, so that a key must not come through here.
  refuse(64, 'dialect: error: a signing key cannot be handed through node, which the commands of a run can read',
    `hint: start the program itself: ${program}`);
}

let child;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) {
  // From a terminal the child has the signal already; to hear it twice would be a second Ctrl-C. Only what was sent to node
  // alone is passed on, and SIGINT and SIGQUIT are those that a terminal sends.
  const typed = (signal === 'SIGINT' || signal === 'SIGQUIT') && [0, 1, 2].some((fd) => isatty(fd));
  process.on(signal, () => {
    if (!typed) child.kill(signal);
  });
}
child = spawn(program, args, { stdio: 'inherit' });
child.on('error', (error) => {
  refuse(error.code === 'ENOENT' ? 127 : 126, `dialect: cannot start ${program}: ${error.message}`);
});
child.on('exit', (status, signal) => {
  if (signal === null) process.exit(status);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(128 + constants.signals[signal]), 100); // where the signal is ignored or blocked
});
