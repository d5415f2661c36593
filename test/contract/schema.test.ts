import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shapeOf, Type, type TSchema } from '../../src/contract/schema.ts'

const wrong = (schema: TSchema, value: unknown): string | undefined =>
  shapeOf(Type.Object({ a: schema }, { additionalProperties: false })).faultOf({ a: value })?.message

test('what is wrong with a value is said with everything that would be right', () => {
  assert.equal(wrong(Type.Enum(['x', 'y', 'z']), 'q'), 'must be x, y or z')
  assert.equal(wrong(Type.Union([Type.Literal('plain'), Type.Literal('base64')]), 'q'), 'must be plain or base64')
  assert.equal(wrong(Type.Union([Type.String(), Type.Integer()]), true), 'must be string or integer')
  assert.equal(wrong(Type.Literal('q'), 4), 'must be q')
  assert.equal(wrong(Type.Union([Type.Null(), Type.Integer({ minimum: 3 })]), 1), 'must be >= 3')
})

test('a key that is not known is named, and one that is missing is known as such', () => {
  const shape = shapeOf(Type.Object({ a: Type.Integer() }, { additionalProperties: false }))
  assert.deepEqual(shape.faultOf({ a: 1, b: 2 }), { path: '/b', message: 'is not a known key', isMissing: false })
  assert.equal(shape.faultOf({})?.isMissing, true)
  assert.equal(shape.faultOf({ a: 1 }), undefined)
})
