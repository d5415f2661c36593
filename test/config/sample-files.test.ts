import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { formatConfigError, loadConfig, type GodwitConfig, type Warning } from '../../src/config/index.ts'

// A complete file as NanoMQ provides it, with passwords and rules in separate files.
const nanomqFile = `
# # Broker
system {
	num_taskq_thread = 0
	max_taskq_thread = 0
	parallel = 0
}

mqtt {
	# # the largest packet
	max_packet_size = 10KB
	max_mqueue_len = 2048
	retry_interval = 10s
	keepalive_multiplier = 1.25
	property_size = 32

	# # these three do nothing over there
	max_inflight_window = 2048
	max_awaiting_rel = 10s
	await_rel_timeout = 10s
}

listeners.tcp { bind = "0.0.0.0:1883" }

listeners.ssl {
	bind = "0.0.0.0:8883"
	keyfile = "/etc/certs/key.pem"
	certfile = "/etc/certs/cert.pem"
	cacertfile = "/etc/certs/cacert.pem"
	verify_peer = false
	fail_if_no_peer_cert = false
}
listeners.ws { bind = "0.0.0.0:8083/mqtt" }

http_server {
	port = 8081
	limit_conn = 2
	username = admin
	password = public
	auth_type = basic
	jwt { public.keyfile = "/etc/certs/jwt/jwtRS256.key.pub" }
}

log {
	to = [file, console]
	level = warn
	dir = "/tmp"
	file = "nanomq.log"
	rotation { size = 10MB, count = 5 }
}

auth {
	allow_anonymous = true
	no_match = allow
	deny_action = ignore
	cache = { max_size = 32, ttl = 1m }
	password = {include "/etc/nanomq_pwd.conf"}
	acl = {include "/etc/nanomq_acl.conf"}
}

bridges.mqtt.cloud {
	server = "mqtt-tcp://127.0.0.1:1884"
	proto_ver = 4
	keepalive = 60s
	clean_start = false
	forwards = [
		{ remote_topic = "fwd/one", local_topic = "one", qos = 1 }
		{
			remote_topic = "" // the same
			local_topic = "two/#"
		}
	]
	subscription = [{ remote_topic = "cmd/#", local_topic = "", qos = 2 },]
	max_parallel_processes = 2
}
`

const files: Readonly<Record<string, string>> = {
  '/etc/nanomq_pwd.conf': '# name: password\nadmin: public\n"client" : "pub lic"\n',
  '/etc/nanomq_acl.conf': `
rules = [
  {"permit": "allow", "username": "dashboard", "action": "subscribe", "topics": ["$SYS/#"]}
  {"permit": "allow", "ipaddr": "127.0.0.1", "action": "pubsub", "topics": ["$SYS/#", "#"]}
  {"permit": "deny", "action": "subscribe", "topics": ["$SYS/#", "#"]},
  {"permit": "allow"}
]`,
}

function load(text: string): { config: GodwitConfig; warnings: readonly Warning[] } {
  const loaded = loadConfig({
    text,
    file: 'nanomq.conf',
    overrides: [],
    readInclude: (path) => {
      const included = files[path]
      return included === undefined ? { error: 'there is no such file' } : { text: included }
    },
  })
  if ('errors' in loaded) assert.fail(loaded.errors.map(formatConfigError).join('\n'))
  return loaded
}

describe('a file of NanoMQ', () => {
  const { config, warnings } = load(nanomqFile)

  test('is accepted unchanged, and has the same meaning', () => {
    assert.equal(config.core.maxPacketBytes, 10_240)
    assert.equal(config.core.maxQueuedMessages, 2_048)
    assert.equal(config.core.retryIntervalMs, 10_000)
    assert.equal(config.core.keepAliveMultiplier, 1.25)
    assert.deepEqual(
      config.listeners.map(({ kind, host, port }) => [kind, host, port]),
      [
        ['tcp', '0.0.0.0', 1_883],
        ['ssl', '0.0.0.0', 8_883],
        ['ws', '0.0.0.0', 8_083],
      ],
    )
    assert.equal(config.auth.allowAnonymous, true)
    assert.deepEqual([config.log.dir, config.log.file], ['/tmp', 'nanomq.log'])
    assert.ok(config.settingTexts.has('auth.password.client'))
    assert.ok(config.settingTexts.has('bridges.mqtt.cloud.server'))
  })

  test('has a warning for each setting without effect, by name and in the order of the file', () => {
    assert.deepEqual(
      warnings.map((warning) => warning.key),
      ['system', 'mqtt.max_awaiting_rel', 'http_server.jwt.public.keyfile', 'bridges.mqtt.cloud.enable'],
    )
  })
})

test('a warning about an ignored section names the settings in it', () => {
  const { warnings } = load('vsomeip { service_id = "0x1111", client_id = "0x2222" }\nlog.uds_addr = u')
  assert.deepEqual(
    warnings.map((warning) => warning.hint),
    ['these are ignored: service_id, client_id', ''],
  )
})

test('the configuration has all keys that the management API names', () => {
  const { config } = load(`
    mqtt { property_size = 32, max_packet_size = 10KB, max_mqueue_len = 2048, retry_interval = 10s, keepalive_multiplier = 1.25 }
    mqtt { max_inflight_window = 2048, max_awaiting_rel = 10s, await_rel_timeout = 10s }
    listeners.tcp.bind = "0.0.0.0:1883"
    listeners.ssl { bind = "0.0.0.0:8883", keyfile = k, certfile = c, cacertfile = a, verify_peer = false, fail_if_no_peer_cert = false }
    listeners.ws.bind = "0.0.0.0:8083/mqtt"
    http_server { port = 8081, limit_conn = 2, username = admin, password = public, auth_type = basic, jwt.public.keyfile = k }
    log { to = [file, console], level = warn, dir = "/tmp", file = "x.log", rotation { size = 10MB, count = 5 } }
    auth { allow_anonymous = true, no_match = allow, deny_action = ignore }
    auth { password { include "/etc/nanomq_pwd.conf" }, acl { include "/etc/nanomq_acl.conf" } }`)
  const { maxInflightMessages, maxAwaitingRelease } = config.core
  assert.deepEqual(
    [maxInflightMessages, maxAwaitingRelease],
    [2_048, 1_024],
    'a count that is a duration leaves the default',
  )
})
