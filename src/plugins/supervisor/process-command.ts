// The command line of the process of a plugin.

import { resolve } from 'node:path'
import type { InstalledPlugin } from '../manifest/installed-plugin.ts'
import type { NetworkAccess } from '../plugin-runtime.ts'
import { processEntry, readablePaths } from '../process/plugin-entry.ts'
import type { Isolation } from './isolation.ts'

export interface ProcessCommand {
  readonly program: string
  readonly args: readonly string[]
  readonly network: NetworkAccess
}

const mebibyte = 1_048_576

export function createProcessCommand(
  { manifest, directory, settings }: InstalledPlugin,
  { withoutNetwork = [], endsWithBroker = [] }: Isolation,
): ProcessCommand {
  const hasNetwork = manifest.permissions.some(({ kind }) => kind === 'net')
  const prefix = [...(hasNetwork ? [] : withoutNetwork), ...endsWithBroker]
  const readable = [...readablePaths, directory, ...listPaths('fs-read')]
  const args = [
    '--permission',
    ...readable.map((path) => `--allow-fs-read=${path}`),
    ...listPaths('fs-write').map((path) => `--allow-fs-write=${path}`),
    `--max-old-space-size=${Math.max(1, Math.floor(settings.maxHeapBytes / mebibyte))}`,
    '--disable-sigusr1',
    '--disable-warning=ExperimentalWarning',
    processEntry,
  ]
  const [program, ...before] = [...prefix, process.execPath]
  const refused = withoutNetwork.length > 0 ? 'refused-by-system' : 'refused-by-process'
  return { program, args: [...before, ...args], network: hasNetwork ? 'allowed' : refused }

  function listPaths(kind: 'fs-read' | 'fs-write'): string[] {
    return manifest.permissions.flatMap((permission) => (permission.kind === kind ? [resolve(permission.path)] : []))
  }
}
