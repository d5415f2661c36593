// A shard that reads more slowly than others publish for it: only its publishers wait; the buffer for an unreachable shard has a limit.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes } from '../../../src/protocol/index.ts'
import { SeveralCores } from './several-cores.ts'

const stored = { expirySeconds: 3_600 } as const

describe('a link that is congested', () => {
  test('stops publishers with messages for its shard, of any QoS, until it accepts more', () => {
    const cores = new SeveralCores()
    const reader = cores.client(1, 'reader')
    const [author, other] = [cores.client(0, 'author'), cores.client(0, 'other')]
    cores.settle()
    reader.subscribe('a')
    cores.settle()
    cores.handle(0, { kind: 'peer-congested', peer: 1, isCongested: true })
    for (const payload of ['1', '2', '3']) author.publish('a', payload)
    other.publish('b', 'x', { qos: 1 })
    cores.settle()
    assert.deepEqual(reader.payloads, [])
    assert.equal(author.connection?.isPaused, true)
    assert.equal(other.connection?.isPaused, false)
    assert.equal(other.unfinishedCount, 0)
    cores.handle(0, { kind: 'peer-congested', peer: 1, isCongested: false })
    cores.settle()
    assert.deepEqual(reader.payloads, ['1', '2', '3'])
    assert.equal(author.connection?.isPaused, false)
  })
})

describe('a shard that fails while its link is congested', () => {
  test('pauses no publisher any more, also not after its restart', () => {
    const cores = new SeveralCores()
    const reader = cores.client(1, 'reader')
    const author = cores.client(0, 'author')
    cores.settle()
    reader.subscribe('a')
    cores.settle()
    cores.handle(0, { kind: 'peer-congested', peer: 1, isCongested: true })
    author.publish('a', '1')
    cores.settle()
    assert.equal(author.connection?.isPaused, true)
    cores.kill(1)
    cores.settle()
    assert.equal(author.connection?.isPaused, false)
    cores.start(1)
    cores.settle()
    cores.connect(reader)
    cores.settle()
    reader.subscribe('a')
    cores.settle()
    author.publish('a', '2')
    cores.settle()
    assert.deepEqual(reader.payloads, ['2'])
  })
})

describe('mqtt.max_unconfirmed_messages', () => {
  for (const version of [4, 5] as const) {
    test(`makes a publisher of MQTT ${version} wait for a slow shard, and loses no message`, () => {
      const cores = new SeveralCores({ settings: { maxUnconfirmedMessages: 3 } })
      const reader = cores.client(1, 'reader', stored)
      const author = cores.client(0, 'author', { version })
      cores.settle()
      reader.subscribe('a')
      cores.settle()
      cores.holdLink(1, 0)
      const all = Array.from({ length: 10 }, (_, number) => `${number}`)
      for (const payload of all) author.publish('a', payload, { qos: 1 })
      cores.settle()
      assert.equal(reader.payloads.length, 3)
      assert.equal(author.connection?.isPaused, true)
      cores.releaseLink(1, 0)
      cores.settle()
      assert.deepEqual(reader.payloads, all)
      assert.equal(author.unfinishedCount, 0)
    })
  }

  test('refuses a 5.0 publisher while the shard is unavailable, and makes one of 3.1.1 wait', () => {
    const cores = new SeveralCores({ settings: { maxUnconfirmedMessages: 2 } })
    const reader = cores.client(1, 'reader', stored)
    const [five, four] = [cores.client(0, 'five'), cores.client(0, 'four', { version: 4 })]
    cores.settle()
    reader.subscribe('a')
    cores.settle()
    cores.kill(1)
    for (const payload of ['1', '2', '3']) five.publish('a', payload, { qos: 1 })
    cores.settle()
    for (const payload of ['4', '5']) four.publish('a', payload, { qos: 1 })
    cores.settle()
    assert.deepEqual([...five.acknowledged], [], 'acknowledgements keep their order')
    assert.equal(four.connection?.isPaused, true)
    cores.start(1)
    cores.settle()
    cores.connect(reader)
    cores.settle()
    assert.deepEqual(
      [...five.acknowledged.entries()],
      [
        ['1', 0],
        ['2', 0],
        ['3', reasonCodes.quotaExceeded],
      ],
    )
    assert.equal(four.unfinishedCount, 0)
    assert.deepEqual(reader.payloads, ['1', '2', '4', '5'])
  })
})
