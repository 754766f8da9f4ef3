import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';

import type { Plugin, ResolvedConfig } from 'vite';

/** The sources of the build, relative to the root of Vite. `tests/unit/ui/test_dist.py` computes the same hash. */
const SOURCES = [
  'build',
  'index.html',
  'package-lock.json',
  'package.json',
  'src',
  'svelte.config.js',
  'tsconfig.json',
  'vite.config.ts',
];
const IS_TEST = /\.test\.ts$/;
const BUILT_FROM = 'BUILT_FROM';
const MANIFEST = 'manifest.json';

/**
 * Writes two files beside the build: `BUILT_FROM`, the hash of its sources, and `manifest.json`, the size and hash of
 * every other file. The service serves only files listed in the manifest.
 */
export function manifest(): Plugin {
  let config: ResolvedConfig;
  return {
    name: 'spanwise:manifest',
    apply: 'build',
    enforce: 'post',
    configResolved(resolved) {
      config = resolved;
    },
    // After the files of all other plugins.
    writeBundle: {
      order: 'post',
      sequential: true,
      handler() {
        const folder = resolve(config.root, config.build.outDir);
        writeFileSync(join(folder, BUILT_FROM), `${hashOfSources(config.root)}\n`);
        const files = filesBelow(folder).filter((path) => path !== MANIFEST);
        const described = files.map((path) => {
          const content = readFileSync(join(folder, path));
          return { path, bytes: content.length, sha256: sha256(content) };
        });
        writeFileSync(join(folder, MANIFEST), `${JSON.stringify({ files: described }, null, 2)}\n`);
      },
    },
  };
}

/** Returns the hash of a list with a line for each source, `<sha256>  <path>`, as the program `sha256sum` prints it. */
function hashOfSources(root: string): string {
  const paths = SOURCES.flatMap((source) => {
    const path = join(root, source);
    return statSync(path).isDirectory() ? filesBelow(path).map((name) => `${source}/${name}`) : [source];
  });
  const built = paths.filter((path) => !IS_TEST.test(path)).sort();
  return sha256(built.map((path) => `${sha256(readFileSync(join(root, path)))}  ${path}\n`).join(''));
}

/** Returns the paths of all files below a folder, relative to it, in order. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
