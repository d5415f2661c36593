// A source, with a service and a broker in memory.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReceivedMessage, SourceCallbacks } from '../../src/sinks/index.ts'
import { ServiceSource } from '../../src/actions/sources/service-source.ts'
import type { SourceMessage } from '../../src/actions/sources/source-publisher.ts'

const message = (text: string): ReceivedMessage => ({
  topic: 'message',
  payload: Buffer.from(text),
  properties: [['subject', 'a']],
  name: 'the message 1',
})

class Stage {
  readonly opened: SourceCallbacks[] = []
  readonly states: string[] = []
  readonly published: SourceMessage[] = []
  readonly pauses: { readonly delayMs: number; readonly work: () => void }[] = []
  closed = 0
  handled: Promise<void> = Promise.resolve()
  refusal: Error | undefined
  readonly source = new ServiceSource({
    id: 'nats:orders',
    open: async (callbacks) => {
      if (this.refusal !== undefined) throw this.refusal
      this.opened.push(callbacks)
      return { close: () => void this.closed++ }
    },
    publisher: {
      publish: (published) => {
        this.published.push(published)
        return this.handled
      },
      close: () => {},
    },
    readMaxPacketBytes: () => 2_000,
    after: (delayMs, work) => {
      this.pauses.push({ delayMs, work })
      return { cancel: () => {} }
    },
    random: () => 0.5,
    onStateChange: (state, why) => void this.states.push(why === '' ? state : `${state}: ${why}`),
    fail: (error) => {
      throw error
    },
  })
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a message is acknowledged to the service when this broker has stored it; one that is too large never is, and is counted', async () => {
  const stage = new Stage()
  stage.source.start()
  await turn()
  const [callbacks] = stage.opened
  callbacks.onConnected()
  const stored = Promise.withResolvers<void>()
  stage.handled = stored.promise
  let acceptGatewayStream: boolean | undefined
  const taking = callbacks.take(message('x')).then((taken) => (acceptGatewayStream = taken))
  await turn()
  assert.equal(acceptGatewayStream, undefined)
  stored.resolve()
  await taking
  assert.equal(acceptGatewayStream, true)
  assert.equal(await callbacks.take(message('x'.repeat(2_000))), false)
  assert.deepEqual(
    stage.published.map(({ topic, payload }) => `${topic} ${payload.toString()}`),
    ['$bridges/nats:orders/message x'],
  )
  const { received, dropped, lastError, state } = stage.source.report()
  assert.deepEqual([received, dropped, state], [1, 1, 'connected'])
  assert.match(lastError, /the message 1 has \d+ bytes/)
})

test('a failed connection is replaced after an increasing pause, and has no effect any more', async () => {
  const stage = new Stage()
  stage.source.start()
  await turn()
  const [first] = stage.opened
  first.onConnected()
  first.onFailed(new Error('cut'))
  assert.equal(stage.closed, 1)
  await assert.rejects(first.take(message('late')), /another connection/)
  first.onFailed(new Error('again'))
  first.onConnected()
  stage.refusal = new Error('refused')
  stage.pauses[0].work()
  await turn()
  assert.equal(stage.pauses.length, 2)
  assert.ok(stage.pauses[1].delayMs > stage.pauses[0].delayMs)
  stage.refusal = undefined
  stage.pauses[1].work()
  await turn()
  stage.opened[1].onConnected()
  assert.deepEqual(stage.states, [
    'connecting',
    'connected',
    'disconnected: cut',
    'connecting: cut',
    'disconnected: refused',
    'connecting: refused',
    'connected',
  ])
  assert.deepEqual(stage.published, [])
})

test('a stopped source takes no messages', async () => {
  const stage = new Stage()
  stage.source.start()
  await turn()
  const [callbacks] = stage.opened
  stage.source.stop('stopped by an administrator')
  await assert.rejects(callbacks.take(message('x')), /stopped/)
  assert.deepEqual([stage.closed, stage.published.length], [1, 0])
  assert.equal(stage.states.at(-1), 'disconnected: stopped by an administrator')
})
