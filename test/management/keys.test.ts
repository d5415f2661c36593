// Pre-shared keys and SCRAM users that are stored over the API.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { shared, temporaryFolder } from '../e2e/godwit-process.ts'
import { type BrokerWithApi, portOfListener, shareConfigurableBroker } from './api.ts'
import { promised, refused } from './documented-responses.ts'

const key = '00112233445566778899aabbccddeeff'

/** Whether the TLS handshake with this key succeeds. */
async function canConnect(port: number, identity: string, hex: string): Promise<boolean> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    maxVersion: 'TLSv1.2',
    ciphers: 'PSK+HIGH:ECDHE-PSK-CHACHA20-POLY1305',
    pskCallback: () => ({ psk: Buffer.from(hex, 'hex'), identity }),
    checkServerIdentity: () => undefined,
  })
  try {
    await once(socket, 'secureConnect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** A broker with a listener that accepts stored keys, and one that also has a file with a key for `pump-1`. */
async function sharedBroker(more: readonly string[] = []): Promise<BrokerWithApi> {
  const listeners = [
    'bind="127.0.0.1:0"',
    'psk=true',
    'filed.bind="127.0.0.1:0"',
    `filed.psk_file="${await keyFile()}"`,
  ]
  return configuredBroker([...listeners.map((setting) => `listeners.ssl.${setting}`), ...more])
}

const configuredBroker = shareConfigurableBroker(['node.shards=1'])
const keyFile = shared(async (scope) => {
  const file = join(await temporaryFolder(scope), 'psk.txt')
  await writeFile(file, `pump-1:${key}\n`)
  return file
})

test('a listener with `psk = true` and without a key file accepts stored keys', async () => {
  const broker = await sharedBroker()
  const port = await portOfListener(broker, 'ssl')
  assert.equal(await canConnect(port, 'pump-9', key), false)
  const body = { identity: 'pump-9', key }
  promised('create_auth_psk', await broker.request('/api/v4/auth_psk', { method: 'POST', body }))
  assert.equal(await canConnect(port, 'pump-9', key), true)
  assert.equal(await canConnect(port, 'pump-9', key.replace('00', 'ff')), false)
  promised('delete_auth_psk', await broker.request('/auth_psk/pump-9', { method: 'DELETE' }))
})

test('a key of a namespace is accepted only if the listener or the identity selects that namespace', async () => {
  const broker = await sharedBroker(['namespaces.enable=true', 'namespaces.username="${namespace}/*"'])
  const port = await portOfListener(broker, 'ssl')
  const make = async (namespace: string, identity: string, secret: string): Promise<void> => {
    const body = { identity, key: secret }
    const path = `/api/v4/auth_psk?namespace=${namespace}`
    promised('create_auth_psk', await broker.request(path, { method: 'POST', body }))
  }
  const other = key.replace('00', 'ff')
  await make('plant', 'plant/pump', key)
  await make('plant', 'pump', key)
  await make('plant', 'shop/pump', key)
  assert.equal(await canConnect(port, 'plant/pump', key), true)
  // A key that the administrator of `plant` stores for an identity of another namespace, or of none, has no effect.
  assert.equal(await canConnect(port, 'shop/pump', key), false)
  assert.equal(await canConnect(port, 'pump', key), false)
  await make('', 'plant/pump', other)
  assert.deepEqual(
    [await canConnect(port, 'plant/pump', other), await canConnect(port, 'plant/pump', key)],
    [false, true],
  )
  await make('', 'plant/valve', other)
  assert.equal(await canConnect(port, 'plant/valve', other), true)
  assert.deepEqual((await broker.request('/api/v4/auth_psk')).json.data, [
    { identity: 'plant/valve' },
    { identity: 'plant/pump' },
  ])
  const removed = await broker.request('/api/v5/namespaces/plant', { method: 'DELETE' })
  assert.equal(removed.status, 200, removed.text)
  assert.deepEqual(
    [await canConnect(port, 'plant/pump', other), await canConnect(port, 'plant/pump', key)],
    [true, false],
  )
  for (const identity of ['plant/pump', 'plant/valve']) {
    const path = `/auth_psk/${encodeURIComponent(identity)}`
    promised('delete_auth_psk', await broker.request(path, { method: 'DELETE' }))
  }
})

test('a stored key is accepted at once, and replaces the key of the same identity in the file', async () => {
  const broker = await sharedBroker()
  const port = await portOfListener(broker, 'ssl', 'filed')
  assert.deepEqual([await canConnect(port, 'pump-1', key), await canConnect(port, 'pump-2', key)], [true, false])
  const body = [
    { identity: 'pump-2', key },
    { identity: 'pump-1', key: key.replace('00', 'ff') },
  ]
  promised('create_auth_psk', await broker.request('/api/v4/auth_psk', { method: 'POST', body }))
  assert.deepEqual([await canConnect(port, 'pump-1', key), await canConnect(port, 'pump-2', key)], [false, true])
  const listed = await broker.request('/api/v4/auth_psk')
  assert.deepEqual(promised('list_auth_psk', listed).data, [{ identity: 'pump-1' }, { identity: 'pump-2' }])
  assert.deepEqual(promised('lookup_auth_psk', await broker.request('/auth_psk/pump-2')).data, { identity: 'pump-2' })
  const another = { key: key.replace('00', '77') }
  promised('update_auth_psk', await broker.request('/auth_psk/pump-2', { method: 'PUT', body: another }))
  assert.deepEqual(
    [await canConnect(port, 'pump-2', key), await canConnect(port, 'pump-2', another.key)],
    [false, true],
  )
  for (const { identity } of body) {
    promised('delete_auth_psk', await broker.request(`/auth_psk/${identity}`, { method: 'DELETE' }))
  }
  assert.deepEqual(
    [await canConnect(port, 'pump-1', key), await canConnect(port, 'pump-2', another.key)],
    [true, false],
  )
})

test('an invalid key is refused, and the error does not show it', async () => {
  const broker = await sharedBroker()
  const create = (body: unknown) => broker.request('/auth_psk', { method: 'POST', body })
  for (const wrong of ['0011', `${key}0`, `${key}zz`, 'ab'.repeat(257)]) {
    const response = await create({ identity: 'a', key: wrong })
    refused(response, 'invalidParameter')
    assert.ok(!response.text.includes(wrong))
  }
  refused(await create({ identity: 'i'.repeat(129), key }), 'invalidParameter')
  refused(await create({ identity: 'a\nb', key }), 'invalidParameter')
  refused(await create({ identity: '', key }), 'emptyCredentials', 400)
  refused(await create({ identity: 'a' }), 'missingParameter')
})

test('the name of a SCRAM user is normalized, and responses contain its algorithm but no key', async () => {
  const broker = await sharedBroker()
  const body = { username: 'ａlice', password: 'secret', algorithm: 'SCRAM-SHA-512' }
  promised('create_auth_scram', await broker.request('/auth_scram', { method: 'POST', body }))
  refused(await broker.request('/auth_scram', { method: 'POST', body: { ...body, username: 'alice' } }), 'userExists')
  const { data } = promised('lookup_auth_scram', await broker.request('/auth_scram/alice'))
  assert.deepEqual(data, { username: 'alice', algorithm: 'SCRAM-SHA-512', created_at: data.created_at })
  promised(
    'update_auth_scram',
    await broker.request('/auth_scram/alice', { method: 'PUT', body: { password: 'other' } }),
  )
  assert.deepEqual(promised('list_auth_scram', await broker.request('/auth_scram')).data, [data])
  const wrong = await broker.request('/auth_scram', { method: 'POST', body: { ...body, algorithm: 'SCRAM-MD5' } })
  refused(wrong, 'invalidParameter')
  promised('delete_auth_scram', await broker.request('/auth_scram/alice', { method: 'DELETE' }))
  refused(await broker.request('/auth_scram/alice'), 'userNotFound')
})
