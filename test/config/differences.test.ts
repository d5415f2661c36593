import assert from 'node:assert/strict'
import { test } from 'node:test'

import {
  describeConfig,
  compareConfigs,
  loadConfig,
  mask,
  toApplyResult,
  type GodwitConfig,
} from '../../src/config/index.ts'

function load(text: string): GodwitConfig {
  const loaded = loadConfig({ text, overrides: [] })
  assert.ok('config' in loaded)
  return loaded.config
}

test('configurations with the same meaning have no differences, also if they are written differently', () => {
  const one = load('mqtt { retry_interval = 60s, max_packet_size = 2MB }')
  const other = load('mqtt.retry_interval = 1m\nmqtt.max_packet_size = 2048KB\nlog.level = auto')
  assert.deepEqual(compareConfigs(one, other), [])
})

test('each changed setting is listed with both values and when the new one applies', () => {
  const before = load('mqtt.retry_interval = 20s\nlog.level = info')
  const after = load('mqtt.retry_interval = 10s\nlog.level = debug\nnode.shards = 2')
  assert.deepEqual(compareConfigs(before, after), [
    { key: 'node.shards', old: 'auto', new: '2', appliesOn: 'at-restart', hasEffect: true, isWritten: true },
    {
      key: 'mqtt.retry_interval',
      old: '20s',
      new: '10s',
      appliesOn: 'on-next-connect',
      hasEffect: true,
      isWritten: true,
    },
    { key: 'log.level', old: 'info', new: 'debug', appliesOn: 'at-once', hasEffect: true, isWritten: true },
  ])
})

test('added and removed named entries are listed', () => {
  const found = compareConfigs(load('listeners.tcp.a.bind = 1'), load('listeners.tcp.b.bind = 2'))
  const binds = found.filter(({ key }) => key.endsWith('.bind'))
  assert.deepEqual(binds, [
    { key: 'listeners.tcp.a.bind', old: '1', new: undefined, appliesOn: 'at-once', hasEffect: true, isWritten: true },
    { key: 'listeners.tcp.b.bind', old: undefined, new: '2', appliesOn: 'at-once', hasEffect: true, isWritten: true },
  ])
})

test('for a new bridge, only its configured settings and whether it is enabled are listed; for a changed one, each changed setting', () => {
  const plain = 'bridges.mqtt.a { server = "mqtt-tcp://127.0.0.1:1884" }'
  const isNew = toApplyResult(compareConfigs(load(''), load(plain)), [])
  assert.deepEqual(
    isNew.needsRestart.map(({ key }) => key),
    ['bridges.mqtt.a.enable', 'bridges.mqtt.a.server'],
  )
  assert.deepEqual(isNew.withoutEffect, [])
  const found = compareConfigs(load(`${plain}\nbridges.mqtt.a.proto_ver = 5`), load(plain))
  assert.deepEqual(
    toApplyResult(found, found).changed.map(({ key, new: now }) => [key, now]),
    [['bridges.mqtt.a.proto_ver', '4']],
  )
})

function secretsBeing(word: string): string {
  return `
    auth.password.alice = ${word}
    http_server.password = ${word}
    listeners.ssl { key_password = ${word}, psk_file = k }
    bridges.mqtt.a.password = ${word}
    rules.repub.rules = [{ sql = s, password = ${word} }]
    webhook.headers.Authorization = ${word}
    auth.http_auth.auth_req.headers.Authorization = ${word}
    rules.mysql.m.conn.password = ${word}
    gateway.zmq.password = ${word}`
}

test('a changed secret is listed without the old and the new value', () => {
  const found = compareConfigs(load(secretsBeing('hunter2')), load(secretsBeing('swordfish')))
  assert.equal(found.length, 9)
  for (const { key, old, new: now } of found) assert.deepEqual([old, now], [mask, mask], key)
})

test('a secret that is set for the first time is listed with no old value', () => {
  const [found] = compareConfigs(load(''), load('http_server.password = hunter2'))
  assert.deepEqual(found, {
    key: 'http_server.password',
    old: 'none',
    new: mask,
    appliesOn: 'at-once',
    hasEffect: true,
    isWritten: true,
  })
})

test('a whole configuration is described without its secrets', () => {
  const described = describeConfig(load('http_server { password = hunter2, username = root }'))
  assert.equal(described.get('http_server.username'), 'root')
  assert.equal(described.get('http_server.password'), mask)
  assert.equal(described.get('mqtt.max_packet_size'), '10MB')
})
