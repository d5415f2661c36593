import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileShape, Type, type TSchema } from '../../src/contract/definition/schema.ts'

const errorFor = (schema: TSchema, value: unknown): string | undefined =>
  compileShape(Type.Object({ a: schema }, { additionalProperties: false })).findFault({ a: value })?.message

test('the error for an invalid value lists all valid values', () => {
  assert.equal(errorFor(Type.Enum(['x', 'y', 'z']), 'q'), 'must be x, y or z')
  assert.equal(errorFor(Type.Union([Type.Literal('plain'), Type.Literal('base64')]), 'q'), 'must be plain or base64')
  assert.equal(errorFor(Type.Union([Type.String(), Type.Integer()]), true), 'must be string or integer')
  assert.equal(errorFor(Type.Literal('q'), 4), 'must be q')
  assert.equal(errorFor(Type.Union([Type.Null(), Type.Integer({ minimum: 3 })]), 1), 'must be >= 3')
})

test('the error for an unknown key names the key, and the error for a missing key has isMissing', () => {
  const shape = compileShape(Type.Object({ a: Type.Integer() }, { additionalProperties: false }))
  assert.deepEqual(shape.findFault({ a: 1, b: 2 }), { path: '/b', message: 'is not a known key', isMissing: false })
  assert.equal(shape.findFault({})?.isMissing, true)
  assert.equal(shape.findFault({ a: 1 }), undefined)
})
