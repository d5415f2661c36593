import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BrokerEvent, Connection } from '../../src/core/index.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { ClientTimeline } from '../../src/shard/observe/client-timeline.ts'

const connection = new Connection({}, { name: 'default', isLoopback: true }, '192.0.2.1')

const connected = (clientId: string): BrokerEvent => ({
  event: 'client-connected',
  connection,
  clientId,
  sessionPresent: false,
})

const refused = (clientId: string): BrokerEvent => ({
  event: 'client-refused',
  username: undefined,
  cause: undefined,
  connection,
  clientId,
  reason: reasonCodes.notAuthorized,
  text: 'not allowed to connect',
})

const ended = (clientId: string): BrokerEvent => ({ event: 'session-ended', clientId, cause: 'disconnected' })

const limits = { clients: 3, unauthenticated: 2, entries: 4, idCharacters: 100 }

function eventsOf(timelines: ClientTimeline, clientId: string): string[] {
  return timelines.listEntries(clientId).map(({ event }) => event)
}

test('a timeline has the events in order, and counts repeated ones', () => {
  const timelines = new ClientTimeline(limits)
  timelines.record(refused('me'), 1)
  timelines.record(refused('me'), 2)
  timelines.record(connected('me'), 3)
  timelines.record(ended('me'), 4)
  const [first, second, third] = timelines.listEntries('me')
  const address = '192.0.2.1'
  const text = 'not allowed to connect'
  assert.deepEqual(first, { event: 'refused', atMs: 2, count: 2, text, reasonCode: 0x87, address })
  assert.deepEqual([second?.event, second?.atMs, second?.address], ['connected', 3, address])
  assert.deepEqual([third?.event, third?.atMs], ['session-ended', 4])
  assert.match(third?.text ?? '', /^the session ended with its connection \(expiry 0\)/)
  assert.deepEqual(timelines.listEntries('nobody'), [])
})

test('a timeline has a maximum of entries and of text per entry', () => {
  const timelines = new ClientTimeline(limits)
  for (let number = 0; number < 10; number++) timelines.record(connected('me'), number)
  assert.deepEqual(
    timelines.listEntries('me').map(({ atMs }) => atMs),
    [6, 7, 8, 9],
  )
  timelines.record({ ...(refused('me') as object), text: 'x'.repeat(10_000) } as BrokerEvent, 11)
  assert.equal(timelines.listEntries('me').at(-1)?.text.length, 256)
})

test('the number of timelines is limited: the one without events for longest is removed', () => {
  const timelines = new ClientTimeline(limits)
  for (const clientId of ['a', 'b', 'c']) timelines.record(connected(clientId), 1)
  timelines.record(ended('a'), 2)
  timelines.record(connected('d'), 3)
  assert.deepEqual(eventsOf(timelines, 'b'), [])
  assert.deepEqual(eventsOf(timelines, 'a'), ['connected', 'session-ended'])
})

test('client IDs that never connect, however many, remove no timeline of those that did', () => {
  const timelines = new ClientTimeline(limits)
  timelines.record(connected('me'), 1)
  for (let number = 0; number < 1_000; number++) timelines.record(refused(`invented-${number}`), 2)
  assert.deepEqual(eventsOf(timelines, 'me'), ['connected'])
  assert.deepEqual(eventsOf(timelines, 'invented-999'), ['refused'])
  assert.deepEqual(eventsOf(timelines, 'invented-997'), [])
})

test('long client IDs use no more memory than short ones', () => {
  const timelines = new ClientTimeline(limits)
  for (const letter of ['a', 'b', 'c']) timelines.record(connected(letter.repeat(50)), 1)
  assert.deepEqual(eventsOf(timelines, 'a'.repeat(50)), [])
  assert.deepEqual(eventsOf(timelines, 'c'.repeat(50)), ['connected'])
  timelines.record(connected('x'.repeat(101)), 2)
  assert.deepEqual(eventsOf(timelines, 'x'.repeat(101)), [])
})
