import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createIncludeReader, readConfigFile } from '../../src/node/configuration/layers/config-files.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'

interface Tree {
  /** The configuration file. */
  file: string
  folder: string
  outside: string
}

async function tree(t: TestContext): Promise<Tree> {
  const top = await temporaryFolder(t)
  const folder = join(top, 'etc')
  await mkdir(join(folder, 'parts'), { recursive: true })
  const outside = join(top, 'secret')
  await writeFile(outside, 'secret = 1')
  await writeFile(join(folder, 'parts', 'log.conf'), 'log.level = info')
  return { file: join(folder, 'godwit.conf'), folder, outside }
}

test('an include of a file below the folder of the configuration is read, also with an absolute path', async (t) => {
  const { file, folder } = await tree(t)
  const read = createIncludeReader(file)
  assert.deepEqual(read('parts/log.conf', file), { text: 'log.level = info' })
  assert.deepEqual(read(join(folder, 'parts', 'log.conf'), file), { text: 'log.level = info' })
})

test('an include in an included file is relative to that file', async (t) => {
  const { file, folder } = await tree(t)
  assert.deepEqual(createIncludeReader(file)('log.conf', join(folder, 'parts', 'all.conf')), {
    text: 'log.level = info',
  })
})

test('a symbolic link within the folder is followed, because mounted configurations contain them', async (t) => {
  const { file, folder } = await tree(t)
  await symlink(join(folder, 'parts', 'log.conf'), join(folder, 'linked.conf'))
  assert.deepEqual(createIncludeReader(file)('linked.conf', file), { text: 'log.level = info' })
})

test('a configuration that includes itself with another path is refused', async (t) => {
  const { file, folder } = await tree(t)
  await writeFile(join(folder, 'real.conf'), 'log.level = info')
  await symlink(join(folder, 'real.conf'), file)
  for (const from of [file, join(folder, 'parts', 'log.conf')]) {
    assert.deepEqual(createIncludeReader(file)(join(folder, 'real.conf'), from), {
      error: 'the file includes itself: remove this include',
    })
  }
})

test('a file outside the folder cannot be included, whatever the path or link', async (t) => {
  const { file, folder, outside } = await tree(t)
  const read = createIncludeReader(file)
  await symlink(outside, join(folder, 'link.conf'))
  await symlink(join(folder, '..'), join(folder, 'up'))
  for (const path of [
    '../secret',
    outside,
    'parts/../../secret',
    'link.conf',
    'up/secret',
    '/etc/passwd',
    '/etc/no-such-file',
    '../none',
    '.',
  ]) {
    assert.deepEqual(read(path, file), { error: `only files below ${folder} can be included` }, path)
  }
})

test('the error for a missing file, a folder or a file that is too large states the reason', async (t) => {
  const { file, folder } = await tree(t)
  assert.deepEqual(readConfigFile(file), { error: 'there is no such file' })
  assert.deepEqual(createIncludeReader(file)('none.conf', file), { error: 'there is no such file' })
  assert.deepEqual(readConfigFile(folder), { error: 'it is not a file' })
  await writeFile(file, '#'.repeat(1_048_577))
  assert.deepEqual(readConfigFile(file), { error: 'it has more than 1048576 bytes' })
  await writeFile(file, '#'.repeat(1_048_576))
  assert.ok('text' in readConfigFile(file))
})
