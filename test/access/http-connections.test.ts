// Connections to an HTTP access service: their number, their timeouts, and their reuse.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { rootCertificates, setDefaultCACertificates } from 'node:tls'
import { reasonCodes } from '../../src/protocol/index.ts'
import { Authority } from '../transports/certificates.ts'
import { HttpService, status, type RequestHandler } from './http-service.ts'
import { authenticate, outcome, requestTo, settingsFor, stageFor } from './http-stage.ts'
import { AccessStage } from './stage.ts'

const { serverUnavailable } = reasonCodes

test('at most as many requests are in progress as the pool has connections, and all get their responses', async (context) => {
  const service = await HttpService.start(context)
  service.respond = (_, response) => void setImmediate(() => response.end())
  const stage = stageFor(context, { authRequest: requestTo(service.url()), poolSize: 3 })
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => outcome(stage)))
  assert.ok(outcomes.every((found) => found === 'accepted'))
  assert.ok(service.maxAtOnce <= 3)
  assert.equal(service.connections, 3)
})

test('a request above the maximum of waiting requests fails at once', async (context) => {
  const service = await HttpService.start(context)
  const held = service.holdFirst()
  const stage = stageFor(context, { authRequest: requestTo(service.url()), poolSize: 1, maxWaiting: 2 })
  const first = [1, 2, 3].map(() => outcome(stage))
  assert.equal(await outcome(stage), serverUnavailable)
  const letGo = await held
  letGo()
  assert.deepEqual(await Promise.all(first), ['accepted', 'accepted', 'accepted'])
})

test('a request that takes too long frees its place in the pool', async (context) => {
  const service = await HttpService.start(context)
  void service.holdFirst()
  const stage = stageFor(context, { authRequest: requestTo(service.url()), poolSize: 1, timeoutMs: 1_000 })
  assert.equal(await outcome(stage), serverUnavailable)
  assert.equal(await outcome(stage), 'accepted')
})

/** Timeout of a request without a response. The connections of these tests open faster. */
async function longerThanConnecting(context: TestContext): Promise<void> {
  const silent = await HttpService.start(context)
  void silent.holdFirst()
  const other = stageFor(context, { authRequest: requestTo(silent.url()), timeoutMs: 1_000 })
  assert.equal(await outcome(other), serverUnavailable)
}

test('after the connection is open, a response may take longer than the connect timeout', async (context) => {
  const service = await HttpService.start(context)
  const held = service.holdFirst()
  const stage = stageFor(context, { authRequest: requestTo(service.url()), connectTimeoutMs: 800 })
  const slow = outcome(stage)
  const letGo = await held
  await longerThanConnecting(context)
  letGo()
  assert.equal(await slow, 'accepted')
})

test('a reused connection is not counted as one that is being opened', async (context) => {
  const service = await HttpService.start(context)
  const stage = stageFor(context, { authRequest: requestTo(service.url()), connectTimeoutMs: 800 })
  assert.equal(await outcome(stage), 'accepted')
  const held = service.holdFirst()
  const slow = outcome(stage)
  const letGo = await held
  await longerThanConnecting(context)
  letGo()
  assert.deepEqual([await slow, service.connections], ['accepted', 1])
})

test('a TLS connection to a service has the same timeout for TCP and TLS together', async (context) => {
  const mute = createServer((socket) => void socket.on('error', () => undefined).resume())
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
  context.after(() => mute.close())
  const url = `https://127.0.0.1:${(mute.address() as AddressInfo).port}/`
  const stage = stageFor(context, { authRequest: requestTo(url), connectTimeoutMs: 100 })
  assert.equal(await outcome(stage), serverUnavailable)
  assert.match(stage.logText, /can not be reached in time/)
})

const allow = (_: IncomingMessage, response: ServerResponse): void => void response.end()

test('connections that are kept open are closed with the connection pool', async (context) => {
  const authority = new Authority('of the services')
  const { certificate, key } = authority.issue('localhost', { hostNames: ['localhost', '127.0.0.1'] })
  setDefaultCACertificates([authority.certificate])
  context.after(() => setDefaultCACertificates(rootCertificates))
  // Neither of them closes a connection by itself.
  for (const server of [
    createHttpServer({ keepAliveTimeout: 0 }, allow),
    createTlsServer({ cert: certificate, key, keepAliveTimeout: 0 }, allow),
  ]) {
    const opened = once(server, server instanceof TlsServer ? 'secureConnection' : 'connection')
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    context.after(() => server.close())
    const scheme = server instanceof TlsServer ? 'https' : 'http'
    const url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const stage = stageFor(context, { authRequest: requestTo(url) })
    assert.equal(await outcome(stage), 'accepted', stage.logText)
    const [socket] = (await opened) as [Socket]
    const closed = once(socket, 'close')
    assert.equal(socket.destroyed, false)
    stage.access.close()
    await closed
  }
})

test('if the service closed a connection meanwhile, no response is lost', async (context) => {
  const service = await HttpService.start(context)
  const stage = stageFor(context, { authRequest: requestTo(service.url()) })
  service.respond = (_, response) => {
    response.writeHead(200).end()
    // The server closes after the response, without notice: the next request fails when it is sent.
    response.socket?.resetAndDestroy()
  }
  for (let round = 0; round < 5; round++) await authenticate(stage)
  service.respond = status(200)
  assert.equal(await outcome(stage), 'accepted')
})

const breaks: RequestHandler = (_, response) => void response.socket?.resetAndDestroy()

test('a request is sent a second time only if its reused connection was closed, and not a third time', async (context) => {
  const service = await HttpService.start(context)
  service.respond = breaks
  const stage = stageFor(context, { authRequest: requestTo(service.url()), poolSize: 2 })
  assert.equal(await outcome(stage), serverUnavailable)
  assert.equal(service.requests.length, 1)
  const both: ServerResponse[] = []
  service.respond = (_, response) => {
    if (both.push(response) === 2) for (const one of both) one.end()
  }
  assert.deepEqual(await Promise.all([outcome(stage), outcome(stage)]), ['accepted', 'accepted'])
  service.respond = breaks
  service.requests.length = 0
  assert.equal(await outcome(stage), serverUnavailable)
  assert.equal(service.requests.length, 2)
})

test('a service that restarted is reached although it closed all connections of the pool', async (context) => {
  const service = await HttpService.start(context)
  const stage = stageFor(context, { authRequest: requestTo(service.url()), poolSize: 3 })
  const waiting: ServerResponse[] = []
  const sockets = new Set<Socket | null>()
  service.respond = (_, response) => {
    sockets.add(response.socket)
    if (waiting.push(response) === 3) for (const one of waiting) one.end()
  }
  await Promise.all([outcome(stage), outcome(stage), outcome(stage)])
  // Each of them is reset when it gets its next request, so the client has not noticed it before.
  service.respond = (_, response) => {
    if (sockets.has(response.socket)) response.socket?.resetAndDestroy()
    else response.end()
  }
  assert.equal(await outcome(stage), 'accepted', stage.logText)
  assert.equal(service.connections, 4)
})

test('an unchanged service keeps its connections when other settings change', async (context) => {
  const service = await HttpService.start(context)
  const http = settingsFor({ authRequest: requestTo(service.url()) })
  const stage = new AccessStage({ chain: ['http'], http })
  context.after(() => stage.access.close())
  await authenticate(stage)
  const { settings } = new AccessStage({ chain: ['http'], http: structuredClone(http), allowAnonymous: false })
  stage.access.changeSettings(settings)
  await authenticate(stage)
  assert.equal(service.connections, 1)
  stage.access.changeSettings({ ...settings, http: { ...http, poolSize: 2 } })
  assert.equal(await outcome(stage), 'accepted')
  assert.equal(service.connections, 2)
})
