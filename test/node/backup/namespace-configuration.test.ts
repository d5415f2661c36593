// The configuration in archives of a namespace: names without the namespace, and no settings of other namespaces.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PlainValue } from '../../../src/config/index.ts'
import {
  selectNamespaceConfiguration,
  toOwnChange,
  findNamespaceFileProblem,
  scopeConfiguration,
  toScopedKey,
} from '../../../src/node/backup/namespace-configuration.ts'

const hook = { connector: 'hook@plant', parameters: { path: '/x' } }
const rule: { readonly [key: string]: PlainValue } = {
  sql: 'SELECT * FROM "a/#"',
  actions: [
    'http:hook@plant',
    { function: 'console' },
    { action: 'http:hook@plant', fallbacks: ['http:spare@plant', { function: 'do_nothing' }] },
  ],
}
const broker: PlainValue = {
  mqtt: { max_mqueue_len: 7 },
  rule_engine: {
    ignore_sys_message: false,
    rules: { 'all@plant': rule, 'all@shop': { sql: 'x' }, all: { sql: 'y' }, 'gone@plant': null },
  },
  connectors: { http: { 'hook@plant': { url: 'http://a', headers: { authorization: 'secret' } }, hook: { url: 'b' } } },
  actions: { http: { 'hook@plant': hook, 'spare@plant': hook, 'hook@shop': { connector: 'hook@shop' } } },
  sources: { mqtt: { 'in@plant': { connector: 'far@plant' } } },
}

/** The value as JSON, as in an archive. */
const written = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('the configuration of a namespace', () => {
  test('contains only items of the namespace, with names without the namespace, and with secrets', () => {
    const own = written(selectNamespaceConfiguration(broker, 'plant'))
    const ownHook = { ...hook, connector: 'hook' }
    const fallbacks = ['http:spare', { function: 'do_nothing' }]
    const actions = ['http:hook', { function: 'console' }, { action: 'http:hook', fallbacks }]
    assert.deepEqual(own, {
      rule_engine: { rules: { all: { ...rule, actions } } },
      connectors: { http: { hook: { url: 'http://a', headers: { authorization: 'secret' } } } },
      actions: { http: { hook: ownHook, spare: ownHook } },
      sources: { mqtt: { in: { connector: 'far' } } },
    })
    assert.deepEqual(written(selectNamespaceConfiguration(broker, 'plant', ['sources'])), {
      sources: { mqtt: { in: { connector: 'far' } } },
    })
    assert.deepEqual(written(selectNamespaceConfiguration(broker, 'other')), {})
  })

  test('is converted back to names with the namespace, and affects no other namespace', () => {
    const own = selectNamespaceConfiguration(broker, 'plant')
    const converted = scopeConfiguration(own, 'plant')
    assert.ok('scoped' in converted)
    assert.deepEqual(written(selectNamespaceConfiguration(converted.scoped, 'plant')), written(own))
    const inOtherNamespace = scopeConfiguration(own, 'shop')
    assert.ok('scoped' in inOtherNamespace)
    assert.deepEqual(
      Object.keys((written(inOtherNamespace.scoped) as typeof inOtherNamespace.scoped)['rule_engine'] ?? {}),
      ['rules'],
    )
    assert.match(JSON.stringify(inOtherNamespace.scoped), /"hook@shop":\{"connector":"hook@shop"/)
    assert.deepEqual(written(selectNamespaceConfiguration(inOtherNamespace.scoped, 'plant')), {})
  })

  for (const [what, configuration, problem] of [
    ['another section', { mqtt: { max_mqueue_len: 1 } }, /no settings mqtt$/],
    ['settings of all rules', { rule_engine: { ignore_sys_message: false } }, /rule_engine\.ignore_sys_message/],
    ['a section that is none', { connectors: 'x' }, /no settings connectors/],
    ['a deleted item', { connectors: { http: { hook: null } } }, /connectors\.http\.hook/],
    ['a name of another namespace', { connectors: { http: { 'hook@shop': {} } } }, /hook@shop has a name with @/],
  ] as const) {
    test(`is refused with ${what}`, () => {
      const outcome = scopeConfiguration(configuration, 'plant')
      assert.match('problem' in outcome ? outcome.problem : '', problem)
    })
  }

  test('may name files of the machine only if a global administrator set them', () => {
    const current = {
      connectors: { mqtt: { far: { ssl: { cacertfile: '/ca.pem' } } }, disk_log: { log: { filepath: 'x' } } },
    }
    assert.equal(findNamespaceFileProblem(current, current), undefined)
    assert.match(findNamespaceFileProblem(current, {}) ?? '', /^connectors\.mqtt\.far: cacertfile names a file/)
    const moved = { connectors: { disk_log: { log: { filepath: 'y' } } } }
    assert.match(findNamespaceFileProblem(moved, current) ?? '', /^connectors\.disk_log\.log: disk_log writes to files/)
  })

  test('is shown without the namespace in keys and names', () => {
    const change = { key: 'actions.http.hook@p.1.connector', old: undefined, new: '"far@p.1"' }
    assert.deepEqual(toOwnChange(change, 'p.1'), { key: 'actions.http.hook.connector', old: undefined, new: '"far"' })
    const address = { key: 'connectors.http.hook@plant.url', old: undefined, new: '"http://me@plant/"' }
    assert.equal(toOwnChange(address, 'plant').new, '"http://me@plant/"')
    assert.equal(toScopedKey('connectors.http.hook.url', 'p.1'), 'connectors.http.hook@p.1.url')
  })
})
