import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { makeDirectory, makeDirectorySync } from '../../src/telemetry/index.ts'

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-directory-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

const both = [makeDirectory, async (path: string) => makeDirectorySync(path)]

test('simultaneous calls create a directory and its parents with permissions for the owner only', async (t) => {
  const folder = await temporaryFolder(t)
  for (const [index, make] of both.entries()) {
    const path = join(folder, String(index), 'b', 'c')
    await Promise.all([make(path), make(path), make(join(path, 'd'))])
    assert.equal((await stat(path)).mode & 0o777, 0o700)
    assert.equal((await stat(join(folder, String(index)))).mode & 0o777, 0o700)
    await make(path)
  }
})

test('a file or a dangling link in the path is an error', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'file'), '')
  await symlink(join(folder, 'nowhere'), join(folder, 'link'))
  for (const make of both) {
    await assert.rejects(make(join(folder, 'file')), { code: 'EEXIST' })
    await assert.rejects(make(join(folder, 'file', 'below')), { code: 'ENOTDIR' })
    await assert.rejects(make(join(folder, 'link')), { code: 'EEXIST' })
  }
})

// In a separate process, because the recursive mkdir of Node blocks the thread forever on such a file system.
test('a file system that refuses directories causes an error, not an endless loop', () => {
  const script = `
    import { makeDirectory, makeDirectorySync } from ${JSON.stringify(import.meta.resolve('../../src/telemetry/make-directory.ts'))}
    for (const make of [makeDirectory, async (path) => makeDirectorySync(path)])
      await make('/proc/godwit/log').then(() => console.log('made'), ({ code }) => console.log(code))`
  const { stdout, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    timeout: 20_000,
    killSignal: 'SIGKILL',
    encoding: 'utf8',
  })
  assert.deepEqual({ stdout, signal }, { stdout: 'ENOENT\nENOENT\n', signal: null })
})
