// GET /live streams messages as they arrive, for the dashboard.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectAsync } from 'mqtt'
import { administrator, type BrokerWithApi, shareBrokerWithApi } from './api.ts'

interface Line {
  readonly topic?: string
  readonly payload_base64?: string
  readonly retain?: boolean
  readonly truncated?: boolean
  readonly size?: number
  readonly clientid?: string
  readonly left_out?: number
}

interface Live {
  readonly status: number
  next(): Promise<Line>
  end(): void
}

async function watch(broker: BrokerWithApi, query: string): Promise<Live> {
  const ending = new AbortController()
  const authorization = `Basic ${Buffer.from(administrator).toString('base64')}`
  const response = await fetch(`${broker.url}/api/v5/live?${query}`, {
    headers: { authorization },
    signal: ending.signal,
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  const next = async (): Promise<Line> => {
    for (;;) {
      const [line = '', ...more] = rest.split('\n')
      if (more.length > 0) {
        rest = more.join('\n')
        const read = JSON.parse(line) as Line & { readonly heartbeat?: number }
        if (read.heartbeat === undefined) return read
        continue
      }
      const piece = await reader?.read()
      assert.equal(piece?.done, false, 'the stream ended')
      rest += piece?.value ?? ''
    }
  }
  return { status: response.status, next, end: () => ending.abort() }
}

describe('live messages', () => {
  const shared = shareBrokerWithApi()

  test('contain retained messages first, then messages of clients on all shards, with truncated payloads', async (t) => {
    const broker = await shared()
    const clients = await Promise.all(
      ['a', 'b', 'c', 'd'].map((clientId) => connectAsync({ port: broker.port, clientId: `live-${clientId}` })),
    )
    t.after(() => Promise.all(clients.map((client) => client.endAsync(true))))
    await clients[0]?.publishAsync('plant/kept', 'old', { retain: true, qos: 1 })
    const live = await watch(broker, 'topic=plant/%23&max_bytes=4')
    t.after(() => live.end())
    assert.equal(live.status, 200)
    const retained = await live.next()
    assert.deepEqual([retained.topic, retained.retain], ['plant/kept', true])
    for (const [at, client] of clients.entries()) await client.publishAsync(`plant/${at}`, 'longer', { qos: 1 })
    await clients[0]?.publishAsync('other/1', 'not watched', { qos: 1 })
    const seen = [await live.next(), await live.next(), await live.next(), await live.next()]
    assert.deepEqual(
      seen.map(({ topic = '' }) => topic).toSorted((a, b) => a.localeCompare(b)),
      ['plant/0', 'plant/1', 'plant/2', 'plant/3'],
    )
    assert.deepEqual(
      seen.map(({ clientid = '' }) => clientid).toSorted((a, b) => a.localeCompare(b)),
      ['live-a', 'live-b', 'live-c', 'live-d'],
    )
    for (const { payload_base64: payload = '', size, truncated } of seen) {
      assert.deepEqual([Buffer.from(payload, 'base64').toString(), size, truncated], ['long', 6, true])
    }
  })

  test('above `max_rate` are omitted and counted, and the publisher does not wait', async (t) => {
    const broker = await shared()
    const client = await connectAsync({ port: broker.port })
    t.after(() => client.endAsync(true))
    const live = await watch(broker, 'topic=flood/%23&max_rate=10')
    t.after(() => live.end())
    const begunMs = performance.now()
    await Promise.all(Array.from({ length: 500 }, () => client.publishAsync('flood/1', 'x', { qos: 1 })))
    let shown = 0
    let omitted = 0
    while (shown + omitted < 500) {
      const line = await live.next()
      if (line.left_out === undefined) shown += 1
      else omitted += line.left_out
    }
    assert.equal(shown + omitted, 500)
    // The rate applies to whole seconds, so the first and the last second count in full.
    const max = 10 * ((performance.now() - begunMs) / 1_000 + 2)
    assert.ok(shown >= 10 && shown <= max, `${shown} of at most ${max} shown, ${omitted} left out`)
  })

  test('are limited to eight simultaneous streams; the end of a stream frees a slot', async (t) => {
    const broker = await shared()
    const open: Live[] = []
    t.after(() => open.forEach((live) => live.end()))
    // The broker may notice the end of a stream of another test later.
    while (open.length < 8) {
      const live = await watch(broker, 'topic=x')
      if (live.status === 200) open.push(live)
      else live.end()
    }
    const refused = await broker.request('/api/v5/live?topic=x')
    assert.deepEqual([refused.status, refused.json.reason], [409, 'CONFLICT'])
    open[0]?.end()
    for (;;) {
      const again = await watch(broker, 'topic=x')
      t.after(() => again.end())
      if (again.status === 200) break
    }
  })

  test('are refused to viewers, and with an invalid filter', async () => {
    const broker = await shared()
    await broker.request('/api/v5/users', {
      method: 'POST',
      body: { username: 'looker', password: 'a-lookers-password', role: 'viewer' },
    })
    assert.equal((await broker.request('/api/v5/live?topic=a', { as: 'looker:a-lookers-password' })).status, 403)
    for (const topic of ['', 'a%23', '$share/g/a']) {
      assert.equal((await broker.request(`/api/v5/live?topic=${topic}`)).status, 400, topic)
    }
  })
})
