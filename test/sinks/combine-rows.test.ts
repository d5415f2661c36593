// Rows of several INSERT statements in one statement.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readInsert, RowCombiner } from '../../src/sinks/sql/combine-rows.ts'
import type { SqlStatement } from '../../src/sinks/sql/sql-entry.ts'

/** Maximum number of statements in a batch. */
const batchSize = 2_000

const combineRows = (statements: readonly SqlStatement[]) => new RowCombiner(batchSize).combine(statements)

/** The statements with their values in place, for comparison. */
function shown(statements: readonly SqlStatement[]): readonly string[] {
  return statements.map(({ texts, values }) => {
    assert.equal(texts.length, values.length + 1)
    return texts.reduce((sql, text, at) => (at === 0 ? text : `${sql}<${String(values[at - 1])}>${text}`), '')
  })
}

function inserts(
  count: number,
  texts: readonly string[],
  valuesOf: (row: number) => readonly number[],
): SqlStatement[] {
  return Array.from({ length: count }, (_, row) => ({ texts, values: valuesOf(row) }))
}

/** Numbers of rows of the statements that a batch becomes. */
function sizesOf(count: number, size: number): readonly number[] {
  const combined = new RowCombiner(size).combine(inserts(count, ['insert into r values (', ')'], (row) => [row]))
  return combined.map(({ values }) => values.length)
}

describe('rows of equal INSERT statements', () => {
  test('become one statement with the rows in order, and with the text after the row once', () => {
    const texts = ['INSERT INTO r (a, b) VALUES (', ', lower(', ')) ON CONFLICT (a) DO UPDATE SET b = EXCLUDED.b']
    const combined = combineRows(inserts(2, texts, (row) => [row, row * 10]))
    assert.deepEqual(shown(combined), [
      'INSERT INTO r (a, b) VALUES (<0>, lower(<0>)), (<1>, lower(<10>)) ON CONFLICT (a) DO UPDATE SET b = EXCLUDED.b',
    ])
  })

  test('are combined in powers of two, so that there are few different statements', () => {
    const combined = combineRows(inserts(1_500, ['insert into r values (', ')'], (row) => [row]))
    assert.deepEqual(
      combined.map(({ values }) => values.length),
      [1_024, 256, 128, 64, 16, 8, 4],
    )
    assert.deepEqual(
      combined.flatMap(({ values }) => values),
      Array.from({ length: 1_500 }, (_, row) => row),
    )
  })

  test('are one statement if the batch is full, with at most 1,024 rows', () => {
    assert.deepEqual(sizesOf(500, 500), [500])
    assert.deepEqual(sizesOf(499, 500), [256, 128, 64, 32, 16, 2, 1])
    assert.deepEqual(sizesOf(1_000, 1_000), [1_000])
    assert.deepEqual(sizesOf(1_500, 1_500), [1_024, 256, 128, 64, 16, 8, 4])
  })

  test('have at most 65,535 values in a statement', () => {
    const texts = ['INSERT INTO r VALUES (', ...Array.from({ length: 199 }, () => ','), ')']
    const combined = combineRows(inserts(600, texts, () => Array.from({ length: 200 }, () => 1)))
    assert.deepEqual(
      combined.map(({ values }) => values.length / 200),
      [256, 256, 64, 16, 8],
    )
  })

  test('are not combined if another statement is between them', () => {
    const [a, b] = [
      ['INSERT INTO a VALUES (', ')'],
      ['INSERT INTO b VALUES (', ')'],
    ]
    const statements = [...inserts(2, a, (row) => [row]), ...inserts(1, b, () => [7]), ...inserts(1, a, () => [2])]
    assert.deepEqual(shown(combineRows(statements)), [
      'INSERT INTO a VALUES (<0>), (<1>)',
      'INSERT INTO b VALUES (<7>)',
      'INSERT INTO a VALUES (<2>)',
    ])
  })

  test('can have parentheses and commas in quoted texts and names', () => {
    const texts = ['INSERT INTO r ("a)b", c) VALUES (', ", ')(')"]
    assert.deepEqual(readInsert(texts), { head: 'INSERT INTO r ("a)b", c) VALUES ', row: ['(', ", ')(')"], tail: '' })
  })
})

describe('a statement is not changed', () => {
  const left: readonly (readonly [why: string, texts: readonly string[]])[] = [
    ['it is no INSERT', ['UPDATE r SET a = ', '']],
    ['it inserts the rows of a query', ['INSERT INTO r (a) SELECT ', '']],
    ['its row has a subquery', ['INSERT INTO r VALUES (', ', (SELECT max(a) FROM r))']],
    ['it has two rows already', ['INSERT INTO r VALUES (', '), (', ')']],
    ['a value stands behind the row', ['INSERT INTO r VALUES (', ') ON CONFLICT (a) DO UPDATE SET b = ', '']],
    ['it has a comment', ['INSERT INTO r VALUES (', ' -- )\n)']],
    ['it is two statements', ['INSERT INTO r VALUES (', '); DELETE FROM r']],
    ['a quoted text does not end', ["INSERT INTO r VALUES ('", ')']],
    ['its row does not end', ['INSERT INTO r VALUES (', ', (1)']],
    ['its table is a value', ['INSERT INTO ', ' VALUES (1)']],
  ]
  for (const [why, texts] of left) {
    test(`if ${why}`, () => {
      const statements = inserts(3, texts, () => texts.slice(1).map(() => 1))
      assert.deepEqual(combineRows(statements), statements)
    })
  }
})
