// A change of one rule, connector or action costs what has changed, whatever the number of others.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ConfigObject,
  compareConfigs,
  fromPlain,
  loadConfig,
  type LoadedConfig,
  parseHocon,
  putValue,
} from '../../src/config/index.ts'
import { checkSettings } from '../../src/config/check/check-settings.ts'
import { root } from '../../src/config/settings/root.ts'
import { planRules } from '../../src/actions/plan/plan-rules.ts'
import { sinkTypes } from '../../src/sinks/index.ts'

const count = 200

const rule = (number: number) => ({ sql: `SELECT * FROM "t/${number}"`, actions: [`http:a${number}`] })
const action = { connector: 'c0', parameters: { body: '${payload}' } }

function valueOf(plain: Readonly<Record<string, unknown>>): ConfigObject {
  const read = fromPlain(plain, 'test')
  assert.ok('value' in read && read.value.kind === 'object')
  return read.value
}

function all(item: (number: number) => object): object {
  return Object.fromEntries(Array.from({ length: count }, (_, number) => [`a${number}`, item(number)]))
}

function manyValues(): ConfigObject {
  return valueOf({
    connectors: {
      http: { c0: { url: 'http://127.0.0.1:9' }, ...all(() => ({ url: 'http://127.0.0.1:8' })) },
    },
    actions: { http: all(() => action) },
    rule_engine: { rules: all(rule) },
  })
}

function configOf(values: ConfigObject): Extract<LoadedConfig, { config: unknown }>['config'] {
  const loaded = loadConfig({ values, overrides: [] })
  assert.ok('config' in loaded, JSON.stringify(loaded))
  return loaded.config
}

test('a change checks and plans the named section that has changed, not all others', (t) => {
  const checks = { sql: 0, action: 0, connector: 0 }
  const { sql } = root.entries.rule_engine.entries.rules.named.entries
  const readSql = sql.type.read.bind(sql.type)
  const { http } = sinkTypes
  const findActionProblem = http.findActionProblem.bind(http)
  const findConnectorProblem = http.findConnectorProblem.bind(http)
  t.mock.method(sql.type, 'read', (...values: Parameters<typeof readSql>) => {
    checks.sql++
    return readSql(...values)
  })
  t.mock.method(http, 'findActionProblem', (...values: Parameters<typeof findActionProblem>) => {
    checks.action++
    return findActionProblem(...values)
  })
  t.mock.method(http, 'findConnectorProblem', (...values: Parameters<typeof findConnectorProblem>) => {
    checks.connector++
    return findConnectorProblem(...values)
  })
  const values = manyValues()
  const before = configOf(values)
  assert.ok('plan' in planRules(before, 'node'))
  assert.ok(checks.sql >= count && checks.action === count && checks.connector === count + 1, JSON.stringify(checks))
  Object.assign(checks, { sql: 0, action: 0, connector: 0 })
  let changed = putValue(values, ['rule_engine', 'rules', 'new'], valueOf({ ...rule(1), actions: ['http:new'] }))
  changed = putValue(changed, ['actions', 'http', 'new'], valueOf({ ...action, connector: 'new' }))
  changed = putValue(changed, ['connectors', 'http', 'new'], valueOf({ url: 'http://127.0.0.1:7' }))
  const after = configOf(changed)
  const planned = planRules(after, 'node')
  assert.ok('plan' in planned)
  assert.deepEqual(checks, { sql: 1, action: 1, connector: 1 })
  assert.equal(planned.plan.rules.length, count + 1)
  const keys = compareConfigs(before, after).map(({ key }) => key)
  assert.ok(keys.length > 0 && keys.every((key) => key.split('.')[2] === 'new'), keys.join(' '))
})

test('sections that were checked before have the same result as in a first check, also with errors and warnings', () => {
  const text = `
    connectors.http { good.url = "http://h:1", bad.url = 7, odd { url = "http://h:2", enable = maybe, pool_type = hash } }
    actions.http { a.connector = good, unknown { connector = good, colour = red } }
    rule_engine.rules.r { sql = "SELECT", actions = [] }
    rule_engine.rules."no name" { sql = "SELECT" }
    bridges.mqtt.b { server = "mqtt-tcp://h:1", forwards = [] }
  `
  const parse = (): ConfigObject => {
    const parsed = parseHocon(text, { file: 'test' })
    assert.ok('value' in parsed)
    return parsed.value
  }
  const values = parse()
  const [first, again, fresh] = [values, values, parse()].map((value) => {
    const { errors, warnings, places, settingTexts, values: read } = checkSettings(root, value)
    return { errors, warnings, places: [...places], texts: [...settingTexts], read }
  })
  assert.ok(first.errors.length > 0)
  assert.deepEqual(again, first)
  assert.deepEqual(fresh, first)
})
