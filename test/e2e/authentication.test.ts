// Authentication of clients by each method, with the whole program and real clients.

import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import mqtt, { type IClientOptions } from 'mqtt'
import {
  PacketDecoder,
  reasonCodes,
  TopicTable,
  type AuthPacket,
  type ConnackPacket,
  type ConnectPacket,
  type ControlPacket,
  type DisconnectPacket,
  type Packet,
} from '../../src/protocol/index.ts'
import { HttpService } from '../access/http-service.ts'
import { shareConfigurableBroker } from '../management/api.ts'
import { ScramClient } from '../access/scram-client.ts'
import { encode } from '../simulator/wire.ts'
import { runHere } from '../cli/run-here.ts'
import { type Broker, startBroker, temporaryFolder } from './godwit-process.ts'
import { plainConnect } from '../simulator/plain-connect.ts'

const { badUserNameOrPassword, serverUnavailable, notAuthorized } = reasonCodes

/** `in` if the client connects, else the reason code of CONNACK. */
async function outcome(t: TestContext, broker: Broker, options: IClientOptions): Promise<unknown> {
  const url = `mqtt://127.0.0.1:${broker.port}`
  try {
    const client = await mqtt.connectAsync(url, { protocolVersion: 5, reconnectPeriod: 0, ...options })
    t.after(() => client.end(true))
    return 'in'
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

/** The reason code of DISCONNECT after a successful CONNECT; undefined if the client was refused. */
async function endOf(t: TestContext, { port }: Broker, options: IClientOptions): Promise<number | undefined> {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { protocolVersion: 5, reconnectPeriod: 0, ...options })
  t.after(() => client.end(true))
  client.on('error', () => {})
  return new Promise((resolve) => {
    client.once('disconnect', ({ reasonCode = 0 }) => resolve(reasonCode))
    client.once('close', () => resolve(undefined))
  })
}

const onlyKnown = 'auth.allow_anonymous=false'
const configuredBroker = shareConfigurableBroker()

test('users and client IDs of the configuration connect with their passwords', async (t) => {
  const broker = await startBroker(t, {
    set: [
      onlyKnown,
      'auth.password.alice=secret',
      'auth.user.1={ username = bob, password = hidden }',
      'auth.client.1={ clientid = pump-7, password = deep }',
    ],
  })
  for (const [options, expected] of [
    [{ username: 'alice', password: 'secret' }, 'in'],
    [{ username: 'alice', password: 'wrong' }, badUserNameOrPassword],
    [{ username: 'alice', password: 'wrong', protocolVersion: 4 }, 4],
    [{ username: 'bob', password: 'hidden', protocolVersion: 4 }, 'in'],
    [{ clientId: 'pump-7', username: 'any', password: 'deep' }, 'in'],
    [{ clientId: 'pump-7', username: 'any', password: 'secret' }, badUserNameOrPassword],
    [{ username: 'nobody', password: 'secret' }, badUserNameOrPassword],
    [{}, notAuthorized],
    [{ protocolVersion: 4 }, 5],
  ] as const) {
    assert.equal(await outcome(t, broker, options as IClientOptions), expected, JSON.stringify(options))
  }
  // The log arrives over another pipe, later than the responses to the clients, and is complete when the broker has stopped.
  assert.equal(await broker.process.stop(), 0)
  const refusals = broker.process.errors.split('\n').filter((line) => line.includes('client refused'))
  const wrong = refusals.map((line) => JSON.parse(line)).find(({ username }) => username === 'alice')
  const { clientId, listener, address, protocol, reason, why } = wrong
  assert.deepEqual(
    { listener, address, protocol, reason, why },
    {
      listener: 'default',
      address: '127.0.0.1',
      protocol: 'MQTT 5.0',
      reason: '0x86',
      why: 'password: the password is wrong',
    },
  )
  assert.notEqual(clientId, '')
  assert.equal(refusals.length, 6, 'one warning for each refusal')
  assert.doesNotMatch(broker.process.errors, /not authenticated/)
  assert.doesNotMatch(broker.process.output + broker.process.errors, /hidden|secret/)
})

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

test('a client with a token of the issuer connects, until the token expires', async (t) => {
  const folder = await temporaryFolder(t)
  const keyFile = join(folder, 'issuer.pem')
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  await writeFile(keyFile, publicKey.export({ type: 'spki', format: 'pem' }))
  const tokenUntil = (exp: number): string => {
    const input = `${part({ alg: 'EdDSA' })}.${part({ exp, sub: 'pump-7' })}`
    return `${input}.${sign(null, Buffer.from(input), privateKey).toString('base64url')}`
  }
  const broker = await configuredBroker([
    onlyKnown,
    `auth.jwt={ public_key_file = "${keyFile}", verify_claims.sub = "\${clientid}", leeway = 0s }`,
  ])
  const nowSeconds = Math.floor(Date.now() / 1_000)
  const password = tokenUntil(nowSeconds + 600)
  assert.equal(await outcome(t, broker, { clientId: 'pump-7', username: 'x', password }), 'in')
  assert.equal(await outcome(t, broker, { clientId: 'pump-8', username: 'x', password }), badUserNameOrPassword)
  const old = { clientId: 'pump-7', username: 'x', password: tokenUntil(nowSeconds - 60) }
  assert.equal(await outcome(t, broker, old), badUserNameOrPassword)

  let reasonCode: number | undefined
  // A token that expires before the client is connected is refused. Then the next token has a longer life.
  for (let seconds = 2; reasonCode === undefined; seconds *= 2) {
    const short = tokenUntil(Math.floor(Date.now() / 1_000) + seconds)
    reasonCode = await endOf(t, broker, { clientId: 'pump-7', username: 'x', password: short })
  }
  assert.ok(reasonCode >= 0x80)
})

test('the error for a key file without a key, or a missing key file, names the setting and its line', async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'godwit.conf')
  await writeFile(join(folder, 'key.pem'), 'hello')
  await writeFile(file, 'listeners.tcp.bind = "127.0.0.1:0"\nauth.jwt {\n  public_key_file = key.pem\n}\n')
  const words = ['start', '--data', join(folder, 'data'), '--config', file]
  const wrong = await runHere(words)
  assert.equal(wrong.code, 1)
  assert.match(wrong.errors, /godwit\.conf:3:\d+: auth\.jwt\.public_key_file: .*no public key/)
  await rm(join(folder, 'key.pem'))
  const missingFile = await runHere(words)
  assert.equal(missingFile.code, 1)
  assert.match(
    missingFile.errors,
    /godwit\.conf:3:\d+: auth\.jwt\.public_key_file: key\.pem cannot be read: there is no such file/,
  )
})

test('a reload applies new passwords, and a reload with an invalid key file changes nothing', async (t) => {
  const broker = await configuredBroker([onlyKnown, 'auth.password.alice = old'])
  const { configFile, process } = broker
  const configured = (auth: string): Promise<void> =>
    writeFile(configFile, `auth { allow_anonymous = false\n${auth} }\n`)
  await writeFile(join(dirname(configFile), 'key.pem'), 'hello')
  await configured('password.alice = new\njwt.public_key_file = key.pem')
  process.child.kill('SIGHUP')
  await process.until(/no public key/)
  assert.equal(await outcome(t, broker, { username: 'alice', password: 'new' }), badUserNameOrPassword)
  assert.equal(await outcome(t, broker, { username: 'alice', password: 'old' }), 'in')
  await configured('password.alice = new')
  process.child.kill('SIGHUP')
  await process.until(/configuration reloaded.*"by":"signal"/)
  assert.equal(await outcome(t, broker, { username: 'alice', password: 'old' }), badUserNameOrPassword)
  assert.equal(await outcome(t, broker, { username: 'alice', password: 'new' }), 'in')
})

test('an HTTP service decides about clients and their actions; without it no client connects', async (t) => {
  const service = await HttpService.start(t)
  service.respond = ({ path, query }, response) => {
    const isRight =
      path === '/auth' ? query.u === 'alice' && query.p === 'secret' : (query.t ?? '').startsWith(`own/${query.c}/`)
    response.writeHead(isRight ? 200 : 403).end()
  }
  const broker = await configuredBroker([
    onlyKnown,
    `auth.http_auth.auth_req={ url = "${service.url('/auth')}", method = GET, params { u = "%u", p = "%P" } }`,
    `auth.http_auth.acl_req={ url = "${service.url('/acl')}", method = GET, params { c = "%c", t = "%t", A = "%A" } }`,
    'auth.http_auth.timeout=20s',
  ])
  assert.equal(await outcome(t, broker, { username: 'alice', password: 'wrong' }), badUserNameOrPassword)
  const url = `mqtt://127.0.0.1:${broker.port}`
  const alice = {
    protocolVersion: 5,
    reconnectPeriod: 0,
    username: 'alice',
    password: 'secret',
    clientId: 'alice',
  } as const
  const client = await mqtt.connectAsync(url, alice)
  t.after(() => client.end(true))
  const receivedMessages = once(client as unknown as NodeJS.EventEmitter, 'message')
  await client.subscribeAsync('own/alice/#', { qos: 1 })
  await assert.rejects(client.publishAsync('own/bob/x', 'no', { qos: 1 }), { code: notAuthorized })
  await client.publishAsync('own/alice/x', 'yes', { qos: 1 })
  const [topic, payload] = await receivedMessages
  assert.deepEqual([topic, String(payload)], ['own/alice/x', 'yes'])
  assert.ok(service.requests.some(({ query }) => query.t === 'own/alice/#' && query.A === '1'))
  await service.stop()
  assert.equal(await outcome(t, broker, { username: 'alice', password: 'secret' }), serverUnavailable)
})

/** A client that sends given packets, which client libraries do not send. */
class RawClient {
  readonly received: Packet[] = []
  readonly #socket
  #look: () => void = () => undefined

  constructor(t: TestContext, port: number) {
    this.#socket = connect({ host: '127.0.0.1', port })
    t.after(() => this.#socket.destroy())
    const decoder = new PacketDecoder({
      role: 'client',
      version: 5,
      topics: new TopicTable(16),
      maxPacketBytes: 65_536,
      maxPropertyBytes: 65_536,
      maxTopicLevels: 128,
      maxTopicBytes: 65_535,
    })
    this.#socket.on('data', (chunk: Buffer) => {
      decoder.push(chunk)
      for (let packet = decoder.next(); packet !== undefined; packet = decoder.next()) this.received.push(packet)
      this.#look()
    })
  }

  /** Sends a packet and returns the next packet that arrives. */
  async request<P extends Packet>(packet: ControlPacket): Promise<P> {
    const receivedMessages = this.received.length
    this.#socket.write(encode(packet, 5))
    while (this.received.length === receivedMessages) await new Promise<void>((resolve) => (this.#look = resolve))
    return this.received[receivedMessages] as P
  }
}

const method = 'SCRAM-SHA-512'
const withData = (data: string) => ({ authenticationMethod: method, authenticationData: Buffer.from(data) })

function connectWith(data: string): ConnectPacket {
  return plainConnect(5, 'scram-client', { properties: withData(data) })
}

const authWith = (data: string, reasonCode: AuthPacket['reasonCode']): AuthPacket => ({
  type: 'auth',
  reasonCode,
  properties: withData(data),
})

test('[MQTT5-4.12] a client connects and re-authenticates with SCRAM, and is refused with a wrong password', async (t) => {
  const broker = await configuredBroker([
    onlyKnown,
    `auth.scram={ iterations = 4096, user.1 { username = alice, password = secret, algorithm = ${method} } }`,
  ])
  const alice = { hash: 'sha512', username: 'alice', password: 'secret' } as const
  const { continueAuthentication, reAuthenticate, success } = reasonCodes

  const raw = new RawClient(t, broker.port)
  const first = new ScramClient(alice)
  const challenge = await raw.request<AuthPacket>(connectWith(first.first))
  assert.equal(challenge.reasonCode, continueAuthentication)
  const response = first.final(String(challenge.properties?.authenticationData))
  const connack = await raw.request<ConnackPacket>(authWith(response.message, continueAuthentication))
  assert.equal(connack.reasonCode, success)
  assert.equal(connack.properties?.authenticationMethod, method)
  assert.equal(String(connack.properties?.authenticationData), response.verifier)

  const again = new ScramClient({ ...alice, nonce: 'another-nonce' })
  const next = await raw.request<AuthPacket>(authWith(again.first, reAuthenticate))
  const last = again.final(String(next.properties?.authenticationData))
  const done = await raw.request<AuthPacket>(authWith(last.message, continueAuthentication))
  assert.equal(done.type === 'auth' && done.reasonCode, success)
  assert.equal(String(done.properties?.authenticationData), last.verifier)

  const wrongClient = new ScramClient({ ...alice, password: 'wrong' })
  const wrongChallenge = await raw.request<AuthPacket>(authWith(wrongClient.first, reAuthenticate))
  const wrongResponse = authWith(
    wrongClient.final(String(wrongChallenge.properties?.authenticationData)).message,
    continueAuthentication,
  )
  const end = await raw.request<DisconnectPacket>(wrongResponse)
  assert.equal(end.type === 'disconnect' && end.reasonCode, notAuthorized)

  const unauthenticated = new RawClient(t, broker.port)
  const serverFirst = await unauthenticated.request<AuthPacket>(connectWith(wrongClient.first))
  const refused = authWith(
    wrongClient.final(String(serverFirst.properties?.authenticationData)).message,
    continueAuthentication,
  )
  assert.equal((await unauthenticated.request<ConnackPacket>(refused)).reasonCode, notAuthorized)
})

test('a client of a namespace cannot re-authenticate as a user of another one', async (t) => {
  const broker = await configuredBroker([
    onlyKnown,
    'namespaces { enable = true, username = "${namespace}/*" }',
    'listeners.tcp.namespace = plant',
    'auth.client_id_binding = none',
    `auth.scram={ iterations = 4096, user.1 { username = "plant/a", password = secret, algorithm = ${method} }, user.2 { username = "shop/b", password = secret, algorithm = ${method} } }`,
  ])
  const { continueAuthentication, reAuthenticate, success } = reasonCodes
  const plant = new ScramClient({ hash: 'sha512', username: 'plant/a', password: 'secret' })
  const shop = new ScramClient({ hash: 'sha512', username: 'shop/b', password: 'secret' })
  const raw = new RawClient(t, broker.port)
  const challenge = await raw.request<AuthPacket>(connectWith(plant.first))
  const answer = plant.final(String(challenge.properties?.authenticationData)).message
  const connack = await raw.request<ConnackPacket>(authWith(answer, continueAuthentication))
  assert.equal(connack.reasonCode, success)
  const next = await raw.request<AuthPacket>(authWith(shop.first, reAuthenticate))
  const last = shop.final(String(next.properties?.authenticationData)).message
  const end = await raw.request<DisconnectPacket>(authWith(last, continueAuthentication))
  assert.equal(end.type === 'disconnect' && end.reasonCode, notAuthorized)
})

test('[MQTT5-4.12] a SCRAM user that is stored over the API can connect at once, until it is deleted', async (t) => {
  const broker = await configuredBroker([onlyKnown])
  const { continueAuthentication, success } = reasonCodes
  const connectAsCarol = async (): Promise<number> => {
    const client = new ScramClient({ hash: 'sha512', username: 'carol', password: 'a secret' })
    const raw = new RawClient(t, broker.port)
    const challenge = await raw.request<AuthPacket | ConnackPacket>(connectWith(client.first))
    if (challenge.type === 'connack') return challenge.reasonCode
    const { message } = client.final(String(challenge.properties?.authenticationData))
    return (await raw.request<ConnackPacket>(authWith(message, continueAuthentication))).reasonCode
  }
  assert.notEqual(await connectAsCarol(), success)
  const body = { username: 'carol', password: 'a secret', algorithm: method }
  const stored = await broker.request('/api/v4/auth_scram', { method: 'POST', body })
  assert.equal(stored.status, 200, stored.text)
  assert.equal(await connectAsCarol(), success)
  assert.equal((await broker.request('/api/v4/auth_scram/carol', { method: 'DELETE' })).status, 200)
  assert.notEqual(await connectAsCarol(), success)
})

test('failed logins of an address are counted by all shards together, whichever shard has the sessions', async (t) => {
  const limits = '{ address_burst = 6, address_rate = 1, max_delay = 1ms }'
  const broker = await configuredBroker(['node.shards=3', onlyKnown, `auth.failed_logins=${limits}`])
  const startedAtMs = performance.now()
  let checked = 0
  for (let number = 0; number < 60; number++) {
    // Client IDs belong to different shards.
    const guess = { clientId: `guesser-${number}`, username: `user-${number}`, password: 'winter' }
    const code = await outcome(t, broker, guess)
    if (code === badUserNameOrPassword) checked += 1
    else assert.equal(code, reasonCodes.connectionRateExceeded)
  }
  const recovered = Math.ceil((performance.now() - startedAtMs) / 1_000)
  assert.ok(checked <= 6 + recovered, `${checked} checked, ${recovered} recovered`)
})
