// Each result code: a request here causes it, or the reference of errors states why no request can.

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { signToken } from '../../src/access/index.ts'
import { unusedCodes, type ResultCodeName, resultCodes } from '../../src/contract/index.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { type RequestOptions, startBrokerWithApi } from './api.ts'

type Provocation = readonly [path: string, options?: RequestOptions]

const user = { username: 'anna', password: 'a-password' }

/** Requests that cause each code, in this order. */
const provocations: Partial<Record<ResultCodeName, Provocation>> = {
  success: ['/api/v4/auth_username', { method: 'POST', body: user }],
  rpcError: ['/api/v4/ctrl/dance', { method: 'POST' }],
  unknownError: ['/api/v4/nowhere'],
  wrongCredentials: ['/api/v4/brokers', { as: 'admin:wrong' }],
  emptyCredentials: ['/api/v4/brokers', { as: null }],
  userNotFound: ['/api/v4/auth_username/nobody', { method: 'DELETE' }],
  adminCannotBeDeleted: ['/api/v4/users/admin', { method: 'DELETE' }],
  missingParameter: ['/api/v4/mqtt/publish', { method: 'POST', body: { topic: 'a' } }],
  invalidParameter: ['/api/v4/clients?clean_start=perhaps'],
  notJson: ['/api/v4/mqtt/publish', { method: 'POST', body: '{' }],
  clientOffline: ['/api/v4/clients/nobody', { method: 'DELETE' }],
  userExists: ['/api/v4/auth_username', { method: 'POST', body: user }],
  wrongOldPassword: [
    '/api/v4/change_pwd/bert',
    { method: 'PUT', body: { old_pwd: 'not-the-old-one', new_pwd: 'another-password' } },
  ],
  invalidTopic: ['/api/v4/mqtt/publish', { method: 'POST', body: { topic: 'a/#', payload: 'x' } }],
  notHocon: ['/api/v4/config_update', { method: 'POST', body: 'a = {' }],
}

test('each code of the table is returned for a request, or the test states why not', async (t) => {
  const folder = await temporaryFolder(t)
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const keyFile = join(folder, 'public.pem')
  await writeFile(keyFile, publicKey.export({ type: 'spki', format: 'pem' }))
  const broker = await startBrokerWithApi(t, { set: [`http_server.jwt.public.keyfile="${keyFile}"`] })
  const bert = { username: 'bert', password: 'correct-horse' }
  assert.equal((await broker.request('/api/v4/users', { method: 'POST', body: bert })).status, 200)
  const seen = new Set<number>()
  for (const [name, [path, options]] of Object.entries(provocations)) {
    const response = await broker.request(path, options)
    assert.equal(response.json.code, resultCodes[name as ResultCodeName].code, `${name}: ${response.text}`)
    if (name !== 'success') assert.notEqual(response.json.message, '', name)
    seen.add(response.json.code)
  }
  const ended = await signToken(
    { sub: 'late', exp: 1_000 },
    String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  )
  assert.ok('token' in ended)
  const expired = await broker.request('/api/v4/brokers', {
    as: null,
    headers: { authorization: `Bearer ${ended.token}` },
  })
  assert.deepEqual([expired.status, expired.json.code], [401, 116])
  seen.add(116)
  for (const [name, { code }] of Object.entries(resultCodes)) {
    if (testedInOtherFiles.has(name) || unusedCodes[name as ResultCodeName] !== undefined) continue
    assert.ok(seen.has(code), `no request here gets ${code} (${name})`)
  }
})

/** Code 118 needs a failing disk: see test/management/configuration.test.ts. */
const testedInOtherFiles = new Set(['configNotWritten'])
