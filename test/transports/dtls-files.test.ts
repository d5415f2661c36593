// Files of a DTLS socket: they are read again on request, and invalid ones leave the previous ones in use.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openDtls } from '../../src/transports/index.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { plainTls } from './tls-stage.ts'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const noTimer = { schedule: () => {}, begin: () => {}, stop: () => {} }

test('reload reads changed files of a DTLS socket at once, and reports whether they are in use', async (t) => {
  const file = join(await temporaryFolder(t), 'keys.txt')
  const valid = 'device:00112233445566778899aabbccddeeff\n'
  await writeFile(file, valid)
  const problems: (string | undefined)[] = []
  const socket = await openDtls({
    host: '127.0.0.1',
    port: 0,
    accessRules: [],
    settings: {
      files: { ...plainTls, certificate: undefined, acceptsPsk: true, pskFile: file },
      suites: undefined,
      keys: [],
      usesConnectionIds: false,
    },
    maxClients: 1,
    log: silent,
    nowMs: () => 0,
    createTimer: () => noTimer,
    guarded: (work) => work(),
    findStoredKey: () => undefined,
    onProblem: (problem) => problems.push(problem?.setting),
    onDatagram: () => {},
    onFault: (error) => assert.fail(error),
  })
  t.after(() => socket.close())
  await socket.reload()
  for (const text of ['device: no key\n', `${valid}# renewed\n`]) {
    await writeFile(file, text)
    await socket.reload()
  }
  assert.deepEqual(problems, ['psk_file', undefined])
})
