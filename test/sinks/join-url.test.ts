// The URL of a connector and the path of an action.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joinPath } from '../../src/sinks/http/join-url.ts'

const cases: readonly (readonly [base: string, path: string, expected: string | undefined])[] = [
  ['http://h/x?a=b', '/path', '/x/path?a=b'],
  ['http://h/x?a=b', 'path?n=2#end', '/x/path?a=b&n=2'],
  ['http://h/x?a=b', '?n=2', '/x?a=b&n=2'],
  ['http://h/x/?', '/path', '/x/path'],
  ['http://h?a=b', '/path', '/path?a=b'],
  ['http://h', '?n=2', '/?n=2'],
  ['http://h/write?a=b', '', '/write?a=b'],
  ['http://h/x#part', '/path', '/x/path'],
  ['http://user:pw@h/x?a=b', '@other/path', '/x/@other/path?a=b'],
  ['http://h/x?a=b', '//other/path', '/x//other/path?a=b'],
  ['http://h/?a=b', ':99999/', '/:99999/?a=b'],
]

for (const [base, path, expected] of cases) {
  test(`${base} with ${path} is ${expected}`, () => {
    assert.equal(joinPath(new URL(base), path), expected)
  })
}
