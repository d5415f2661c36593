import assert from 'node:assert/strict'
import { test } from 'node:test'
import { banner } from '../../src/cli/banner.ts'
import type { ListenerAddress } from '../../src/node/index.ts'

const facts = {
  version: '1.2.3',
  profile: 'hardened',
  configFile: undefined,
  name: 'godwit@here',
  dataDirectory: '/data',
  accessTo: () => ({ allowsAnonymous: true, deniesByDefault: false }),
  management: { address: { host: '127.0.0.1', port: 8_081 }, newPassword: undefined },
}

const address = (host: string, isLoopback: boolean): ListenerAddress => ({
  kind: 'tcp',
  name: 'default',
  host,
  port: 1_883,
  maxConnections: undefined,
  maxConnectionRate: undefined,
  accessRules: [],
  proxyProtocol: undefined,
  messagesPerSecond: undefined,
  bytesPerSecond: undefined,
  deliveriesPerSecond: undefined,
  subscriptionsPerSecond: undefined,
  mountpoint: '',
  namespace: undefined,
  isLoopback,
})

test('the banner names the version, the listeners and the configuration, and the setting for access from other machines', () => {
  const text = banner({ ...facts, listeners: [address('127.0.0.1', true)] })
  assert.match(text, /^Godwit 1\.2\.3, node godwit@here, profile hardened\n/)
  assert.match(text, / \/data\n/)
  assert.match(text, /built-in defaults/)
  assert.match(text, /mosquitto_sub -h 127\.0\.0\.1 -p 1883/)
  assert.match(text, /node\.default_listener_address/)
  assert.ok(text.endsWith('\n'))
})

test('the banner has no setting for access from other machines if a listener already accepts them', () => {
  const text = banner({ ...facts, listeners: [address('0.0.0.0', false)] })
  assert.doesNotMatch(text, /default_listener_address/)
  assert.match(text, /mosquitto_sub -h localhost/)
})

test('an IPv6 address before a port is in brackets', () => {
  assert.match(banner({ ...facts, listeners: [address('::1', true)] }), /mqtt:\/\/\[::1\]:1883/)
})

test('the banner has the URL of the API, and the first password only if the broker generated one', () => {
  const listeners = [address('127.0.0.1', true)]
  const text = banner({ ...facts, listeners })
  assert.match(text, /http:\/\/127\.0\.0\.1:8081\/api\/v4/)
  assert.doesNotMatch(text, /log in/)
  const newPassword = { username: 'admin', password: 'made-at-random' }
  const first = banner({ ...facts, listeners, management: { ...facts.management, newPassword } })
  assert.match(first, /log in as +admin with made-at-random/)
})
