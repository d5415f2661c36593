import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bridgeSettings, type BridgeSettings } from '../../src/bridges/index.ts'
import { formatFault, loadConfig } from '../../src/config/index.ts'

function read(text: string): ReturnType<typeof bridgeSettings> {
  const loaded = loadConfig({ text: `bridges.mqtt.b ${text}`, file: 'test.conf', overrides: [] })
  if ('faults' in loaded) assert.fail(loaded.faults.map(formatFault).join('\n'))
  const config = loaded.config.bridges.mqtt.named.get('b')
  assert.ok(config !== undefined)
  return bridgeSettings('b', config, { brokerId: 'here', link: {} })
}

function settingsOf(text: string): BridgeSettings {
  const made = read(text)
  if ('problem' in made) assert.fail(made.problem)
  return made.settings
}

test('a bridge without a client id has the same one after every start', () => {
  assert.equal(settingsOf('{server = "mqtt-tcp://h:1883"}').clientId, 'godwit-here-b')
})

test('a bridge is remembered by the remote broker unless it says otherwise', () => {
  const { cleanStart, sessionExpirySeconds } = settingsOf('{server = "mqtt-tcp://h:1883"}')
  assert.deepEqual({ cleanStart, sessionExpirySeconds }, { cleanStart: false, sessionExpirySeconds: 0xffffffff })
})

test('a hybrid bridge with one QUIC server has the same machine over TCP behind it', () => {
  const text = '{server = "mqtt-quic://[::1]:14567", hybrid_bridging = true}'
  assert.deepEqual(settingsOf(text).servers, ['mqtt-quic://[::1]:14567', 'mqtt-tcp://[::1]:1883'])
})

test('hybrid servers come behind the first, each once', () => {
  const others = '["mqtt-tcp://b:1", "mqtt-quic://a:1"]'
  const text = `{server = "mqtt-quic://a:1", hybrid_bridging = true, hybrid_servers = ${others}}`
  assert.deepEqual(settingsOf(text).servers, ['mqtt-quic://a:1', 'mqtt-tcp://b:1'])
})

const refused: readonly (readonly [text: string, problem: RegExp])[] = [
  ['{enable = true}', /^bridges\.mqtt\.b\.server is missing/],
  ['{server = "mqtt-tcp://h:1", forwards = [{local_topic = "a/#/b"}]}', /^bridges\.mqtt\.b\.forwards\.0\.local_topic/],
  ['{server = "mqtt-tcp://h:1", subscription = [{remote_topic = "a", local_topic = "#"}]}', /subscription\.0\.local/],
  ['{server = "mqtt-tcp://h:1", will.topic = "a/+"}', /will\.topic is no topic name/],
]

for (const [text, problem] of refused) {
  test(`${text} is refused by the key`, () => {
    const made = read(text)
    assert.match('problem' in made ? made.problem : '', problem)
  })
}
