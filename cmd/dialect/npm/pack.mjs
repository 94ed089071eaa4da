// Packs release archives for npm: `node pack.mjs VERSION ARCHIVES OUT` takes dialect_VERSION_OS_ARCH.tar.gz from the folder
// ARCHIVES, makes a package of each, whose `os` and `cpu` let npm choose, and the package `dialect`, which has them as optional
// dependencies, and writes their tarballs into OUT. The bytes of the programs are those of the archives.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const [version, archives, out] = process.argv.slice(2);
if (!out) {
  console.error('usage: node pack.mjs VERSION ARCHIVES OUT');
  process.exit(64);
}
const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../../..');
// npm wants a semantic version; that of a commit without a tag is none.
const semantic = /^v?\d+\.\d+\.\d+([-+].*)?$/.test(version) ? version.replace(/^v/, '') : `0.0.0-g${version.replace(/[^0-9A-Za-z-]/g, '-')}`;
const os = { linux: 'linux', darwin: 'darwin', windows: 'win32' };
const cpu = { amd64: 'x64', arm64: 'arm64' };

const main = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
main.version = semantic;
main.optionalDependencies = {};

const work = mkdtempSync(join(tmpdir(), 'dialect-npm-'));
try {
  mkdirSync(out, { recursive: true });
  const pack = (folder) => execFileSync('npm', ['pack', '--silent', '--pack-destination', resolve(out)], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  for (const file of readdirSync(archives).sort()) {
    const [, goos, goarch] = /^dialect_.*_(\w+)_(\w+)\.tar\.gz$/.exec(file) ?? [];
    if (!os[goos] || !cpu[goarch] || !file.startsWith(`dialect_${version}_`)) continue;
    const name = `@command-dialect/${os[goos]}-${cpu[goarch]}`;
    const folder = join(work, `${goos}-${goarch}`);
    mkdirSync(folder);
    execFileSync('tar', ['-xzf', resolve(archives, file), '-C', folder, '--strip-components=1']);
    const { license, repository } = main;
    const description = `The programs of dialect for ${goos}/${goarch}: install "dialect" instead`;
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version: semantic, description, license, repository, os: [os[goos]], cpu: [cpu[goarch]], preferUnplugged: true }, null, 2));
    pack(folder);
    main.optionalDependencies[name] = semantic;
  }
  if (Object.keys(main.optionalDependencies).length === 0) throw new Error(`no dialect_${version}_OS_ARCH.tar.gz in ${archives}`);
  const folder = join(work, 'dialect');
  mkdirSync(folder);
  cpSync(join(here, 'dialect.js'), join(folder, 'dialect.js'));
  for (const file of ['README.md', 'LICENSE']) cpSync(join(root, file), join(folder, file));
  writeFileSync(join(folder, 'package.json'), JSON.stringify(main, null, 2));
  pack(folder);
} finally {
  rmSync(work, { recursive: true, force: true });
}
