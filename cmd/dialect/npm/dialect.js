#!/usr/bin/env node
// Starts the program of the platform's package under the name that this file was called by, with the same arguments,
// descriptors and environment, and ends as it ends: with its status, or by its signal. A signal that node gets is passed on;
// those of a terminal reach both, as they are one process group.
'use strict';

const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { basename, dirname, join } = require('node:path');

const suffix = process.platform === 'win32' ? '.exe' : '';
const platform = `@command-dialect/${process.platform}-${process.arch}`;
const program = basename(process.argv[1]).startsWith('dialect-mcp') ? 'dialect-mcp' : 'dialect';

let folder;
try {
  folder = dirname(require.resolve(`${platform}/package.json`));
} catch {
  console.error(`dialect: the package ${platform} is not installed`);
  console.error('hint: npm leaves it out with --omit=optional or --no-optional: install again without; where no such package exists,');
  console.error('hint: build from source: go install github.com/command-dialect/dialect/cmd/dialect@latest');
  process.exit(127);
}

const child = spawn(join(folder, program + suffix), process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) {
  // From a terminal the child has the signal already; to hear it twice would be a second Ctrl-C. Only what was sent to node
  // alone is passed on, and SIGINT and SIGQUIT are those that a terminal sends.
  process.on(signal, () => {
    if (signal === 'SIGTERM' || signal === 'SIGHUP' || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on('error', (error) => {
  console.error(`dialect: cannot start ${program}: ${error.message}`);
  process.exit(error.code === 'ENOENT' ? 127 : 126);
});
child.on('exit', (status, signal) => {
  if (signal === null) process.exit(status);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(128 + constants.signals[signal]), 100); // where the signal is ignored or blocked
});
