import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDefaultConfig, findConfigProblem, maskPasswords, restorePasswords } from '../../src/plugins/index.ts'

const schema = JSON.stringify({
  type: 'object',
  properties: {
    url: { type: 'string', default: 'http://localhost' },
    token: { type: 'string', format: 'password' },
    limits: { type: 'object', properties: { rate: { type: 'integer', minimum: 1, default: 10 } } },
    accounts: { type: 'array', items: { $ref: '#/$defs/account' } },
    proxy: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/account' }] },
  },
  additionalProperties: { type: 'string', format: 'password' },
  required: ['url'],
  $defs: {
    account: {
      type: 'object',
      properties: { user: { type: 'string' }, secret: { type: 'string', format: 'password' } },
    },
  },
})

const mask = '******'
const stored = {
  url: 'http://a',
  token: 't',
  accounts: [{ user: 'u', secret: 's' }],
  proxy: { user: 'p', secret: 'q' },
  other: 'o',
}
const masked = {
  url: 'http://a',
  token: mask,
  accounts: [{ user: 'u', secret: mask }],
  proxy: { user: 'p', secret: mask },
  other: mask,
}

test('a configuration is checked against the schema, and the message names the place', () => {
  assert.equal(findConfigProblem(schema, stored), undefined)
  assert.match(findConfigProblem(schema, { url: 1 }) ?? '', /^url /)
  assert.match(findConfigProblem(schema, {}) ?? '', /url/)
  assert.match(findConfigProblem(schema, { url: 'x', limits: { rate: 0 } }) ?? '', /^limits\.rate /)
})

test('defaults come from the schema', () => {
  assert.deepEqual(createDefaultConfig(schema), { url: 'http://localhost', limits: { rate: 10 } })
  assert.deepEqual(createDefaultConfig('true'), {})
})

test('texts of the format password are masked, wherever the schema describes them', () => {
  assert.deepEqual(maskPasswords(schema, stored, mask), masked)
  assert.deepEqual(maskPasswords(schema, { token: '' }, mask), { token: '' }, 'an empty one is shown')
  assert.deepEqual(maskPasswords(undefined, stored, mask), stored)
})

test('a masked text that is sent back keeps the stored one', () => {
  assert.deepEqual(restorePasswords(schema, masked, { mask, stored }), stored)
  const changed = { ...masked, token: 'new', accounts: [{ user: 'v', secret: 'new' }] }
  assert.deepEqual(restorePasswords(schema, changed, { mask, stored }), {
    ...stored,
    token: 'new',
    accounts: [{ user: 'v', secret: 'new' }],
  })
})

test('a schema that refers to itself ends', () => {
  const recursive = JSON.stringify({ $ref: '#', properties: { a: { $ref: '#' }, p: { format: 'password' } } })
  assert.deepEqual(maskPasswords(recursive, { a: { a: { p: 'x' } } }, mask), { a: { a: { p: mask } } })
})
