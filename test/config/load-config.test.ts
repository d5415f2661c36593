import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { formatConfigError, loadConfig, type ConfigSources, type GodwitConfig } from '../../src/config/index.ts'

function load(sources: Partial<ConfigSources> = {}): GodwitConfig {
  const loaded = loadConfig({ overrides: [], ...sources })
  if ('errors' in loaded) assert.fail(loaded.errors.map(formatConfigError).join('\n'))
  return loaded.config
}

function errorsOf(text: string, overrides: readonly string[] = []): readonly string[] {
  const loaded = loadConfig({ text, file: 'test.conf', overrides })
  return 'errors' in loaded ? loaded.errors.map(formatConfigError) : []
}

function warningsOf(text: string): readonly string[] {
  const loaded = loadConfig({ text, file: 'test.conf', overrides: [] })
  return 'warnings' in loaded ? loaded.warnings.map(formatConfigError) : []
}

describe('an empty configuration', () => {
  test('gives the core the defaults of its settings', () => {
    const { maxTopicLevels, receiveMaximum, maxPacketBytes, queueFullPolicy, bindsClientIds } = load().core
    assert.deepEqual(
      { maxTopicLevels, receiveMaximum, maxPacketBytes, queueFullPolicy, bindsClientIds },
      {
        maxTopicLevels: 128,
        receiveMaximum: 1_024,
        maxPacketBytes: 10_485_760,
        queueFullPolicy: 'drop-newest',
        bindsClientIds: true,
      },
    )
  })

  test('gives the core each setting whose entry names its field', () => {
    const core: object = load({ text: 'mqtt.max_topic_levels = 7, retainer.max_payload_size = 2KB' }).core
    assert.partialDeepStrictEqual(core, { maxTopicLevels: 7, maxRetainedPayloadBytes: 2_048 })
  })

  test('has one listener: tcp on port 1883, with the address of the profile', () => {
    const [listener, ...others] = load().listeners
    assert.deepEqual(others, [])
    assert.partialDeepStrictEqual(listener, { kind: 'tcp', name: 'default', host: undefined, port: 1_883 })
  })

  test('has the profile hardened, syncs before acknowledging, and logs to the console', () => {
    const { node, storage, log, auth, limits, maxPropertyBytes } = load()
    assert.equal(node.securityProfile, 'hardened')
    assert.deepEqual(storage, { sync: 'commit', syncIntervalMs: 1_000, recoveredExpirySeconds: 604_800 })
    assert.deepEqual(log.to, ['console'])
    assert.equal(log.level, undefined)
    assert.deepEqual([log.file, log.rotationSizeBytes, log.rotationCount], ['godwit.log', 10_485_760, 5])
    assert.equal(auth.allowAnonymous, undefined)
    assert.equal(limits.maxConnections, undefined)
    assert.equal(maxPropertyBytes, 32_768)
  })
})

test('each setting is loaded with its name, in the unit of the name', () => {
  const config = load({
    text: `
      node { name = "a@b", data_dir = /d, shards = 3, memory_limit = 1GB, security_profile = legacy, default_listener_address = "::", denied_addresses = [loopback, "10.0.0.0/8"] }
      mqtt {
        max_packet_size = 2MB, property_size = 4, max_mqueue_len = 5, max_mqueue_bytes = 24MB, max_inflight_bytes = 25MB, max_topic_alias_bytes = 26KB, mqueue_full_policy = drop-oldest
        max_stored_messages = 6, stored_messages_overflow = reject_publish, max_inflight_window = 7, receive_maximum = 8, max_awaiting_rel = 9
        await_rel_timeout = 10s, retry_interval = 11s, keepalive_multiplier = 1.25, server_keepalive = 12
        idle_timeout = 130ms, max_qos_allowed = 1, retain_available = false, wildcard_subscription = off
        shared_subscription = no, max_topic_levels = 14, max_topic_length = 512, max_clientid_len = 24, strict_clientid_31 = no, max_topic_alias = 15
        session_expiry_interval = 16m, max_session_expiry_interval = 1h1s, upgrade_qos = yes
        exclusive_subscription = on, validate_payload_format = yes
        max_subscriptions = 17, max_subscription_bytes = 128KB, max_overlapping_subscriptions = 18, max_unsent_bytes = 18KB, max_parked_packets = 19, max_will_size_in_memory = 23KB, max_unconfirmed_messages = 20, max_unconfirmed_bytes = 21MB, max_unsent_bytes_total = 1GB, max_unfinished_bytes_total = 2GB
      }
      retainer { max_retained_messages = 20, max_payload_size = 21KB, max_size_in_memory = 24KB, msg_expiry_interval = 22 }
      storage { sync = interval, sync_interval = 500ms, recovered_session_expiry = 1h }
      log { to = [file, console], level = debug, dir = /l, file = x.log, rotation { size = 1MB, count = 2 } }
      auth { allow_anonymous = false, client_id_binding = identity }
      limits.max_connections = 23`,
  })
  assert.deepEqual(config.node, {
    name: 'a@b',
    dataDir: '/d',
    shards: 3,
    securityProfile: 'legacy',
    defaultListenerAddress: '::',
    deniedAddresses: ['loopback', '10.0.0.0/8'],
    memoryLimitBytes: 1_073_741_824,
    allowedDirectories: [],
  })
  assert.deepEqual(config.core, {
    maxPacketBytes: 2_097_152,
    maxQueuedMessages: 5,
    maxQueuedBytes: 24 * 1_024 * 1_024,
    queueFullPolicy: 'drop-oldest',
    maxStoredMessages: 6,
    storedMessagesOverflow: 'reject-publish',
    maxInflightMessages: 7,
    maxInflightBytes: 25 * 1_024 * 1_024,
    receiveMaximum: 8,
    maxAwaitingRelease: 9,
    awaitReleaseTimeoutMs: 10_000,
    retryIntervalMs: 11_000,
    keepAliveMultiplier: 1.25,
    serverKeepAliveSeconds: 12,
    idleTimeoutMs: 130,
    maximumQoS: 1,
    retainAvailable: false,
    wildcardSubscriptionAvailable: false,
    sharedSubscriptionAvailable: false,
    maxTopicLevels: 14,
    maxTopicBytes: 512,
    maxClientIdBytes: 24,
    limitsClientIdsOf31: false,
    bindsClientIds: true,
    maxTopicAlias: 15,
    maxTopicAliasBytes: 26 * 1_024,
    sessionExpirySeconds: 960,
    maxSessionExpirySeconds: 3_601,
    upgradeQoS: true,
    exclusiveSubscriptionAvailable: true,
    delaysMessages: true,
    maxDelayedMessages: 100_000,
    maxDelayedMessagesPerClient: 10_000,
    topicRewrites: undefined,
    validatesPayloadFormat: true,
    maxSubscriptions: 17,
    maxSubscriptionBytes: 131_072,
    maxOverlappingSubscriptions: 18,
    maxUnsentBytes: 18_432,
    maxWillBytesInMemory: 23_552,
    maxParkedPackets: 19,
    maxUnconfirmedMessages: 20,
    maxUnconfirmedBytes: 21 * 1_024 * 1_024,
    maxRetainedMessages: 20,
    maxRetainedPayloadBytes: 21_504,
    maxRetainedBytesInMemory: 24_576,
    retainedExpiryMs: 22_000,
  })
  assert.deepEqual(config.storage, { sync: 'interval', syncIntervalMs: 500, recoveredExpirySeconds: 3_600 })
  assert.deepEqual(config.log, {
    to: ['file', 'console'],
    level: 'debug',
    dir: '/l',
    file: 'x.log',
    rotationSizeBytes: 1_048_576,
    rotationCount: 2,
  })
  assert.equal(config.auth.allowAnonymous, false)
  assert.equal(config.limits.maxConnections, 23)
  assert.equal(config.maxPropertyBytes, 4_096)
  assert.equal(config.maxUnsentBytesTotal, 1_073_741_824)
  assert.equal(config.maxUnfinishedBytesTotal, 2_147_483_648)
})

test('null resets a setting to its default', () => {
  assert.equal(load({ text: 'mqtt.receive_maximum = 5\nmqtt.receive_maximum = null' }).core.receiveMaximum, 1_024)
  assert.equal(load({ text: 'mqtt = null' }).core.receiveMaximum, 1_024)
})

function listenersOf(text: string): readonly string[] {
  return load({ text }).listeners.map(({ name, host, port }) => `${name} ${host ?? 'any'} ${port}`)
}

describe('listeners', () => {
  test('listeners.tcp.bind configures the listener default, others have names', () => {
    assert.deepEqual(listenersOf('listeners.tcp { bind = "0.0.0.0:1", plant { bind = "[::1]:2" }, office.bind = 3 }'), [
      'default 0.0.0.0 1',
      'plant ::1 2',
      'office any 3',
    ])
  })

  test('default can be configured by its name', () => {
    assert.deepEqual(listenersOf('listeners.tcp.default.bind = "127.0.0.1:1884"'), ['default 127.0.0.1 1884'])
  })

  test('an empty section opens the default listener', () => {
    assert.deepEqual(listenersOf('listeners.tcp {}'), ['default any 1883'])
    assert.deepEqual(listenersOf('listeners {}'), ['default any 1883'])
  })

  test('if one is configured, there is no default listener', () => {
    assert.deepEqual(listenersOf('listeners.tcp.plant.bind = 1884'), ['plant any 1884'])
    assert.deepEqual(listenersOf('listeners.ssl { bind = 8883, psk_file = k }'), ['default any 8883'])
  })

  test('a disabled listener is not opened', () => {
    assert.deepEqual(listenersOf('listeners.tcp { enable = false, a { bind = 1 }, b { bind = 2, enable = false } }'), [
      'a any 1',
    ])
  })

  test('a configuration without listeners causes a warning', () => {
    assert.deepEqual(warningsOf('listeners.tcp.enable = false'), [
      'configuration: listeners: no listener is open: no client can connect; set listeners.tcp.bind',
    ])
  })

  test('two on one address are an error, unless the port is 0', () => {
    const [error] = errorsOf('listeners.tcp { a.bind = "h:1"\n b.bind = "h:1" }')
    assert.match(error, /^test\.conf:2:\d+: listeners\.tcp\.b\.bind: the listener a has the same address and port/)
    assert.deepEqual(errorsOf('listeners.tcp { a.bind = "h:0", b.bind = "h:0", c.bind = "h:1", d.bind = "i:1" }'), [])
  })

  test('a second configuration of default is an error', () => {
    const [error] = errorsOf('listeners.tcp { bind = 1, default { bind = 2 } }')
    assert.match(error, /the listener default is configured twice/)
  })

  test('a name that needs quotes is an error', () => {
    assert.match(errorsOf('listeners.tcp."a b".bind = 1')[0], /"a b" is not a name/)
  })
})

describe('an address and a port', () => {
  const bad = [
    '""',
    '"0.0.0.0"',
    '"256.0.0.1:1"',
    '"1.2.3:1"',
    '":65536"',
    '70000',
    '-1',
    '"a b:1"',
    '"[::1:1"',
    '"::1:1"',
    '"h:"',
    '"h:1/mqtt"',
  ]
  for (const value of [...bad, '[1883, 1884]', '{}', '1883.5', '"-h:1"', '"h:1\\n"']) {
    test(`is not ${value}`, () => assert.equal(errorsOf(`listeners.tcp.a.bind = ${value}`).length, 1))
  }
})

function addressOf(written: string): string | undefined {
  return load({ text: `node.default_listener_address = ${written}` }).node.defaultListenerAddress
}

describe('an address for listeners that are given as a port only', () => {
  test('is an IPv4 address, an IPv6 address or a host name', () => {
    assert.deepEqual(
      [
        '0.0.0.0',
        '"::"',
        '"[::1]"',
        '"fe80::1%eth0"',
        '"::ffff:10.0.0.1"',
        '"1:2:3:4:5:6:7:8"',
        'plant-7.example',
        'none',
      ].map(addressOf),
      ['0.0.0.0', '::', '::1', 'fe80::1%eth0', '::ffff:10.0.0.1', '1:2:3:4:5:6:7:8', 'plant-7.example', undefined],
    )
  })

  test('is an error if it is another text', () => {
    for (const written of [
      '"0.0.0.0:1883"',
      '1883',
      '"a b"',
      '""',
      '300.0.0.1',
      '"::1:x"',
      '"1::2::3"',
      '"1:2:3"',
      '"12345::"',
      '[]',
    ]) {
      assert.equal(errorsOf(`node.default_listener_address = ${written}`).length, 1, written)
    }
  })
})

describe('durations and sizes', () => {
  const cases: readonly (readonly [string, number | undefined])[] = [
    ['10s', 10_000],
    ['10 s', 10_000],
    ['"10s"', 10_000],
    ['1500ms', 1_500],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['1h30m', 5_400_000],
    ['2500 millis', 2_500],
    ['1.5m', 90_000],
    ['10 seconds', 10_000],
    ['15', 15_000],
    ['0.25', 250],
    ['2M', 120_000],
    ['10x', undefined],
    ['s', undefined],
    ['-5s', undefined],
    ['1s 2', undefined],
    ['0.0001s', undefined],
    ['""', undefined],
    ['999999d', undefined],
  ]
  for (const [written, ms] of cases) {
    test(`${written} is ${ms === undefined ? 'not a duration' : `${ms} ms`}`, () => {
      const text = `mqtt.await_rel_timeout = 7s\nmqtt.retry_interval = ${written}`
      if (ms === undefined) assert.match(errorsOf(text).join('\n'), /is not a duration such as 10s, from 0s to 30d/)
      else assert.equal(load({ text }).core.retryIntervalMs, ms)
    })
  }

  test('a session expiry must be in whole seconds', () => {
    assert.match(errorsOf('mqtt.session_expiry_interval = 1500ms')[0], /the duration is not a multiple of 1s/)
  })

  const sizes: readonly (readonly [string, number | undefined])[] = [
    ['2048', 2_048],
    ['2KB', 2_048],
    ['2kb', 2_048],
    ['2 K', 2_048],
    ['1MB', 1_048_576],
    ['"1MB"', 1_048_576],
    ['1GB', 1_073_741_824],
    ['1.5MB', undefined],
    ['1TB', undefined],
    ['10', undefined],
    ['2GB', undefined],
    ['MB', undefined],
  ]
  for (const [written, bytes] of sizes) {
    test(`${written} is ${bytes === undefined ? 'not an allowed size' : `${bytes} bytes`}`, () => {
      const text = `mqtt.max_unsent_bytes = ${written}`
      if (bytes === undefined) assert.match(errorsOf(text).join('\n'), /is not a size such as 10MB, from 1KB to 1GB/)
      else assert.equal(load({ text }).core.maxUnsentBytes, bytes)
    })
  }
})

describe('an error', () => {
  test('is reported for each setting, in the order of the file', () => {
    const text =
      'log.level = loud\nmqtt {\n  receive_maximum = 0\n  retry_intervall = 3s\n}\nnode.shards = many\nnonsense = 1'
    assert.deepEqual(
      errorsOf(text).map((error) => error.split(': ').slice(0, 2).join(' ')),
      [
        'test.conf:1:13 log.level',
        'test.conf:3:21 mqtt.receive_maximum',
        'test.conf:4:21 mqtt.retry_intervall',
        'test.conf:6:15 node.shards',
        'test.conf:7:12 nonsense',
      ],
    )
  })

  const meant: readonly (readonly [string, string])[] = [
    ['mqtt.retry_intervall = 1s', 'did you mean mqtt.retry_interval?'],
    ['mqtt.reciev_maximum = 1', 'did you mean mqtt.receive_maximum?'],
    ['max_packet_size = 1MB', 'did you mean mqtt.max_packet_size?'],
    ['mqttt.max_packet_size = 1MB', 'did you mean mqtt?'],
    ['listeners.tcp.bnid = 1883', 'did you mean listeners.tcp.bind?'],
    ['log.rotation.sise = 1MB', 'did you mean log.rotation.size?'],
    ['allow_anonymous = true', 'did you mean auth.allow_anonymous?'],
    ['bridges.mqtt.a.servr = x', 'did you mean bridges.mqtt.a.server?'],
    ['storage.server = x', 'known here: sync, sync_interval, recovered_session_expiry'],
    ['storage.zzz = 1', 'known here: sync, sync_interval, recovered_session_expiry'],
  ]
  for (const [text, hint] of meant) {
    test(`for an unknown setting suggests a known one: ${text}`, () => {
      const [error, ...others] = errorsOf(text)
      assert.deepEqual(others, [])
      assert.ok(error.endsWith(`there is no such setting; ${hint}`), error)
    })
  }

  test('has the allowed values and the default', () => {
    assert.deepEqual(errorsOf('mqtt.receive_maximum = 70000'), [
      'test.conf:1:24: mqtt.receive_maximum: "70000" is not a whole number from 1 to 65535; the default is 1024',
    ])
  })

  test('for a group with a single value shows how to write the group', () => {
    assert.match(
      errorsOf('mqtt = 5')[0],
      /^test\.conf:1:8: mqtt: this is a group of settings, not a value; write mqtt \{/,
    )
  })

  test('names the invalid item of a list', () => {
    const [error] = errorsOf('auth.acl.rules = [\n{ permit = allow }\n{ permit = perhaps }\n]')
    assert.match(error, /^test\.conf:3:12: auth\.acl\.rules: permit: "perhaps" is not one of allow, deny/)
    assert.match(errorsOf('log.to = [\n  file\n  loud\n]')[0], /^test\.conf:3:3: log\.to: "loud" is not one of/)
    assert.match(errorsOf('auth.acl.rules = [{ action = publish }]')[0], /a rule needs permit/)
    assert.match(errorsOf('auth.acl.rules = [{ permit = allow, topic = x }]')[0], /"topic" is nothing that a rule has/)
  })

  test('for a secret does not contain the secret', () => {
    const errors = [
      ...errorsOf(
        'http_server.password = [hunter2]\nauth.password.alice { hunter2 = 1 }\nlisteners.ssl { psk_file = k, key_password { x = hunter2 } }',
      ),
    ]
    errors.push(...errorsOf('rules.repub.rules = [{ sql = s, proto_ver = hunter2 }]'))
    assert.equal(errors.length, 4)
    assert.ok(!errors.join('\n').includes('hunter2'), errors.join('\n'))
  })

  test('for a text that is not a configuration is the only error', () => {
    assert.deepEqual(errorsOf('mqtt { receive_maximum = : }\nnonsense = 1').length, 1)
  })

  test('in an included file names that file', () => {
    const included = { text: '\nreceive_maximum = none', file: '/etc/godwit/limits.conf' }
    const loaded = loadConfig({
      text: 'mqtt { include "limits.conf" }',
      file: '/etc/godwit/godwit.conf',
      overrides: [],
      readInclude: () => included,
    })
    assert.ok('errors' in loaded)
    assert.match(formatConfigError(loaded.errors[0]), /^\/etc\/godwit\/limits\.conf:2:19: mqtt\.receive_maximum: /)
  })
})

describe('an override', () => {
  test('has precedence over the file, and the file over the default', () => {
    const text = 'mqtt { max_inflight_window = 7, receive_maximum = 8 }'
    const { core } = load({ text, overrides: ['mqtt.receive_maximum=9'] })
    assert.deepEqual([core.maxInflightMessages, core.receiveMaximum, core.maxAwaitingRelease], [7, 9, 1_024])
  })

  test('has precedence over earlier ones', () => {
    assert.equal(load({ overrides: ['mqtt.receive_maximum=9', 'mqtt.receive_maximum=10'] }).core.receiveMaximum, 10)
  })

  test('needs no quotes for an address, a path or a special character', () => {
    const config = load({
      overrides: ['listeners.tcp.bind=127.0.0.1:18830', 'node.data_dir=/tmp/a b#c=d', 'node.shards = 1'],
    })
    assert.deepEqual([config.listeners[0].host, config.listeners[0].port], ['127.0.0.1', 18_830])
    assert.equal(config.node.dataDir, '/tmp/a b#c=d')
    assert.equal(config.node.shards, 1)
  })

  test('can be a list, an object or a quoted text', () => {
    const config = load({
      overrides: [
        'log.to=[file, console]',
        'listeners.tcp.plant={ bind = "127.0.0.1:1" }',
        'log.file="x y.log"',
        'log.level="debug"',
      ],
    })
    assert.deepEqual(config.log.to, ['file', 'console'])
    assert.deepEqual(
      config.listeners.map(({ name }) => name),
      ['plant'],
    )
    assert.deepEqual([config.log.file, config.log.level], ['x y.log', 'debug'])
  })

  test('merges an object with that of the file', () => {
    const config = load({ text: 'mqtt.receive_maximum = 7', overrides: ['mqtt={ max_awaiting_rel = 8 }'] })
    assert.deepEqual([config.core.receiveMaximum, config.core.maxAwaitingRelease], [7, 8])
  })

  const bad: readonly (readonly [string, RegExp])[] = [
    ['mqtt.receive_maximum', /^--set: mqtt\.receive_maximum: there is no = in it; write --set KEY=VALUE/],
    ['=5', /^--set: a part of the key is empty/],
    ['a..b=5', /a part of the key is empty/],
    ['mqtt receive=5', /^--set: mqtt receive: there is no such setting/],
    ['mqtt:x=5', /this is not a key/],
    ['mqtt.receive_maximum=0', /^--set: mqtt\.receive_maximum: "0" is not a whole number/],
    ['mqtt.receive_maxmum=1', /did you mean mqtt\.receive_maximum\?/],
    ['log.to=[file', /^--set: log\.to: \[ has no closing \]/],
    ['log={ level = debug }, node = { shards = 1 }', /text follows the value/],
    ['log.to=[${HOME}]', /^--set: log\.to: \$\{HOME\} is not set anywhere/],
    ['log={ include "/etc/passwd" }', /files cannot be included here/],
    ['__proto__.x=1', /the key __proto__ is not allowed/],
    [`${'a.'.repeat(100)}a=1`, /the key has more than 64 parts/],
    ['mqtt.receive_maximum=\uD800', /not well-formed/],
  ]
  for (const [override, reason] of bad) {
    test(`is refused: ${override.slice(0, 50)}`, () => {
      const errors = errorsOf('', [override])
      assert.equal(errors.length, 1, errors.join('\n'))
      assert.match(errors[0], reason)
    })
  }

  test('and the file are reported together if both have errors', () => {
    assert.equal(errorsOf('node.shards = 0', ['log.level=loud', 'nothing']).length, 3)
  })
})
