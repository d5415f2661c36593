import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  findNewPermissions,
  formatPermission,
  parsePermission,
  type PluginPermission,
} from '../../src/plugins/index.ts'

function parse(...texts: readonly string[]): readonly PluginPermission[] {
  return texts.map((text) => {
    const permission = parsePermission(text)
    assert.ok(!('problem' in permission), JSON.stringify(permission))
    return permission
  })
}

const findNew = (wanted: readonly PluginPermission[], allowed: readonly PluginPermission[]): readonly string[] =>
  findNewPermissions(wanted, allowed).map(formatPermission)

test('a version that asks for more is noticed, and one that asks for less is not', () => {
  assert.deepEqual(findNew(parse('net'), parse()), ['net'])
  assert.deepEqual(findNew(parse('net', 'fs:read:/a'), parse('net')), ['fs:read:/a'])
  assert.deepEqual(findNew(parse(), parse('net')), [])
  assert.deepEqual(findNew(parse('fs:read:/a/b'), parse('fs:read:/a')), [], 'a directory covers what is below it')
  assert.deepEqual(findNew(parse('fs:read:/ab'), parse('fs:read:/a')), ['fs:read:/ab'])
  assert.deepEqual(findNew(parse('fs:read:/a'), parse('fs:write:/a')), [], 'writing covers reading')
  assert.deepEqual(findNew(parse('fs:write:/a'), parse('fs:read:/a')), ['fs:write:/a'])
})
