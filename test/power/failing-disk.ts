// A disk that fails when a test requests it: failing-disk.c, preloaded into the broker, and the file that switches it.

import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = fileURLToPath(new URL('./failing-disk.c', import.meta.url))

/** `full`: writes fail. `sync`: writes succeed, and syncs fail. */
export type DiskFault = 'full' | 'sync'

export class FailingDisk {
  /** Environment variables for the process of the broker. */
  readonly environment: NodeJS.ProcessEnv
  readonly #switch: string

  /** Compiles the library into `folder`; needs gcc. Files below `directory` are on the disk that fails. */
  constructor(folder: string, directory: string) {
    const library = join(folder, 'failing-disk.so')
    execFileSync('gcc', ['-O1', '-Wall', '-Werror', '-fno-builtin', '-shared', '-fPIC', '-o', library, source, '-ldl'])
    this.#switch = join(folder, 'fault')
    this.environment = { LD_PRELOAD: library, FAILING_DISK_SWITCH: this.#switch, FAILING_DISK_DIRECTORY: directory }
  }

  fail(fault: DiskFault): void {
    writeFileSync(this.#switch, fault)
  }

  recover(): void {
    rmSync(this.#switch, { force: true })
  }
}
