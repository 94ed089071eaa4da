// Packs release archives for npm: `node pack.mjs VERSION ARCHIVES OUT` takes dialect_VERSION_OS_ARCH.tar.gz from the folder
// ARCHIVES, makes a package of each, whose `os` and `cpu` let npm choose, and the package `dialect`, which has them as optional
// dependencies, and writes their tarballs into OUT. The bytes of the programs are those of the archives. The tarballs are made as the
// archives are, and not by `npm pack`, whose bytes are of the version of npm and node.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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
  // pack writes folder as the package name, with npm's own date of all files.
  const pack = (folder, name) => {
    renameSync(folder, join(work, 'package'));
    const file = resolve(out, `${name.replace('@', '').replace('/', '-')}-${semantic}.tgz`);
    execFileSync('sh', ['-c', 'tar --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime=@499162500 -C "$1" -cf - package >"$1/tar" && gzip -n <"$1/tar" >"$2"', 'sh', work, file], { stdio: ['ignore', 'inherit', 'inherit'] });
    rmSync(join(work, 'package'), { recursive: true });
  };
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
    pack(folder, name);
    main.optionalDependencies[name] = semantic;
  }
  if (Object.keys(main.optionalDependencies).length === 0) throw new Error(`no dialect_${version}_OS_ARCH.tar.gz in ${archives}`);
  const folder = join(work, 'dialect');
  mkdirSync(folder);
  cpSync(join(here, 'dialect.js'), join(folder, 'dialect.js'));
  chmodSync(join(folder, 'dialect.js'), 0o755);
  for (const file of ['README.md', 'LICENSE']) cpSync(join(root, file), join(folder, file));
  writeFileSync(join(folder, 'package.json'), JSON.stringify(main, null, 2));
  pack(folder, main.name);
} finally {
  rmSync(work, { recursive: true, force: true });
}
