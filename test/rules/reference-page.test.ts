import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileRule, convertRuleSql } from '../../src/rules/index.ts'
import { decodeJson, type RuleMap } from '../../src/values/index.ts'
import { outputOf } from './evaluate.ts'
import { readPage, withGeneratedParts, workedExamples } from './reference-page.ts'

const page = readPage()

test('docs/RULES.md has the tables that are generated from the definitions (npm run generate)', () => {
  assert.equal(page, withGeneratedParts(page))
})

test('the beginning of docs/RULES.md says where rules are configured', () => {
  assert.match(page.split('\n')[2], /`rule_engine\.rules`/)
})

describe('worked examples of docs/RULES.md', () => {
  const examples = workedExamples(page)

  test('there are at least twenty, and all headings are examples', () => {
    assert.ok(examples.length >= 20, `${examples.length} examples`)
    assert.equal(examples.length, page.match(/^### \d+\. /gm)?.length)
  })

  for (const { title, sql, message, result } of examples) {
    test(title, () => {
      assert.equal(outputOf(sql, decodeJson(message) as RuleMap), result)
      assert.deepEqual(compileRule(sql).warnings, [])
    })
  }
})

test('the conversion that docs/RULES.md shows', () => {
  const [, old, converted] = /\n```\n(SELECT \* FROM "message.publish".*)\n(SELECT .*)\n```/.exec(page) ?? []
  assert.equal(convertRuleSql(old).sql, converted)
})
