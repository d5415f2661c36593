// The entry file of the process of a plugin, and what it must be able to read: the sources in a checkout, one file in an installed package.

import { fileURLToPath } from 'node:url'

const isSource = import.meta.url.endsWith('.ts')

/** Path for `node`. */
export const processEntry = fileURLToPath(new URL(`./plugin-process.${isSource ? 'ts' : 'js'}`, import.meta.url))

/** Paths for `--allow-fs-read`. */
export const readablePaths: readonly string[] = isSource
  ? [fileURLToPath(new URL('../', import.meta.url)), fileURLToPath(new URL('../../../package.json', import.meta.url))]
  : [processEntry]
