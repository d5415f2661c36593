import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compareLines, parseNumbers } from '../../dashboard/src/state/payload-values.ts'

describe('numbers of a payload', () => {
  test('are the payload itself, or the numbers in its JSON with their paths', () => {
    assert.deepEqual([...parseNumbers(' 21.5 ')], [['', 21.5]])
    assert.deepEqual(
      [...parseNumbers('{"t": 1, "halls": [{"h": 2}, "x"], "name": "3", "ok": true, "none": null}')],
      [
        ['t', 1],
        ['halls.0.h', 2],
      ],
    )
  })

  test('are not found in text, in an empty payload, or in a very long list', () => {
    for (const text of ['', ' ', 'on', '{"t": ', 'NaN', 'Infinity', '"5"'])
      assert.equal(parseNumbers(text).size, 0, text)
    assert.equal(parseNumbers(JSON.stringify(Array.from({ length: 1_000 }, (_, index) => index))).size, 50)
    assert.equal(parseNumbers(`${'['.repeat(1_000)}1${']'.repeat(1_000)}`).size, 0)
  })
})

const shown = (before: string, after: string): string[] =>
  compareLines(before, after).map(({ change, text }) => `${change} ${text}`)

describe('the comparison of two payloads', () => {
  test('shows equal, removed and added parts in order', () => {
    assert.deepEqual(shown('{\na: 1\nb: 2\n}', '{\na: 1\nb: 3\nc: 4\n}'), [
      'same {',
      'same a: 1',
      'removed b: 2',
      'added b: 3',
      'added c: 4',
      'same }',
    ])
    assert.deepEqual(shown('x', 'x'), ['same x'])
  })

  test('does not divide very long texts into parts', () => {
    const long = 'line\n'.repeat(500)
    const lines = compareLines(long, `${long}end`)
    assert.equal(lines.filter(({ change }) => change === 'same').length, 0)
    assert.equal(lines.length, 2 * 500 + 2)
  })
})
