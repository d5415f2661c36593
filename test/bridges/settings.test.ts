import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toBridgeSettings, type BridgeSettings } from '../../src/bridges/index.ts'
import {
  createAwsBridges,
  formatConfigError,
  type GodwitConfig,
  loadConfig,
  toSpoolMessages,
} from '../../src/config/index.ts'

function read(text: string, spoolMessages?: number): ReturnType<typeof toBridgeSettings> {
  const loaded = loadConfig({ text: `bridges.mqtt.b ${text}`, file: 'test.conf', overrides: [] })
  if ('errors' in loaded) assert.fail(loaded.errors.map(formatConfigError).join('\n'))
  const config = loaded.config.bridges.mqtt.named.get('b')
  assert.ok(config !== undefined)
  return toBridgeSettings('b', config, { brokerId: 'here', link: {}, spoolMessages })
}

function loaded(text: string): { config: GodwitConfig; warnings: readonly string[] } {
  const found = loadConfig({ text, file: 'test.conf', overrides: [] })
  if ('errors' in found) assert.fail(found.errors.map(formatConfigError).join('\n'))
  return { config: found.config, warnings: found.warnings.map(formatConfigError) }
}

function settingsOf(text: string, spoolMessages?: number): BridgeSettings {
  const made = read(text, spoolMessages)
  if ('problem' in made) assert.fail(made.problem)
  return made.settings
}

test('a bridge without a client ID has the same one after every start', () => {
  assert.equal(settingsOf('{server = "mqtt-tcp://h:1883"}').clientId, 'godwit-here-b')
})

function idBefore4(name: string, brokerId: string): string {
  const { config } = loaded(`bridges.mqtt.${name} { server = "mqtt-tcp://h:1883", proto_ver = 3 }`)
  const made = toBridgeSettings(name, config.bridges.mqtt.named.get(name) ?? assert.fail(), { brokerId, link: {} })
  return 'settings' in made ? made.settings.clientId : assert.fail(made.problem)
}

test('a bridge without a client ID gets one that MQTT 3.1 allows and that no other bridge has', () => {
  const ids = [
    idBefore4('up', '0123456789abcdef'),
    idBefore4('down', '0123456789abcdef'),
    idBefore4('up', 'fedcba9876543210'),
  ]
  assert.equal(new Set(ids).size, 3)
  for (const id of ids) assert.match(id, /^[0-9a-z-]{23}$/)
})

test('a bridge has a persistent session unless it is configured otherwise', () => {
  const { cleanStart, sessionExpirySeconds } = settingsOf('{server = "mqtt-tcp://h:1883"}')
  assert.deepEqual({ cleanStart, sessionExpirySeconds }, { cleanStart: false, sessionExpirySeconds: 0xffffffff })
})

test('a hybrid bridge with one QUIC server uses the same host over TCP as the second', () => {
  const text = '{server = "mqtt-quic://[::1]:14567", hybrid_bridging = true}'
  assert.deepEqual(settingsOf(text).servers, ['mqtt-quic://[::1]:14567', 'mqtt-tcp://[::1]:1883'])
})

test('hybrid servers follow the first, each once', () => {
  const others = '["mqtt-tcp://b:1", "mqtt-quic://a:1"]'
  const text = `{server = "mqtt-quic://a:1", hybrid_bridging = true, hybrid_servers = ${others}}`
  assert.deepEqual(settingsOf(text).servers, ['mqtt-quic://a:1', 'mqtt-tcp://b:1'])
})

const refused: readonly (readonly [text: string, problem: RegExp])[] = [
  ['{enable = true}', /^bridges\.mqtt\.b\.server is missing/],
  ['{server = "mqtt-tcp://h:1", forwards = [{local_topic = "a/#/b"}]}', /^bridges\.mqtt\.b\.forwards\.0\.local_topic/],
  ['{server = "mqtt-tcp://h:1", subscription = [{remote_topic = "a", local_topic = "#"}]}', /subscription\.0\.local/],
  ['{server = "mqtt-tcp://h:1", will.topic = "a/+"}', /will\.topic is not a topic name/],
]

for (const [text, problem] of refused) {
  test(`${text} is refused with its key`, () => {
    const made = read(text)
    assert.match('problem' in made ? made.problem : '', problem)
  })
}

test('a bridge is disabled until it is enabled, and a disabled one is logged', () => {
  const text = 'bridges.mqtt.up { server = "mqtt-tcp://h:1883" }'
  assert.equal(loaded(text).config.bridges.mqtt.named.get('up')?.enable, false)
  const [warning, ...others] = loaded(text).warnings
  assert.match(
    warning ?? '',
    /^test\.conf:1:\d+: bridges\.mqtt\.up\.enable: .*disabled; set bridges\.mqtt\.up\.enable = true$/,
  )
  assert.deepEqual(others, [])
  for (const enable of [true, false])
    assert.deepEqual(loaded(`${text}, bridges.mqtt.up.enable = ${enable}`).warnings, [])
})

function spoolOf(text: string, spoolMessages: number | undefined): readonly unknown[] {
  const { spool } = settingsOf(`{server = "mqtt-tcp://h:1", ${text}}`, spoolMessages)
  return [spool.maxMessages, spool.dropsNewest ? 'newest' : spool.dropsOldest ? 'oldest' : 'refused']
}

function cacheOf(text: string): number | undefined {
  return toSpoolMessages(loaded(`bridges.mqtt.cache { ${text} }`).config.bridges.mqtt.cache)
}

function timeoutOf(text: string): BridgeSettings['ackTimeout'] {
  return settingsOf(`{server = "mqtt-tcp://h:1", ${text}}`).ackTimeout
}

test('a cache limits the messages that wait for bridges without a limit of their own, and drops the oldest', () => {
  assert.deepEqual(spoolOf('', 10), [10, 'oldest'])
  assert.deepEqual(spoolOf('spool_full_policy = refuse', 10), [10, 'refused'])
  assert.deepEqual(spoolOf('spool_full_policy = drop_newest', 10), [10, 'newest'])
  assert.deepEqual(spoolOf('spool_max_messages = 5', 10), [5, 'refused'])
  assert.deepEqual(spoolOf('', undefined), [undefined, 'refused'])
  assert.deepEqual(['disk_cache_size = 7', 'disk_cache_size = 0', ''].map(cacheOf), [7, undefined, undefined])
})

test('acknowledgements are awaited for the configured time, and without limit by default', () => {
  assert.deepEqual(timeoutOf('resend_wait = 2500, resend_interval = 1m'), { waitMs: 2_500, intervalMs: 60_000 })
  assert.deepEqual(timeoutOf('resend_wait = 2s'), { waitMs: 2_000, intervalMs: 5_000 })
  assert.deepEqual(timeoutOf('resend_interval = 500'), { waitMs: 3_000, intervalMs: 500 })
  for (const text of ['', 'resend_wait = 0', 'resend_wait = 0, resend_interval = 0'])
    assert.equal(timeoutOf(text), undefined)
})

test('backoff_max = 0 and cancel_timeout = 0 set the defaults', () => {
  const { backoffMaxMs, connectTimeoutMs } = settingsOf(
    '{server = "mqtt-tcp://h:1883", backoff_max = 0, cancel_timeout = 0}',
  )
  assert.deepEqual([backoffMaxMs, connectTimeoutMs], [5_000, 10_000])
})

test('the configuration is refused if a text does not fit in a packet', () => {
  const long = 'x'.repeat(65_536)
  const cases = [
    [`conn_properties { user_property { a = "${long}" } }`, /user_property.*longer than 65535/],
    [`sub_properties { user_property { "${long}" = a } }`, /user_property.*longer than 65535/],
    ['will { topic = a, properties { response_topic = "a/#" } }', /will\.properties\.response_topic/],
    ['will { topic = "a/#" }', /will\.topic/],
  ] as const
  for (const [text, message] of cases)
    assert.throws(() => settingsOf(`{server = "mqtt-tcp://h:1883", ${text}}`), message)
})

test('a bridge to AWS IoT has its own form of names, TLS and QoS 1, and replaces whole topics', () => {
  const { bridges } = loaded('bridges.aws.iot { server = "a.example", forwards = [{local_topic = "a/#"}] }').config
  const [[name, config] = []] = createAwsBridges(bridges)
  assert.ok(name === 'aws.iot' && config !== undefined)
  const facts = { brokerId: 'here', link: {}, key: 'bridges.aws.iot', isOfAws: true }
  const made = toBridgeSettings(name, config, facts)
  if ('problem' in made) assert.fail(made.problem)
  const { isEnabled, servers, maxQoS, clientId } = made.settings
  assert.deepEqual(
    { isEnabled, servers, maxQoS, clientId },
    { isEnabled: true, servers: ['tls+mqtt-tcp://a.example'], maxQoS: 1, clientId: 'godwit-here-aws.iot' },
  )
  const rule = new Map([
    ['local_topic', 'a/+'],
    ['remote_topic', 'b/+'],
  ])
  const refusedRule = toBridgeSettings(name, { ...config, forwards: [rule] }, facts)
  assert.deepEqual(refusedRule, { problem: 'bridges.aws.iot.forwards.0.remote_topic must not contain wildcards' })
  for (const server of ['mqtt-tcp://a.example:1883', 'a.example:0', 'a b']) {
    const found = loadConfig({ text: `bridges.aws.iot.server = "${server}"`, file: 'test.conf', overrides: [] })
    assert.ok('errors' in found, server)
  }
})
