// Credentials of MQTT clients over the API: users, pre-shared keys and SCRAM users. A change applies to the next CONNECT.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { connect } from 'node:tls'
import { connectAsync, type ErrorWithReasonCode, type IClientOptions, type MqttClient } from 'mqtt'
import { shared, temporaryFolder } from '../e2e/godwit-process.ts'
import {
  type BrokerWithApi,
  portOfListener,
  restartBroker,
  shareConfigurableBroker,
  startBrokerWithApi,
} from './api.ts'
import { promised, refused } from './documented-responses.ts'
import { requestOverSocket } from './http.ts'

/** Returns 0 if the client connects, else the reason code of CONNACK. */
async function outcomeOf(broker: BrokerWithApi, options: { username?: string; clientId?: string; password: string }) {
  const url = `mqtt://127.0.0.1:${broker.port}`
  try {
    const client = await connectAsync(url, {
      username: 'somebody',
      ...options,
      protocolVersion: 5,
      reconnectPeriod: 0,
      connectTimeout: 5_000,
    })
    await client.endAsync()
    return 0
  } catch (error) {
    return (error as ErrorWithReasonCode).code
  }
}

const wrongPassword = 0x86

/** Tests compare complete lists of user names: each test removes the users that it created. */
const sharedBroker = shareConfigurableBroker(['node.shards=2'])

for (const [path, key, list] of [
  ['/api/v4/auth_username', 'username', 'auth_username'],
  ['/auth_username', 'username', 'auth_username'],
  ['/api/v4/auth_clientid', 'clientid', 'auth_clientid'],
  ['/auth_clientid', 'clientid', 'auth_clientid'],
] as const) {
  describe(path, () => {
    test('creates, shows, changes and deletes credentials, with effect on the next CONNECT', async () => {
      const broker = await sharedBroker()
      const reasonCodeWith = (password: string): Promise<number> => {
        return outcomeOf(broker, key === 'username' ? { username: 'alice', password } : { clientId: 'alice', password })
      }
      const before = Date.now()
      const created = await broker.request(path, { method: 'POST', body: { [key]: 'alice', password: 'first' } })
      assert.deepEqual(promised(`create_${list}`, created), { code: 0 })
      assert.deepEqual([await reasonCodeWith('first'), await reasonCodeWith('other')], [0, wrongPassword])

      const one = promised(`lookup_${list}`, await broker.request(`${path}/alice`))
      assert.ok(one.data.created_at >= before && one.data.created_at <= Date.now())
      assert.deepEqual(one, { code: 0, data: { [key]: 'alice', created_at: one.data.created_at } })

      const changed = await broker.request(`${path}/alice`, {
        method: 'PUT',
        body: { [key]: 'bob', password: 'second' },
      })
      assert.deepEqual(promised(`update_${list}`, changed), { code: 0 })
      assert.deepEqual([await reasonCodeWith('first'), await reasonCodeWith('second')], [wrongPassword, 0])
      assert.deepEqual(
        promised(`lookup_${list}`, await broker.request(`${path}/alice`)),
        one,
        'a change keeps the time of creation',
      )
      refused(await broker.request(`${path}/bob`), 'userNotFound')

      promised(`delete_${list}`, await broker.request(`${path}/alice`, { method: 'DELETE' }))
      assert.equal(await reasonCodeWith('anything'), 0, 'without users, clients on loopback can connect')
    })
  })
}

describe('invalid credentials', () => {
  test('are refused with the code of the error', async () => {
    const broker = await sharedBroker()
    const create = (body: unknown) => broker.request('/auth_username', { method: 'POST', body })
    refused(await create({ username: 'alice' }), 'missingParameter')
    refused(await create({ password: 'x' }), 'missingParameter')
    refused(await create({ username: 'alice', password: '' }), 'emptyCredentials', 400)
    refused(await create({ username: '', password: 'x' }), 'emptyCredentials', 400)
    refused(await create({ username: 'alice', password: 7 }), 'invalidParameter')
    refused(await create({ username: ['alice'], password: 'x' }), 'invalidParameter')
    refused(await create({ username: 'al\u0000ice', password: 'x' }), 'invalidParameter')
    refused(await create({ username: '\ud800', password: 'x' }), 'invalidParameter')
    refused(await create({ username: 'a'.repeat(65_536), password: 'x' }), 'invalidParameter')
    refused(await create({ username: 'alice', password: 'x'.repeat(65_536) }), 'invalidParameter')
    refused(await create({ username: 'alice', password: 'x', namespace: 'plant' }), 'invalidParameter')
    refused(await create('"alice"'), 'notJson')
    refused(await create('null'), 'notJson')
    refused(await create('{"username":'), 'notJson')
    refused(await create(''), 'notJson')
    promised('create_auth_username', await create({ username: 'alice', password: 'x' }))
    refused(await create({ username: 'alice', password: 'y' }), 'userExists')
    refused(await broker.request('/auth_username/bob', { method: 'PUT', body: { password: 'x' } }), 'userNotFound')
    refused(await broker.request('/auth_username/alice', { method: 'PUT', body: {} }), 'missingParameter')
    refused(
      await broker.request('/auth_username/alice', { method: 'PUT', body: { password: '' } }),
      'emptyCredentials',
      400,
    )
    refused(await broker.request('/auth_username/alice', { method: 'PUT', body: '[' }), 'notJson')
    refused(await broker.request('/auth_username/alice', { method: 'PUT', body: [] }), 'notJson')
    promised('delete_auth_username', await broker.request('/auth_username/alice', { method: 'DELETE' }))
    refused(await broker.request('/auth_username/bob', { method: 'DELETE' }), 'userNotFound')
    refused(await broker.request('/auth_clientid/alice'), 'userNotFound')
  })

  test('are refused with the name of an unknown key, whether it could mean permissions or not', async () => {
    const broker = await sharedBroker()
    for (const [path, entry, known] of [
      ['/auth_username', { username: 'eve', password: 'x' }, 'username, password'],
      ['/auth_clientid', { clientid: 'eve', password: 'x' }, 'clientid, password'],
      ['/auth_scram', { username: 'eve', password: 'x' }, 'username, password, algorithm'],
      ['/auth_psk', { identity: 'eve', key: '00112233445566778899aabbccddeeff' }, 'identity, key'],
    ] as const) {
      for (const key of ['is_superuser', 'Algorithm', 'Password', 'foo', '__proto__']) {
        const body = `${JSON.stringify(entry).slice(0, -1)},"${key}":"x"}`
        const response = await broker.request(path, { method: 'POST', body })
        refused(response, 'invalidParameter')
        assert.equal(response.json.message, `"${key}" in the body is unknown here; use ${known}`)
        const batch = await broker.request(path, { method: 'POST', body: `[${body}]` })
        assert.deepEqual(batch.json, { code: 0, data: { eve: '{error,badarg}' } })
      }
      const again = { ...entry, created_at: 1, nothing: null }
      assert.equal((await broker.request(path, { method: 'POST', body: again })).status, 200)
      refused(await broker.request(`${path}/eve`, { method: 'PUT', body: { ...entry, foo: 1 } }), 'invalidParameter')
      assert.equal((await broker.request(`${path}/eve`, { method: 'PUT', body: again })).status, 200)
      assert.equal((await broker.request(`${path}/eve`, { method: 'DELETE' })).status, 200)
    }
  })

  test('in a batch are reported for each item, and the valid items are created', async () => {
    const broker = await sharedBroker()
    const body = `[{"username":"a","password":"1"},{"username":"b"},{"username":"c","password":""},7,
      {"password":"x"},{"username":"a","password":"2"},{"username":"__proto__","password":"p"}]`
    const { data } = promised('create_auth_username', await broker.request('/auth_username', { method: 'POST', body }))
    const expected = {
      3: '{error,badarg}',
      4: '{error,login}',
      a: '{error,existed}',
      b: '{error,password}',
      c: '{error,password}',
    }
    assert.deepEqual(Object.entries(data), [...Object.entries(expected), ['__proto__', 'ok']])
    const { data: stored } = promised('list_auth_username', await broker.request('/auth_username'))
    assert.deepEqual(
      stored.map(({ username }: { username: string }) => username),
      ['__proto__', 'a'],
    )
    assert.equal(await outcomeOf(broker, { username: 'a', password: '1' }), 0)
    const none = promised('create_auth_username', await broker.request('/auth_username', { method: 'POST', body: [] }))
    assert.deepEqual(none, { code: 0, data: {} })
    for (const username of ['__proto__', 'a'])
      promised('delete_auth_username', await broker.request(`/auth_username/${username}`, { method: 'DELETE' }))
  })
})

const pathOf = (username: string): string => `/api/v4/auth_username/${encodeURIComponent(username)}`

describe('user names', () => {
  const longest = ['a'.repeat(65_535), `${'💧'.repeat(16_383)}abc`]
  const names = ['a/b', 'what?', '#', 'a%2Fb', '%', '%25', 'ä ö', '..', '+', 'true', '💧', '\n', ...longest]

  test('may contain any character, percent-encoded in the path', async () => {
    const broker = await sharedBroker()
    const body = names.map((username) => ({ username, password: 'x' }))
    promised('create_auth_username', await broker.request('/auth_username', { method: 'POST', body }))
    for (const username of names.filter((name) => name !== '..' && !longest.includes(name))) {
      const path = pathOf(username)
      const { data } = promised('lookup_auth_username', await broker.request(path))
      assert.equal(data.username, username)
      promised('delete_auth_username', await broker.request(path, { method: 'DELETE' }))
      refused(await broker.request(path), 'userNotFound')
    }
    const socket = join(broker.dataDirectory, 'ctl.sock')
    for (const username of ['..', ...longest])
      assert.equal((await requestOverSocket(socket, pathOf(username), { method: 'DELETE' })).status, 200)
  })

  test('of maximum length are accepted in paths at the control socket; over HTTP the header limit applies', async () => {
    const broker = await sharedBroker()
    const body = longest.map((username) => ({ username, password: 'x' }))
    promised('create_auth_username', await broker.request('/auth_username', { method: 'POST', body }))
    const socket = join(broker.dataDirectory, 'ctl.sock')
    for (const username of longest) {
      const path = pathOf(username)
      refused(await broker.request(path), 'invalidParameter')
      const found = await requestOverSocket(socket, path)
      assert.deepEqual([found.status, found.json.data.username], [200, username])
      assert.equal((await requestOverSocket(socket, path, { method: 'DELETE' })).status, 200)
      assert.equal((await requestOverSocket(socket, path)).status, 404)
    }
  })
})

const list = async (broker: BrokerWithApi, query: string) =>
  promised('list_auth_username', await broker.request(`/auth_username${query}`))
const idsOf = ({ data }: { data: { username: string }[] }): string[] => data.map(({ username }) => username)

const ids = Array.from({ length: 25 }, (_, index) => `user-${index}`)

describe('the list of users', () => {
  test('has pages, the newest user first, and the total number', async () => {
    const broker = await sharedBroker()
    const body = ids.map((username) => ({ username, password: 'x' }))
    promised('create_auth_username', await broker.request('/auth_username', { method: 'POST', body }))
    const newestFirst = ids.toReversed()
    const whole = await list(broker, '')
    assert.deepEqual(idsOf(whole), newestFirst)
    assert.deepEqual(whole.meta, { page: 1, limit: 10_000, count: 25, hasnext: false })
    const second = await list(broker, '?_page=2&_limit=10&whatever=1')
    assert.deepEqual(idsOf(second), newestFirst.slice(10, 20))
    assert.deepEqual(second.meta, { page: 2, limit: 10, count: 25, hasnext: true })
    const last = await list(broker, '?page=3&limit=10')
    assert.deepEqual(idsOf(last), newestFirst.slice(20))
    assert.deepEqual(last.meta, { page: 3, limit: 10, count: 25, hasnext: false })
    const beyond = await list(broker, '?page=9007199254740991&limit=10000')
    assert.deepEqual([idsOf(beyond), beyond.meta.hasnext], [[], false])

    const one = await list(broker, '?username=user-7')
    assert.deepEqual([idsOf(one), one.meta.count], [['user-7'], 1])
    const some = await list(broker, '?_like_username=r-2&_limit=2')
    assert.deepEqual([idsOf(some), some.meta.count, some.meta.hasnext], [['user-24', 'user-23'], 6, true])
    const neither = await list(broker, '?username=user-7&_like_username=8')
    assert.deepEqual([idsOf(neither), neither.meta.count], [[], 0])
    for (const query of ['_page=0', '_page=x', '_limit=-1', 'limit=1.5', 'page=', '_limit=10001']) {
      const response = await broker.request(`/auth_username?${query}`)
      if (query === 'page=') assert.equal(response.status, 200, 'an empty value is ignored')
      else refused(response, 'invalidParameter')
    }
    for (const username of ids)
      promised('delete_auth_username', await broker.request(`/auth_username/${username}`, { method: 'DELETE' }))
  })
})

test('stored credentials', async (t) => {
  const broker = await startBrokerWithApi(t, { set: ['auth.password.alice="from the file"'] })

  await t.test('a stored password replaces the one in the configuration, which is logged once', async () => {
    assert.equal(await outcomeOf(broker, { username: 'alice', password: 'from the file' }), 0)
    const body = { username: 'alice', password: 'from the API' }
    promised('create_auth_username', await broker.request('/auth_username', { method: 'POST', body }))
    await broker.process.until(/configured credential shadowed by a stored one/)
    assert.equal(await outcomeOf(broker, { username: 'alice', password: 'from the file' }), wrongPassword)
    promised('delete_auth_username', await broker.request('/auth_username/alice', { method: 'DELETE' }))
    promised('create_auth_username', await broker.request('/auth_username', { method: 'POST', body }))
    assert.equal(await outcomeOf(broker, { username: 'alice', password: 'from the API' }), 0)
    promised('delete_auth_username', await broker.request('/auth_username/alice', { method: 'DELETE' }))
  })

  await t.test('ten thousand credentials are created at once, and no response or file shows a password', async () => {
    const body = Array.from({ length: 10_000 }, (_, index) => ({ clientid: `c${index}`, password: `secret-${index}` }))
    const response = await broker.request('/auth_clientid', { method: 'POST', body })
    const { data } = promised('create_auth_clientid', response)
    assert.ok(body.every(({ clientid }) => data[clientid] === 'ok'))
    const all = await broker.request('/auth_clientid')
    assert.equal(promised('list_auth_clientid', all).meta.count, 10_000)
    assert.equal(await outcomeOf(broker, { clientId: 'c9999', password: 'secret-9999' }), 0)
    for (const text of [response.text, all.text]) assert.ok(!text.includes('secret-'))
  })

  const restarted = await restartBroker(broker)
  const [log] = await broker.process.until(/^[^]*"shutdown requested".*/)
  assert.equal(log.split('shadowed by a stored one').length - 1, 1)
  assert.doesNotMatch(broker.process.soFar, /from the (file|API)|secret-/)

  await t.test('the list of users is unchanged after a kill and a restart, as are the passwords', async (inner) => {
    const body = ids.map((username) => ({ username, password: `of ${username}` }))
    promised('create_auth_username', await restarted.request('/auth_username', { method: 'POST', body }))
    const before = await list(restarted, '')
    await restarted.process.stop('SIGKILL')
    const again = await startBrokerWithApi(inner, { dataDirectory: broker.dataDirectory })
    assert.deepEqual(await list(again, ''), before)
    assert.equal(await outcomeOf(again, { username: 'user-3', password: 'of user-3' }), 0)
    assert.equal(await outcomeOf(again, { username: 'user-3', password: 'of user-4' }), wrongPassword)
  })
})

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
async function brokerWithKeys(more: readonly string[] = []): Promise<BrokerWithApi> {
  const listeners = [
    'bind="127.0.0.1:0"',
    'psk=true',
    'filed.bind="127.0.0.1:0"',
    `filed.psk_file="${await keyFile()}"`,
  ]
  return sharedBroker([...listeners.map((setting) => `listeners.ssl.${setting}`), ...more])
}

const keyFile = shared(async (scope) => {
  const file = join(await temporaryFolder(scope), 'psk.txt')
  await writeFile(file, `pump-1:${key}\n`)
  return file
})

test('a listener with `psk = true` and without a key file accepts stored keys', async () => {
  const broker = await brokerWithKeys()
  const port = await portOfListener(broker, 'ssl')
  assert.equal(await canConnect(port, 'pump-9', key), false)
  const body = { identity: 'pump-9', key }
  promised('create_auth_psk', await broker.request('/api/v4/auth_psk', { method: 'POST', body }))
  assert.equal(await canConnect(port, 'pump-9', key), true)
  assert.equal(await canConnect(port, 'pump-9', key.replace('00', 'ff')), false)
  promised('delete_auth_psk', await broker.request('/auth_psk/pump-9', { method: 'DELETE' }))
})

test('a key of a namespace is accepted only if the listener or the identity selects that namespace', async () => {
  const broker = await brokerWithKeys(['namespaces.enable=true', 'namespaces.username="${namespace}/*"'])
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

test('a key of a namespace puts its client into the namespace, without a user name', async () => {
  const more = [
    'namespaces.enable=true',
    'namespaces.username="${namespace}/*"',
    'auth.psk.enable=true',
    'auth.allow_anonymous=false',
  ]
  const broker = await brokerWithKeys(more)
  const port = await portOfListener(broker, 'ssl')
  const body = { identity: 'plant/meter', key }
  promised('create_auth_psk', await broker.request('/api/v4/auth_psk?namespace=plant', { method: 'POST', body }))
  const overTls = {
    maxVersion: 'TLSv1.2',
    ciphers: 'PSK+HIGH:ECDHE-PSK-CHACHA20-POLY1305',
    pskCallback: () => ({ psk: Buffer.from(key, 'hex'), identity: 'plant/meter' }),
    checkServerIdentity: () => undefined,
  }
  const connectWithKey = (options: IClientOptions): Promise<MqttClient> =>
    connectAsync(`mqtts://127.0.0.1:${port}`, { reconnectPeriod: 0, clientId: 'meter', ...overTls, ...options })
  for (const options of [{}, { username: 'plant/other' }, { username: 'no namespace' }]) {
    const client = await connectWithKey(options)
    const { json } = await broker.request('/api/v4/clients/meter?namespace=plant')
    assert.deepEqual(
      json.data.map(({ namespace, username }: Record<string, string>) => [namespace, username]),
      [['plant', 'plant/meter']],
    )
    await client.endAsync(true)
  }
  await assert.rejects(connectWithKey({ username: 'shop/meter' }), 'the key is of another namespace than the user name')
  promised('delete_auth_psk', await broker.request('/auth_psk/plant%2Fmeter?namespace=plant', { method: 'DELETE' }))
})

test('a stored key is accepted at once, and replaces the key of the same identity in the file', async () => {
  const broker = await brokerWithKeys()
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
  const broker = await brokerWithKeys()
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
  const broker = await brokerWithKeys()
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
