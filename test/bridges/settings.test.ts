import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bridgeSettings, type BridgeSettings } from '../../src/bridges/index.ts'
import { formatFault, type GodwitConfig, loadConfig } from '../../src/config/index.ts'

function read(text: string): ReturnType<typeof bridgeSettings> {
  const loaded = loadConfig({ text: `bridges.mqtt.b ${text}`, file: 'test.conf', overrides: [] })
  if ('faults' in loaded) assert.fail(loaded.faults.map(formatFault).join('\n'))
  const config = loaded.config.bridges.mqtt.named.get('b')
  assert.ok(config !== undefined)
  return bridgeSettings('b', config, { brokerId: 'here', link: {} })
}

function loaded(text: string): { config: GodwitConfig; warnings: readonly string[] } {
  const found = loadConfig({ text, file: 'test.conf', overrides: [] })
  if ('faults' in found) assert.fail(found.faults.map(formatFault).join('\n'))
  return { config: found.config, warnings: found.warnings.map(formatFault) }
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

test('a bridge is off until it says that it is on, and its silence is told', () => {
  const text = 'bridges.mqtt.up { server = "mqtt-tcp://h:1883" }'
  assert.equal(loaded(text).config.bridges.mqtt.named.get('up')?.enable, false)
  const [warning, ...others] = loaded(text).warnings
  assert.match(
    warning ?? '',
    /^test\.conf:1:\d+: bridges\.mqtt\.up\.enable: .*off; set bridges\.mqtt\.up\.enable = true$/,
  )
  assert.deepEqual(others, [])
  for (const enable of [true, false])
    assert.deepEqual(loaded(`${text}, bridges.mqtt.up.enable = ${enable}`).warnings, [])
})
