// Subjects of NATS from templates.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireSubject } from '../../src/sinks/nats/nats-sink.ts'

test('a subject with spaces, wildcards or empty parts is refused', () => {
  for (const subject of ['a', 'a.b', 'a/b.c-d', '$x.ü']) assert.equal(requireSubject(subject), subject)
  for (const subject of ['', '.', 'a.', '.a', 'a..b', 'a b', 'a.*', 'a.>', 'a\tb', 'a*b'])
    assert.throws(() => requireSubject(subject), /has an empty part, a space or a wildcard/, subject)
})
