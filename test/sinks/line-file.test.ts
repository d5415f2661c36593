// Files of lines: a written line is complete and on disk; files are rotated by size and number.

import assert from 'node:assert/strict'
import { appendFile, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { LineFile, type AppendOptions } from '../../src/sinks/file/line-file.ts'
import { type Scope, temporaryFolder } from '../e2e/godwit-process.ts'

const options: AppendOptions = { maxFileBytes: 1_048_576, maxFiles: 10, header: '', timeoutMs: 10_000 }

async function fileIn(t: Scope, name = 'lines.txt') {
  const folder = await temporaryFolder(t)
  const file = new LineFile(join(folder, name))
  t.after(() => file.close())
  const append = (lines: readonly string[], changed: Partial<AppendOptions> = {}) =>
    file.append(
      lines.map((line) => Buffer.from(line)),
      { ...options, ...changed },
    )
  return { folder, path: file.path, append, read: () => readFile(file.path, 'utf8') }
}

describe('a file of lines', () => {
  test('has each line once, in the order of the calls, and only its owner can read it', async (t) => {
    const { path, append, read } = await fileIn(t, 'new/folder/lines.txt')
    const results = await Promise.all([append(['a', 'b']), append(['c']), append(['d', 'e'])])
    assert.deepEqual(results.flat(), [undefined, undefined, undefined, undefined, undefined])
    assert.equal(await read(), 'a\nb\nc\nd\ne\n')
    assert.equal((await stat(path)).mode & 0o777, 0o600)
  })

  test('removes the permissions of other users from an existing file, and appends to its lines', async (t) => {
    const { path, append, read } = await fileIn(t)
    await writeFile(path, 'before\n', { mode: 0o644 })
    await append(['after'])
    assert.equal(await read(), 'before\nafter\n')
    assert.equal((await stat(path)).mode & 0o777, 0o600)
  })

  test('writes its header again if the disk was full in the middle of it', async (t) => {
    const { path, append, read } = await fileIn(t)
    await writeFile(path, 'topic,nu')
    await append(['a,1'], { header: 'topic,number' })
    assert.equal(await read(), 'topic,number\na,1\n')
  })

  test('is rotated before it grows beyond its size, and the oldest is deleted', async (t) => {
    const { folder, append } = await fileIn(t)
    const ten = '123456789'
    for (let number = 0; number < 10; number++) {
      const [problem] = await append([`${ten.slice(1)}${number}`], { maxFileBytes: 25, maxFiles: 3 })
      assert.equal(problem, undefined)
    }
    const files = (await readdir(folder)).toSorted()
    assert.deepEqual(files, ['lines.txt', 'lines.txt.1', 'lines.txt.2'])
    const contents = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
    assert.deepEqual(
      contents.map((text) => text.replaceAll('23456789', '')),
      ['8\n9\n', '6\n7\n', '4\n5\n'],
    )
  })

  test('is rotated within one call, and a line that is larger than the maximum has its own file', async (t) => {
    const { folder, append } = await fileIn(t)
    const results = await append(['a'.repeat(9), 'b'.repeat(50), 'c'.repeat(9), 'd'.repeat(9)], { maxFileBytes: 20 })
    assert.deepEqual(results, [undefined, undefined, undefined, undefined])
    const sizes = await Promise.all(
      ['.2', '.1', ''].map(async (end) => (await stat(join(folder, `lines.txt${end}`))).size),
    )
    assert.deepEqual(sizes, [10, 51, 20])
  })

  test('has a header at the beginning of each file, also after a rotation', async (t) => {
    const { path, append, read } = await fileIn(t)
    const limits = { header: 'n,m', maxFileBytes: 12 }
    await append(['1,1'], limits)
    await append(['2,2'], limits)
    await append(['3,3'], limits)
    assert.equal(await readFile(`${path}.1`, 'utf8'), 'n,m\n1,1\n2,2\n')
    assert.equal(await read(), 'n,m\n3,3\n')
  })

  test('is replaced on rotation if the maximum is one file', async (t) => {
    const { folder, append, read } = await fileIn(t)
    await append(['1'.repeat(9)], { maxFiles: 1, maxFileBytes: 15 })
    await append(['2'.repeat(9)], { maxFiles: 1, maxFileBytes: 15 })
    assert.deepEqual(await readdir(folder), ['lines.txt'])
    assert.equal(await read(), '222222222\n')
  })
})

describe('a file of lines after a failure', () => {
  test('loses only the incomplete line of a crash', async (t) => {
    const { path, append, read } = await fileIn(t)
    await writeFile(path, `whole\n${'torn'.repeat(100_000)}`)
    await append(['next'])
    assert.equal(await read(), 'whole\nnext\n')
  })

  test('gets a line end after the incomplete line of another process', async (t) => {
    const { path, append, read } = await fileIn(t)
    await writeFile(path, 'not a line')
    await append(['next'])
    assert.equal(await read(), 'not a line\nnext\n')
  })

  test('is created again if it was moved or deleted', async (t) => {
    const { path, append, read } = await fileIn(t)
    await append(['1'])
    await rename(path, `${path}-moved`)
    await append(['2'])
    assert.equal(await read(), '2\n')
    await rm(path)
    await append(['3'])
    assert.equal(await read(), '3\n')
    assert.equal(await readFile(`${path}-moved`, 'utf8'), '1\n')
  })

  test('reports the error while it cannot be written, and is written when it can', async (t) => {
    const { folder, append, read } = await fileIn(t, 'below/lines.txt')
    await writeFile(join(folder, 'below'), '')
    const [problem] = await append(['1'])
    assert.match(problem ?? '', /ENOTDIR|EEXIST/)
    await rm(join(folder, 'below'))
    assert.deepEqual(await append(['1']), [undefined])
    assert.equal(await read(), '1\n')
  })

  test('is refused if its path is a link or not a regular file', async (t) => {
    const { folder, path, append } = await fileIn(t)
    await appendFile(join(folder, 'elsewhere'), '')
    await symlink('elsewhere', path)
    assert.match((await append(['1']))[0] ?? '', /is not a regular file/)
    await rm(path)
    await mkdir(path)
    assert.match((await append(['1']))[0] ?? '', /is not a regular file/)
    assert.equal(await readFile(join(folder, 'elsewhere'), 'utf8'), '')
  })

  test('keeps all files if a crash interrupted a rotation', async (t) => {
    const { folder, path, append } = await fileIn(t)
    // The crash was after .1 was moved to .2, and before the current file was moved to .1.
    await writeFile(`${path}.2`, 'old\n')
    await writeFile(path, `${'x'.repeat(30)}\n`)
    await append(['new'], { maxFileBytes: 31, maxFiles: 3 })
    assert.deepEqual((await readdir(folder)).toSorted(), ['lines.txt', 'lines.txt.1', 'lines.txt.2'])
    assert.equal(await readFile(`${path}.2`, 'utf8'), 'old\n')
  })
})
