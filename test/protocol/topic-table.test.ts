import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ProtocolError, TopicTable, type Topic, type TopicName } from '../../src/protocol/index.ts'

const intern = (table: TopicTable, name: string): Topic => {
  const bytes = Buffer.from(`..${name}..`)
  return table.intern(bytes, 2, bytes.length - 2)
}

describe('a topic table', () => {
  test('returns the same object for the same bytes, however they arrived', () => {
    const table = new TopicTable(100)
    const topic = intern(table, 'grüße/🐦')
    assert.equal(intern(table, 'grüße/🐦'), topic)
    assert.equal(table.internName('grüße/🐦' as TopicName), topic)
    assert.equal(topic.name, 'grüße/🐦')
    assert.deepEqual(topic.bytes, Buffer.from('grüße/🐦'))
    assert.equal(topic.levels, 2)
  })

  test('distinguishes topics that differ in one byte, or in length only', () => {
    const table = new TopicTable(100)
    const names = ['a', 'aa', 'ab', 'ba', 'a/', '/a', 'a/b']
    const topics = new Set(names.map((name) => intern(table, name)))
    assert.equal(topics.size, names.length)
    for (const name of names) assert.equal(intern(table, name).name, name)
  })

  test('does not retain chunks', () => {
    const bytes = Buffer.from('a/b')
    const topic = new TopicTable(10).intern(bytes, 0, 3)
    bytes.fill(0)
    assert.equal(topic.bytes.toString(), 'a/b')
    assert.notEqual(topic.bytes.buffer, bytes.buffer)
  })

  test('refers to no other memory than its own bytes, wherever the topic came from', () => {
    const table = new TopicTable(10)
    for (const topic of [intern(table, 'by/bytes'), table.internName('by/name' as TopicName)])
      assert.equal(topic.bytes.buffer.byteLength, topic.bytes.length, topic.name)
  })

  test('creates a new object for each topic after it has been cleared', () => {
    const table = new TopicTable(10)
    const before = intern(table, 'a/b')
    table.forget()
    const after = intern(table, 'a/b')
    assert.notEqual(after, before)
    assert.deepEqual(after, before)
  })

  test('creates a new object for a removed topic also if the topic was not used recently', () => {
    const table = new TopicTable(4)
    const before = intern(table, 'a/b')
    for (const name of ['1', '2']) intern(table, name)
    table.forget()
    assert.notEqual(intern(table, 'a/b'), before)
  })

  test('finds a topic by name that was not used recently', () => {
    const table = new TopicTable(4)
    const before = intern(table, 'a/b')
    for (const name of ['1', '2']) intern(table, name)
    assert.equal(table.internName('a/b' as TopicName), before)
  })

  test('does not grow when the same name is requested repeatedly', () => {
    const table = new TopicTable(100)
    const other = intern(table, 'other')
    for (let count = 0; count < 5_000; count++) table.internName(`twenty-four ${count % 2} bytes long` as TopicName)
    assert.equal(intern(table, 'other'), other)
  })

  test('distinguishes topics with the same hash', () => {
    const table = new TopicTable(100)
    // These names have the same FNV-1a hash.
    const names = ['costarring', 'liquid', 'declinate', 'macallums', 'altarage', 'zinke']
    for (const name of [...names, ...names]) assert.equal(intern(table, name).name, name)
  })

  test('does not store invalid topic names', () => {
    const table = new TopicTable(10)
    for (let attempt = 0; attempt < 2; attempt++) {
      for (const text of ['', 'a/#', '+', 'a\0']) assert.throws(() => intern(table, text), ProtocolError)
    }
  })

  test('keeps all topics in use while it has space', () => {
    const table = new TopicTable(20_000)
    const topics = Array.from({ length: 10_000 }, (_, index) => intern(table, `sensor/${index}/state`))
    for (const [index, topic] of topics.entries()) assert.equal(intern(table, `sensor/${index}/state`), topic)
  })

  test('removes topics that were not used since half of its capacity was added, and keeps those that were', () => {
    const table = new TopicTable(100)
    const busy = intern(table, 'busy')
    const idle = intern(table, 'idle')
    for (let index = 0; index < 500; index++) {
      intern(table, `passing/${index}`)
      assert.equal(intern(table, 'busy'), busy)
    }
    assert.notEqual(intern(table, 'idle'), idle)
    assert.equal(idle.name, 'idle', 'a forgotten topic stays valid')
  })

  test('has a limit of bytes, too: long names are removed sooner', () => {
    const table = new TopicTable(1_000)
    const first = intern(table, 'first')
    for (let index = 0; index < 10; index++) intern(table, `${index}`.repeat(65_000))
    assert.notEqual(intern(table, 'first'), first)
  })

  test('returns the correct topic for colliding names, which replace each other', () => {
    const table = new TopicTable(4_096)
    // With any hash function, so many names share slots in so small a table.
    for (let round = 0; round < 3; round++) {
      for (let index = 0; index < 3_000; index++) assert.equal(intern(table, `t${index}`).name, `t${index}`)
    }
  })
})
