// Values of clients in configured topics: a client never chooses which topics a template stands for.

/* oxlint-disable no-template-curly-in-string -- placeholders */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toTopicPart, fillTopicTemplate } from '../../src/protocol/index.ts'

/** Values with which a client would reach other topics, for every feature that inserts them. */
export const hostileValues = [
  '', '+', '#', '/', 'a/b', 'a/#', '../b', '$SYS', '$ns', '$share', '$', '$&', '$1', '$`', '\0', 'a\0b', 'a\nb', '\u007f', 'a\u0085',
] // oxfmt-ignore

test('values that are more than a part of one level are not inserted', () => {
  for (const value of hostileValues) {
    assert.equal(toTopicPart(value), undefined, JSON.stringify(value))
    for (const template of ['for/${clientid}', '${clientid}/x', 'a${clientid}b', '$share/g/${clientid}/#'])
      assert.equal(fillTopicTemplate(template, { clientid: value }), undefined, JSON.stringify([template, value]))
  }
  assert.equal(fillTopicTemplate('for/${clientid}', { clientid: undefined }), undefined)
})

test('other values are inserted unchanged, in one pass', () => {
  const values = { clientid: "dev-7 ä'${username}", username: 'a$&b$1$`' }
  assert.equal(
    fillTopicTemplate('${username}/${clientid}/${other}/$1', values),
    "a$&b$1$`/dev-7 ä'${username}/${other}/$1",
  )
  assert.equal(fillTopicTemplate('$share/${clientid}/x', { clientid: 'c' }), '$share/c/x')
  assert.equal(fillTopicTemplate('$queue/${clientid}', { clientid: 'c' }), '$queue/c')
})

test('a value does not complete the first level of a topic of the broker', () => {
  for (const template of [
    '$${v}/x',
    '$S${v}/#',
    '$share/g/$${v}/#',
    '$queue/$${v}/#',
    '$exclusive/$${v}/#',
    '$delayed/1/$${v}/x',
  ])
    for (const value of ['SYS', 'YS', 'ns', 'event'])
      assert.equal(fillTopicTemplate(template, { v: value }), undefined, template)
})
