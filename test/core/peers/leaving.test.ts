// A session ends with so many subscriptions that they are removed in slices: peers soon treat it as ended,
// and no message of a shared subscription is lost with it.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SeveralCores } from './several-cores.ts'

const filters = Array.from({ length: 1_500 }, (_, index) => `many/${index}`)
const shared = '$share/group/work'

for (const how of ['goes', 'starts a new session'] as const) {
  describe(`a client with thousands of subscriptions that ${how}`, () => {
    test('receives no messages of shared subscriptions while its other subscriptions are removed', () => {
      for (const publishes of [0, 1, 2]) {
        const cores = new SeveralCores()
        const leaving = cores.client(0, 'leaving', how === 'goes' ? {} : { expirySeconds: 3_600 })
        const staying = cores.client(1, 'staying')
        const author = cores.client(publishes, 'author')
        cores.settle()
        leaving.subscribeTo([...filters, shared])
        staying.subscribe(shared)
        cores.settle()
        leaving.disconnect()
        cores.sendAll(leaving)
        if (how === 'starts a new session') {
          leaving.cleanStart = true
          cores.connect(leaving)
          cores.sendAll(leaving)
        }
        const payloads = Array.from({ length: 20 }, (_, index) => String(index))
        for (const payload of payloads) author.publish('work', payload, { qos: Number(payload) % 2 === 0 ? 1 : 2 })
        cores.settle()
        assert.deepEqual(staying.payloads.toSorted(), payloads.toSorted(), `published on shard ${publishes}`)
        assert.equal(leaving.payloads.length, 0)
      }
    })
  })
}

test('the end of thousands of subscriptions is reported to peers up to the last filter', () => {
  const cores = new SeveralCores()
  const leaving = cores.client(0, 'leaving')
  const author = cores.client(1, 'author')
  cores.settle()
  leaving.subscribeTo(filters)
  cores.settle()
  leaving.disconnect()
  cores.settle()
  for (const filter of filters) author.publish(filter, 'to no session')
  cores.sendAll(author)
  assert.deepEqual(cores.messagesOnLink(1, 0), [])
})
