// Gateways and listeners with their own authentication [F1, F2 of the gateway requirements].

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { hashPassword, type ListenerAuthentication } from '../../src/access/index.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import type { GatewayUserRecord } from '../../src/records/index.ts'
import { AccessStage, credential, outcomeOf } from './stage.ts'

const { badUserNameOrPassword, notAuthorized } = reasonCodes
const hashParameters = { algorithm: 'sha256', saltPosition: 'prefix' } as const

function usersOf(chain: string, by: 'username' | 'clientid' = 'username'): ListenerAuthentication {
  return { chain, kind: 'users', by, hashParameters }
}

function user(chain: string, id: string, password: string, isSuperuser = false): GatewayUserRecord {
  return { kind: 'gateway-user', chain, id, isSuperuser, createdAtMs: 0, ...hashPassword(password) }
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

test('[F2] users of a gateway are accepted only by its listeners, and those of the broker are refused there', () => {
  const stage = new AccessStage()
  const put = [user('coap', 'meter', 'of meter', true), credential('username', 'alice', 'of alice')]
  stage.access.applyRecords({ put, delete: [] })
  const meter = { username: 'meter', password: 'of meter' }
  const alice = { username: 'alice', password: 'of alice' }
  const authentication = usersOf('coap')
  const allowed = stage.decision({ ...meter, authentication })
  assert.ok(allowed.allowed === true)
  const { identity } = allowed
  assert.deepEqual([identity?.username, identity?.isSuperuser, identity?.principal], ['meter', true, 'user:meter'])
  assert.equal(outcomeOf(stage.decision({ ...meter, password: 'x', authentication })), badUserNameOrPassword)
  assert.equal(outcomeOf(stage.decision({ ...alice, authentication })), badUserNameOrPassword)
  assert.equal(outcomeOf(stage.decision(alice)), 'accepted')
  assert.equal(outcomeOf(stage.decision(meter)), badUserNameOrPassword)
  assert.equal(outcomeOf(stage.decision({ ...meter, authentication: usersOf('coap:udp:a') })), badUserNameOrPassword)
})

test('[F1] anonymous clients are refused if there is an authentication, on loopback and in every profile', () => {
  for (const settings of [{ profile: 'legacy' as const }, { allowAnonymous: true }, {}]) {
    const stage = new AccessStage(settings)
    const authentication = usersOf('stomp')
    assert.equal(outcomeOf(stage.decision({ isLoopback: true, authentication })), notAuthorized)
    assert.equal(outcomeOf(stage.decision({ isLoopback: true, username: 'a', authentication })), badUserNameOrPassword)
    assert.equal(outcomeOf(stage.decision({ isLoopback: true })), 'accepted')
  }
})

test('[F2] user_id_type = clientid: users are client IDs; a removed one is refused', () => {
  const stage = new AccessStage()
  const authentication = usersOf('coap', 'clientid')
  stage.access.applyRecords({ put: [user('coap', 'lamp', 'of lamp')], delete: [] })
  const lamp = { clientId: 'lamp', password: 'of lamp', authentication }
  assert.equal(outcomeOf(stage.decision(lamp)), 'accepted')
  assert.equal(outcomeOf(stage.decision({ ...lamp, clientId: 'x', username: 'lamp' })), badUserNameOrPassword)
  stage.access.applyRecords({ put: [], delete: [{ kind: 'gateway-user', chain: 'coap', id: 'lamp' }] })
  assert.equal(outcomeOf(stage.decision(lamp)), badUserNameOrPassword)
})

test('[F2] an unknown user of a gateway takes as long as one with a wrong password', () => {
  const stage = new AccessStage()
  stage.access.applyRecords({ put: [user('coap', 'lamp', 'of lamp')], delete: [] })
  // For a password of 8 MiB, the hash takes a hundred times as long as the rest.
  const password = Buffer.alloc(8_388_608)
  /** Processor time of this thread in microseconds: other programs of the machine do not affect it. Its parts (user, system) are estimates. */
  const cpuTimeOf = (username: string): number => {
    const before = process.threadCpuUsage()
    stage.decision({ username, password, authentication: usersOf('coap') })
    const { user: inProgram, system } = process.threadCpuUsage(before)
    return inProgram + system
  }
  let [known, unknown] = [0, 0]
  for (let round = 0; round < 5; round++) {
    known += cpuTimeOf('lamp')
    unknown += cpuTimeOf('nobody')
  }
  assert.ok(unknown > known / 10, `${unknown} µs for an unknown user, ${known} µs for a known one`)
})

test('[F2] jwt: tokens for a gateway have their own key', async () => {
  const stage = new AccessStage()
  const secret = Buffer.from('a secret of 32 bytes and a few more')
  const token = {
    from: 'password',
    key: { kind: 'secret', secret },
    leewayMs: 0,
    claims: [],
    usernameClaim: undefined,
    aclClaim: 'acl',
    endsWithToken: true,
  } as const
  const authentication: ListenerAuthentication = { chain: 'lwm2m', kind: 'jwt', token }
  const input = `${part({ alg: 'HS256' })}.${part({ exp: stage.nowMs / 1_000 + 60 })}`
  const outcome = async (key: Uint8Array) => {
    const password = `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`
    return outcomeOf(await stage.authenticate({ username: 'm', password, authentication }))
  }
  assert.equal(await outcome(secret), 'accepted')
  assert.notEqual(await outcome(Buffer.from('another secret of 32 bytes, and a few')), 'accepted')
})

test('[F2] http: with its own service, the broker refuses every client while that service is unavailable', async (t) => {
  const requests: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      requests.push(body)
      response.writeHead(body.includes('password=right') ? 200 : 403).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.closeAllConnections())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const http = {
    authRequest: {
      url: `http://127.0.0.1:${port}/`,
      method: 'POST',
      headers: [],
      params: [
        ['id', '${clientid}'],
        ['password', '${password}'],
      ],
    },
    superRequest: undefined,
    aclRequest: undefined,
    timeoutMs: 5_000,
    connectTimeoutMs: 5_000,
    poolSize: 2,
    maxWaiting: 10,
    cacheTtlMs: 0,
  } as const
  const stage = new AccessStage({ profile: 'legacy' })
  t.after(() => stage.access.close())
  const authentication: ListenerAuthentication = { chain: 'coap', kind: 'http', http }
  assert.equal(outcomeOf(await stage.authenticate({ clientId: 'lamp', password: 'right', authentication })), 'accepted')
  assert.notEqual(
    outcomeOf(await stage.authenticate({ clientId: 'lamp', password: 'wrong', authentication })),
    'accepted',
  )
  assert.deepEqual(requests, ['id=lamp&password=right', 'id=lamp&password=wrong'])
  server.closeAllConnections()
  server.close()
  const away = await stage.authenticate({ clientId: 'lamp', password: 'right', authentication })
  assert.equal(outcomeOf(away), reasonCodes.serverUnavailable)
})
