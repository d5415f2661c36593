// A copy of the checkout in a temporary folder, for changes that a test makes.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after } from 'node:test'
import { checkout } from '../jobs.ts'

/** What the type check, the generation of documents, the build and the copied tests read. */
const copied = [
  'bench',
  'bin',
  'dashboard',
  'docs',
  'etc',
  'lib',
  'package.json',
  'release',
  'src',
  'test',
  'tsconfig.json',
]

export class CheckoutCopy {
  readonly folder: string

  /** The copy is removed at the end of the test file. */
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'godwit-checkout-'))
    after(() => rmSync(this.folder, { recursive: true, force: true }))
    for (const name of copied) cpSync(join(checkout, name), join(this.folder, name), { recursive: true })
    // Not the whole folder: its caches belong to the checkout.
    const packages = join(checkout, 'node_modules')
    mkdirSync(join(this.folder, 'node_modules'))
    for (const name of readdirSync(packages))
      if (name !== '.cache') symlinkSync(join(packages, name), join(this.folder, 'node_modules', name))
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8')
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true })
    writeFileSync(join(this.folder, path), text)
  }

  /** Inserts a text before the only occurrence of another one. */
  insertBefore(path: string, anchor: string, text: string): void {
    const parts = this.read(path).split(anchor)
    assert.equal(parts.length, 2, `${path} contains ${JSON.stringify(anchor)} once`)
    this.write(path, parts.join(text + anchor))
  }

  /** Runs a program of the copy, which must succeed. Returns its output. */
  run(command: string, args: readonly string[]): string {
    // With this variable, Node would skip tests that a test runs.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: this.folder, encoding: 'utf8', env })
    assert.equal(status, 0, `${command} ${args.join(' ')}\n${stdout}\n${stderr}`)
    return stdout
  }

  /** Returns the files of a folder that differ from the checkout. */
  changedFiles(folder: string): string[] {
    const names = new Set(
      [folder, join(this.folder, folder)].flatMap((root, index) =>
        readdirSync(index === 0 ? join(checkout, root) : root, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) =>
            join(entry.parentPath, entry.name).slice(index === 0 ? checkout.length : this.folder.length + 1),
          ),
      ),
    )
    return [...names]
      .filter((name) => contentOf(join(checkout, name)) !== contentOf(join(this.folder, name)))
      .toSorted()
  }
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}
