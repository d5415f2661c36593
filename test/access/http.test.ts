// An HTTP access service: its requests, the meaning of its responses, and the decision if there is no response.

import assert from 'node:assert/strict'
import { createServer as createTlsServer } from 'node:https'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { denyAddresses, isForbiddenAddress } from '../../src/transports/index.ts'
import { HttpAuthorizer } from '../../src/access/http/http-authorizer.ts'
import { toNamespacedName } from '../../src/core/index.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { defaultRuleSettings } from '../../src/access/rules/access-rules.ts'
import { Authority } from '../transports/certificates.ts'
import { HttpService, json, status, type RequestHandler } from './http-service.ts'
import { authenticate, outcome, requestTo, settingsFor, stageFor } from './http-stage.ts'
import { client } from './rule-stage.ts'
import { AccessStage, connectionFrom, credential, outcomeOf } from './stage.ts'

const { badUserNameOrPassword, serverUnavailable } = reasonCodes

const cases: readonly [name: string, respond: RequestHandler, outcome: unknown][] = [
  ['200 allows', status(200), 'accepted'],
  ['200 with any text allows', status(200, 'fine'), 'accepted'],
  ['204 allows', status(204), 'accepted'],
  ['200 with ignore leaves the decision to the chain', status(200, 'ignore'), badUserNameOrPassword],
  ['JSON that allows is allowed', json({ result: 'allow' }), 'accepted'],
  ['JSON without a result allows', json({ is_superuser: false }), 'accepted'],
  ['JSON that denies is denied', json({ result: 'deny' }), badUserNameOrPassword],
  ['JSON that denies without its content type is denied', status(200, '{"result":"deny"}'), badUserNameOrPassword],
  [
    'JSON that denies and says to be something else is no',
    status(200, ' {"result": "deny"}', { 'content-type': 'text/plain' }),
    badUserNameOrPassword,
  ],
  ['text that only starts like JSON allows', status(200, '{fine}'), 'accepted'],
  ['JSON that ignores leaves the decision to the chain', json({ result: 'ignore' }), badUserNameOrPassword],
  ['400 denies', status(400), badUserNameOrPassword],
  ['401 denies', status(401), badUserNameOrPassword],
  ['403 denies', status(403), badUserNameOrPassword],
  ['404 denies', status(404), badUserNameOrPassword],
  ['500 is a failure', status(500), serverUnavailable],
  ['503 is a failure', status(503), serverUnavailable],
  ['201 is unknown, and a failure', status(201), serverUnavailable],
  [
    'JSON with a syntax error is a failure',
    status(200, '{', { 'content-type': 'application/json; charset=utf-8' }),
    serverUnavailable,
  ],
  ['JSON of another kind is a failure', json(['allow']), serverUnavailable],
  ['JSON with another result is a failure', json({ result: 'perhaps' }), serverUnavailable],
  [
    'a superuser that is neither yes nor no is a failure',
    json({ result: 'allow', is_superuser: 'yes' }),
    serverUnavailable,
  ],
  ['an endless response is a failure', (_, response) => response.end('x'.repeat(100_000)), serverUnavailable],
  [
    'an incomplete response is a failure',
    (_, response) => void response.writeHead(200, { 'content-length': '10' }).write('x', () => response.destroy()),
    serverUnavailable,
  ],
  ['a connection that breaks is a failure', (_, response) => response.destroy(), serverUnavailable],
]

for (const [name, respond, expected] of cases) {
  test(name, async (context) => {
    const service = await HttpService.start(context)
    service.respond = respond
    const stage = stageFor(context, { authRequest: requestTo(service.url()) })
    assert.equal(await outcome(stage), expected)
    assert.ok(!stage.logText.includes('secret'), 'the log has no password')
  })
}

test('an incomplete response fails at once, before the timeout', async (context) => {
  const service = await HttpService.start(context)
  service.respond = (_, response) =>
    void response.writeHead(200, { 'content-length': '10' }).write('x', () => response.destroy())
  const stage = stageFor(context, { authRequest: requestTo(service.url()) })
  assert.equal(await outcome(stage), serverUnavailable)
  assert.match(stage.logText, /interrupted its response/)
})

test('a TLS service is refused if no trusted authority signed its certificate', async (context) => {
  const { certificate, key } = new Authority('nobody').issue('localhost', { hostNames: ['localhost', '127.0.0.1'] })
  let requestCount = 0
  const server = createTlsServer({ cert: certificate, key }, (_, response) => void response.end(String(++requestCount)))
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const stage = stageFor(context, { authRequest: requestTo(`https://127.0.0.1:${port}/`) })
  assert.equal(await outcome(stage), serverUnavailable)
  assert.equal(requestCount, 0)
})

test('a redirect is not followed', async (context) => {
  const service = await HttpService.start(context)
  service.respond = ({ path }, response) =>
    response.writeHead(path === '/auth' ? 302 : 200, { location: service.url('/elsewhere') }).end()
  assert.equal(await outcome(stageFor(context, { authRequest: requestTo(service.url()) })), serverUnavailable)
  assert.deepEqual(
    service.requests.map(({ path }) => path),
    ['/auth'],
  )
})

test('a service that is missing, never responds or does not speak HTTP is a failure', async (context) => {
  const babbler = createServer((socket) => void socket.on('error', () => undefined).end('SSH-2.0-hello\r\n'))
  const silent = createServer((socket) => void socket.on('error', () => undefined).resume())
  for (const server of [babbler, silent]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stoppedService = await HttpService.start(context)
  const urls = [babbler, silent].map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  const goneUrl = stoppedService.url()
  await stoppedService.stop()
  for (const url of [...urls, goneUrl]) {
    const stage = stageFor(context, { authRequest: requestTo(url), timeoutMs: 200 })
    assert.equal(await outcome(stage), serverUnavailable)
    const legacy = stageFor(context, { authRequest: requestTo(url), timeoutMs: 200 }, { profile: 'legacy' })
    assert.equal(await outcome(legacy), 'accepted', 'the legacy profile skips the failed service')
    legacy.access.applyRecords({ put: [credential('username', 'alice', 'other')], delete: [] })
    assert.equal(await outcome(legacy), badUserNameOrPassword, 'the next authenticator decides')
  }
  babbler.close()
  silent.close()
})

test('forms, JSON and addresses contain the inserted values, and no value adds a parameter', async (context) => {
  const service = await HttpService.start(context)
  const odd = { username: 'a&password=x%P', password: 'p=&+ ü', clientId: '%u#/?' }
  const params = [
    ['u', '%u'],
    ['p', '%P'],
    ['c', '${clientid}/x'],
  ] as const
  const expected = { u: odd.username, p: odd.password, c: `${odd.clientId}/x` }
  for (const [more, read] of [
    [{}, () => Object.fromEntries(new URLSearchParams(service.requests.at(-1)!.body))],
    [{ headers: [['Content-Type', 'application/json']] }, () => JSON.parse(service.requests.at(-1)!.body) as unknown],
    [{ method: 'GET' }, () => service.requests.at(-1)!.query],
  ] as const) {
    assert.equal(
      await outcome(stageFor(context, { authRequest: requestTo(service.url(), { params, ...more }) }), odd),
      'accepted',
    )
    assert.deepEqual(read(), expected)
  }
  assert.equal(service.requests[2].body, '')
})

test('every placeholder is replaced by its value, one without a value by an empty string', async (context) => {
  const service = await HttpService.start(context)
  const params = Array.from('ucarPpCdmtA', (letter) => [letter, `%${letter}`] as const)
  const stage = stageFor(context, {
    authRequest: requestTo(service.url(), { method: 'GET', params: [...params, ['x', '%x ${y}']] }),
  })
  const certificate = {
    commonName: 'CN',
    subject: 'CN=CN,O=X',
    serialNumber: '1',
    fingerprint: 'f',
    der: new Uint8Array(),
  }
  await authenticate(stage, { clientId: 'id', origin: { certificate } })
  const full = {
    u: 'alice',
    c: 'id',
    a: '192.0.2.7',
    r: 'mqtt',
    P: 'secret',
    p: '',
    C: 'CN',
    d: 'CN=CN,O=X',
    m: '',
    t: '',
    A: '',
  }
  assert.deepEqual(service.requests[0].query, { ...full, x: '%x ${y}' })
  await authenticate(stage, { clientId: 'id', username: undefined, password: undefined })
  assert.deepEqual(service.requests[1].query, { ...full, u: '', P: '', C: '', d: '', x: '%x ${y}' })
  await authenticate(stage, { clientId: toNamespacedName('plant', 'id') })
  assert.deepEqual(service.requests[2].query, { ...full, C: '', d: '', m: '$ns/plant/', x: '%x ${y}' })
})

test('configured headers are sent, except those that the client sets itself', async (context) => {
  const service = await HttpService.start(context)
  const headers = [
    ['Authorization', 'Bearer abc'],
    ['Content-Length', '9999'],
    ['Transfer-Encoding', 'chunked'],
  ] as const
  await authenticate(stageFor(context, { authRequest: requestTo(service.url(), { headers }) }))
  const sent = service.requests[0].headers
  assert.equal(sent.authorization, 'Bearer abc')
  assert.equal(sent['content-length'], String(service.requests[0].body.length))
})

const isSuperuser = async (stage: AccessStage): Promise<unknown> => {
  const decision = await authenticate(stage)
  return decision.allowed === true && decision.identity?.isSuperuser
}

test('a response, or a request of its own, makes a client a superuser', async (context) => {
  const service = await HttpService.start(context)
  service.respond = ({ path }, response) =>
    (path === '/auth' ? json({ is_superuser: true }) : status(path === '/super' ? 200 : 403))({} as never, response)
  assert.equal(await isSuperuser(stageFor(context, { authRequest: requestTo(service.url('/auth')) })), true)
  const open = { allowAnonymous: true }
  assert.equal(await isSuperuser(stageFor(context, { superRequest: requestTo(service.url('/super')) }, open)), true)
  assert.equal(await isSuperuser(stageFor(context, { superRequest: requestTo(service.url('/no')) }, open)), false)
  assert.equal(await isSuperuser(stageFor(context, { superRequest: requestTo('http://127.0.0.1:1/') }, open)), false)
})

test('a client is a superuser only if the service says so', async (context) => {
  const service = await HttpService.start(context)
  const stage = stageFor(context, { superRequest: requestTo(service.url()) }, { allowAnonymous: true })
  for (const respond of [json({ result: 'allow', is_superuser: false }), status(200, '{"is_superuser":false}')]) {
    service.respond = respond
    assert.equal(await isSuperuser(stage), false)
  }
  service.respond = json({ result: 'allow' })
  assert.equal(await isSuperuser(stage), true)
})

test('a response is cached for its time to live, for the same client with the same password', async (context) => {
  const service = await HttpService.start(context)
  const stage = stageFor(context, { authRequest: requestTo(service.url()), cacheTtlMs: 1_000 })
  assert.equal(await outcome(stage), 'accepted')
  assert.equal(
    outcomeOf(stage.decision({ username: 'alice', password: 'secret' })),
    'accepted',
    'the response is cached',
  )
  assert.equal(service.requests.length, 1)
  service.respond = status(403)
  assert.equal(await outcome(stage, { password: 'other' }), badUserNameOrPassword)
  assert.equal(await outcome(stage), 'accepted')
  stage.nowMs += 1_001
  assert.equal(await outcome(stage), badUserNameOrPassword)
})

test('a failure is not cached', async (context) => {
  const service = await HttpService.start(context)
  const stage = stageFor(context, { authRequest: requestTo(service.url()), cacheTtlMs: 60_000 })
  service.respond = status(500)
  assert.equal(await outcome(stage), serverUnavailable)
  service.respond = status(200)
  assert.equal(await outcome(stage), 'accepted')
})

test('pending authorization requests are denied at once when the URL of the service changes', async (context) => {
  const service = await HttpService.start(context)
  const held = service.holdFirst()
  const http = settingsFor({ authRequest: requestTo(service.url()), poolSize: 1, timeoutMs: 600_000 })
  const stage = new AccessStage({ chain: ['http'], http })
  context.after(() => stage.access.close())
  const outcomes = [outcome(stage), outcome(stage)]
  await held
  stage.access.changeSettings({ ...stage.settings, http: { ...http, poolSize: 2 } })
  assert.deepEqual(await Promise.all(outcomes), [serverUnavailable, serverUnavailable])
})

test('a client is authorized by the configured service, also if the previous one has not responded', async (context) => {
  const [before, now] = [await HttpService.start(context), await HttpService.start(context)]
  const held = before.holdFirst()
  const http = settingsFor({ aclRequest: requestTo(before.url()), timeoutMs: 600_000 })
  const stage = new AccessStage({ http, rules: { ...defaultRuleSettings, usesService: true } })
  context.after(() => stage.access.close())
  const identity = client('c')
  const ready = stage.access.prepare({
    kind: 'authorize',
    requestId: 1,
    connection: connectionFrom(false),
    identity,
    action: 'subscribe',
    topic: 'a/#',
    qos: 0,
    retain: false,
  })
  await held
  stage.access.changeSettings({ ...stage.settings, http: { ...http, aclRequest: requestTo(now.url()) } })
  await ready
  assert.deepEqual([before.requests.length, now.requests.length], [1, 1])
  const decision = stage.access.explain(identity, 'subscribe', 'a/#')
  assert.deepEqual([decision?.because, decision?.allows], ['service', true])
})

test('a superuser stays one, whatever the service says', async (context) => {
  const service = await HttpService.start(context)
  service.respond = status(403)
  const stage = stageFor(
    context,
    { superRequest: requestTo(service.url()) },
    { chain: ['password'], credentials: [{ ...credential('username', 'alice', 'secret'), isSuperuser: true }] },
  )
  const decision = await authenticate(stage)
  assert.ok(decision.allowed === true && decision.identity?.isSuperuser === true)
  assert.equal(service.requests.length, 0)
})

test('no further request is made for a client that has disconnected', async (context) => {
  const service = await HttpService.start(context)
  const held = service.holdFirst()
  const stage = stageFor(context, { authRequest: requestTo(service.url()), poolSize: 1 })
  const connections = [1, 2, 3].map(() => connectionFrom(false))
  const outcomes = connections.map((connection) => outcome(stage, { connection }))
  connections[1].now = { state: 'closed' }
  const letGo = await held
  letGo()
  assert.deepEqual(await Promise.all(outcomes), ['accepted', serverUnavailable, 'accepted'])
  assert.equal(service.requests.length, 2)
})

test('an authorization request has the topic and the action', async (context) => {
  const service = await HttpService.start(context)
  const aclRequest = requestTo(service.url('/acl'), {
    method: 'GET',
    params: [
      ['t', '%t'],
      ['A', '%A'],
      ['u', '%u'],
    ],
  })
  const authority = new HttpAuthorizer(settingsFor({ aclRequest }))
  context.after(() => authority.close())
  const action = {
    connection: connectionFrom(false),
    clientId: 'c',
    username: undefined,
    action: 'publish',
    topic: 'a/b',
  } as const
  assert.deepEqual(await authority.authorize(action), { result: 'allow', isSuperuser: undefined })
  assert.deepEqual(service.requests[0].query, { t: 'a/b', A: '2', u: '' })
  service.respond = status(403)
  assert.deepEqual(await authority.authorize({ ...action, action: 'subscribe', topic: 'a/#' }), { result: 'deny' })
  assert.deepEqual(service.requests[1].query, { t: 'a/#', A: '1', u: '' })
  service.respond = status(500)
  assert.equal((await authority.authorize(action)).result, 'failed')
})

test('link-local addresses, where clouds have credentials, are not requested, whatever name resolves to them', async (context) => {
  for (const host of [
    '169.254.169.254',
    '[fe80::1]',
    '[::ffff:169.254.169.254]',
    '0.0.0.0',
    '[::]',
    '224.0.0.1',
    '[fd00:ec2::254]',
  ]) {
    assert.ok(isForbiddenAddress(new URL(`http://${host}/`).hostname), host)
  }
  for (const host of ['127.0.0.1', '10.0.0.1', '[::1]', 'auth.example', '192.0.2.1']) {
    assert.ok(!isForbiddenAddress(new URL(`http://${host}/`).hostname), host)
  }
  // A number is the same address.
  const stage = stageFor(context, { authRequest: requestTo('http://2852039166/latest') })
  assert.equal(await outcome(stage), serverUnavailable)
  assert.match(stage.logText, /has a denied address/)
})

test('a name that resolves to a refused address is refused like the address', async (context) => {
  const service = await HttpService.start(context)
  context.after(() => denyAddresses([]))
  const stage = stageFor(context, { authRequest: requestTo(`http://localhost:${service.port}/auth`) })
  denyAddresses(['loopback'])
  assert.equal(await outcome(stage), serverUnavailable)
  assert.match(stage.logText, /can not be reached: EADDRNOTAVAIL/)
  assert.equal(service.connections, 0)
})
