import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EntryAttributes } from '../../src/actions/results/action-entries.ts'
import { ActionOrder } from '../../src/actions/results/action-order.ts'

const payload = Buffer.from('x')
const plain = { payload, attributes: [] }
const entryOf = (rule: string, clientid: string) => ({ rule, event: { readColumn: () => clientid } })

describe('entries of an action', () => {
  test('with the same rule and publisher share their attributes', () => {
    const attributes = new EntryAttributes(new ActionOrder('publisher', 'batch'))
    const [one, again, otherRule, otherPublisher] = [
      ['r', 'c1'],
      ['r', 'c1'],
      ['s', 'c1'],
      ['r', 'c2'],
    ].map(
      ([rule = '', publisher = '']) => attributes.toPublication(entryOf(rule, publisher), plain, undefined).properties,
    )
    assert.equal(one, again)
    assert.deepEqual(one?.userProperties, [
      ['!order', 'c1'],
      ['rule', 'r'],
    ])
    assert.deepEqual(otherRule?.userProperties, [
      ['!order', 'c1'],
      ['rule', 's'],
    ])
    assert.deepEqual(otherPublisher?.userProperties, [
      ['!order', 'c2'],
      ['rule', 'r'],
    ])
  })

  test('have only their rule without an order', () => {
    const attributes = new EntryAttributes(new ActionOrder('none', 'batch'))
    const { properties } = attributes.toPublication(entryOf('r', 'c1'), plain, undefined)
    assert.deepEqual(properties?.userProperties, [['rule', 'r']])
  })

  test('have their own attributes first, and the length before a result last', () => {
    const attributes = new EntryAttributes(new ActionOrder('publisher', 'batch'))
    const own = { payload, attributes: [['path', '/a']] } as const
    const publication = attributes.toPublication(entryOf('r', 'c1'), own, Buffer.from('result'))
    assert.deepEqual(publication.properties?.userProperties, [
      ['path', '/a'],
      ['!order', 'c1'],
      ['rule', 'r'],
      ['!result', '1'],
    ])
    assert.equal(publication.payload.toString(), 'xresult')
  })

  test('share attributes with at most some thousands of others, whatever the number of publishers', () => {
    const attributes = new EntryAttributes(new ActionOrder('publisher', 'batch'))
    const of = (publisher: number) =>
      attributes.toPublication(entryOf('r', `c${publisher}`), plain, undefined).properties
    const first = of(0)
    for (let publisher = 1; publisher < 4_096; publisher++) of(publisher)
    assert.equal(of(0), first)
    of(4_096)
    assert.notEqual(of(0), first)
    assert.deepEqual(of(0), first)
  })
})
