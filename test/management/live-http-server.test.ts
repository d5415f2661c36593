// Settings of the API itself are changed while it serves requests: open connections stay open.

import assert from 'node:assert/strict'
import { readSocketAuthorization } from './http.ts'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { eventually } from '../e2e/eventually.ts'
import { runGodwit, type Scope, shared, temporaryFolder } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { administrator, startBrokerWithApi } from './api.ts'

interface RequestOptions {
  readonly method?: string
  readonly path: string
  readonly body?: unknown
  readonly as?: string
}

interface ReceivedResponse {
  readonly status: number
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any
}

/** An HTTP client with one connection, which it keeps open. */
class SingleConnectionClient {
  readonly #at: { readonly socketPath: string } | { readonly port: number; readonly host: string }
  readonly #agent: Agent
  /** The number of connections that it has opened. */
  connections: number

  constructor(t: TestContext, at: string | URL) {
    this.#at = typeof at === 'string' ? { socketPath: at } : { port: Number(at.port), host: at.hostname }
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1 })
    this.connections = 0
    t.after(() => this.close())
  }

  close(): void {
    this.#agent.destroy()
  }

  request({ method = 'GET', path, body, as = administrator }: RequestOptions): Promise<ReceivedResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<ReceivedResponse>()
    const authorization =
      'socketPath' in this.#at
        ? readSocketAuthorization(this.#at.socketPath)
        : `Basic ${Buffer.from(as).toString('base64')}`
    const options = { ...this.#at, agent: this.#agent, method, path: `/api/v4${path}`, headers: { authorization } }
    const clientRequest = request(options, (response) => {
      let text = ''
      response.on('data', (piece) => (text += String(piece)))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, json: JSON.parse(text) }))
    })
    clientRequest.on('socket', () => (this.connections += clientRequest.reusedSocket ? 0 : 1))
    clientRequest.on('error', reject)
    clientRequest.end(typeof body === 'string' ? body : JSON.stringify(body))
    return promise
  }

  /** Changes settings of `http_server`. */
  change(settings: unknown, as?: string): Promise<ReceivedResponse> {
    const body = { data: { http_server: settings } }
    return this.request({
      method: 'POST',
      path: '/configuration/http_server',
      body,
      ...(as === undefined ? {} : { as }),
    })
  }
}

interface BrokerOfFile {
  readonly url: URL
  readonly socket: string
  /** The file at the start. */
  readonly text: string
}

/** A broker whose API is configured only in its file, so that the API can change the settings. */
async function startWithFile(t: Scope): Promise<BrokerOfFile> {
  const folder = await temporaryFolder(t)
  const [name, password] = administrator.split(':')
  const config = join(folder, 'my.conf')
  const text = `http_server { port = 0, username = ${name}, password = ${password} }`
  await writeFile(config, text)
  const data = join(folder, 'data')
  const words = ['--config', config, '--data', data, '--set', 'listeners.tcp.bind="127.0.0.1:0"']
  // With a setting of malloc, the broker does not execute itself again: see `fastStart` in test/e2e/godwit-process.ts.
  const godwit = runGodwit(t, ['start', ...words], { ...process.env, MALLOC_ARENA_MAX: '4' })
  const [, url = ''] = await godwit.until(/management API +(http:\/\/127\.0\.0\.1:\d+)\/api\/v4/)
  return { url: new URL(url), socket: join(data, 'ctl.sock'), text }
}

const sharedBroker = shared(startWithFile)

test('changes of accounts and limits apply to the next request, also on open connections', async (t) => {
  const { url, socket, text } = await sharedBroker()
  const [tcp, local] = [new SingleConnectionClient(t, url), new SingleConnectionClient(t, socket)]
  assert.equal((await local.request({ path: '/brokers' })).status, 200)
  const { status, json } = await tcp.change({ password: 'quite another one', max_body: '2KB', limit_conn: 1 })
  assert.deepEqual(
    [status, json.data.changed.map(({ key }: { key: string }) => key).toSorted(), json.data.needs_restart],
    [200, ['http_server.limit_conn', 'http_server.max_body', 'http_server.password'], []],
  )
  assert.equal((await tcp.request({ path: '/brokers' })).status, 401)
  const as = 'admin:quite another one'
  assert.equal((await tcp.request({ path: '/brokers', as })).status, 200)
  assert.equal((await tcp.change({ username: 'root' }, as)).status, 200)
  assert.deepEqual([(await tcp.request({ path: '/brokers', as })).status, tcp.connections], [401, 1])
  const large = { method: 'POST', path: '/config_update', body: `# ${'x'.repeat(4_000)}`, as: 'root:quite another one' }
  const tooLarge = await tcp.request(large)
  assert.deepEqual([tooLarge.status, tooLarge.json.code], [400, 108])
  assert.match(tooLarge.json.message, /too large/)
  assert.equal((await local.request({ path: '/brokers' })).status, 200)
  assert.equal(local.connections, 1, 'the control socket is not closed')
  assert.equal((await local.request({ method: 'POST', path: '/config_update', body: text })).status, 200)
})

test('no request is refused while settings change, and an API with port 0 keeps its port', async (t) => {
  const { url } = await sharedBroker()
  const changes = new AbortController()
  const requestRepeatedly = async (): Promise<number> => {
    let count = 0
    for (; !changes.signal.aborted; count++) {
      const client = new SingleConnectionClient(t, url)
      assert.equal((await client.request({ path: '/nowhere' })).status, 404)
      client.close()
    }
    return count
  }
  const others = [requestRepeatedly(), requestRepeatedly()]
  const adminClient = new SingleConnectionClient(t, url)
  for (let round = 1; round <= 8; round++) {
    assert.equal((await adminClient.change({ max_body: `${round}KB`, limit_conn: round, port: 0 })).status, 200)
  }
  changes.abort()
  for (const count of await Promise.all(others)) assert.ok(count > 0)
})

test('a change of the port opens the new port before the old one sends the response and closes', async (t) => {
  const { url } = await sharedBroker()
  const adminClient = new SingleConnectionClient(t, url)
  const taken = createServer().listen(0, '127.0.0.1')
  t.after(() => taken.close())
  await once(taken, 'listening')
  const inUse = await adminClient.change({ port: (taken.address() as AddressInfo).port, password: 'not to hold' })
  assert.deepEqual([inUse.status, inUse.json.code], [400, 108])
  assert.match(inUse.json.message, /http_server\.port: port \d+ on 127\.0\.0\.1 is in use by another program/)
  assert.equal((await adminClient.request({ path: '/brokers' })).status, 200, 'the password is not changed either')

  const port = await reservePort(t)
  assert.equal((await adminClient.change({ port })).status, 200)
  const moved = new URL(`http://127.0.0.1:${port}`)
  assert.equal((await new SingleConnectionClient(t, moved).request({ path: '/brokers' })).status, 200)
  await eventually(() =>
    assert.rejects(new SingleConnectionClient(t, url).request({ path: '/brokers' }), /ECONNREFUSED/),
  )
})

test('a change that would open the API to all clients, or to none, is refused before anything changes', async (t) => {
  const broker = await startBrokerWithApi(t)
  const adminClient = new SingleConnectionClient(t, new URL(broker.url))
  const wrong: readonly [settings: unknown, message: RegExp][] = [
    [{ auth_type: 'no_auth', ip_addr: '0.0.0.0' }, /no_auth is for loopback only/],
    [{ auth_type: 'jwt' }, /http_server\.jwt\.public\.keyfile/],
    [{ port: 1 }, /http_server\.port.*--set/],
  ]
  for (const [settings, message] of wrong) {
    const { status, json } = await adminClient.change(settings)
    assert.deepEqual([status, json.code], [400, 108], json.message)
    assert.match(json.message, message)
  }
  assert.deepEqual([(await adminClient.request({ path: '/brokers' })).status, adminClient.connections], [200, 1])
  assert.equal((await adminClient.change({ auth_type: 'no_auth' })).status, 200)
  assert.equal((await adminClient.request({ path: '/brokers', as: 'absent:at all' })).status, 200)
})
