import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatBanner, formatPasswordLine } from '../../src/cli/banner.ts'
import type { ListenerAddress } from '../../src/node/index.ts'

const facts = {
  version: '1.2.3',
  profile: 'hardened',
  configFile: undefined,
  name: 'godwit@here',
  dataDirectory: '/data',
  toTrialAccess: () => ({ allowsAnonymous: true, deniesByDefault: false }),
  management: {
    address: { host: '127.0.0.1', port: 8_081 },
    dashboardAddress: { host: '127.0.0.1', port: 8_081 },
  },
}

const noProblem = (part: string, error: unknown): never => assert.fail(`${part}: ${String(error)}`)

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
  const text = formatBanner({ ...facts, listeners: [address('127.0.0.1', true)] }, noProblem)
  assert.match(text, /^Godwit 1\.2\.3, node godwit@here, profile hardened\n/)
  assert.match(text, / \/data\n/)
  assert.match(text, /built-in defaults/)
  assert.match(text, /mosquitto_sub -h 127\.0\.0\.1 -p 1883/)
  assert.match(text, /node\.default_listener_address/)
  assert.ok(text.endsWith('\n'))
})

test('the banner has no setting for access from other machines if a listener already accepts them', () => {
  const text = formatBanner({ ...facts, listeners: [address('0.0.0.0', false)] }, noProblem)
  assert.doesNotMatch(text, /default_listener_address/)
  assert.match(text, /mosquitto_sub -h localhost/)
})

test('an IPv6 address before a port is in brackets', () => {
  assert.match(formatBanner({ ...facts, listeners: [address('::1', true)] }, noProblem), /mqtt:\/\/\[::1\]:1883/)
})

test('the banner has the URLs of the API and of the dashboard, and the line of the first password is one of its own', () => {
  const text = formatBanner({ ...facts, listeners: [address('127.0.0.1', true)] }, noProblem)
  assert.match(text, /http:\/\/127\.0\.0\.1:8081\/api\/v4/)
  assert.match(text, / dashboard +http:\/\/127\.0\.0\.1:8081\/dashboard\/\n/)
  assert.doesNotMatch(text, /log in/)
  const first = formatPasswordLine({ username: 'admin', password: 'made-at-random' })
  assert.match(first, /^ +log in as +admin with made-at-random .*\n$/)
})

test('a part of the banner that cannot be made is reported, and all others are shown', () => {
  const problems: string[] = []
  const broken = { ...address('127.0.0.1', true), name: 'broken' }
  const text = formatBanner(
    {
      ...facts,
      listeners: [broken, address('127.0.0.2', true)],
      toTrialAccess: ({ name }) => {
        if (name === 'broken') throw new Error('a mistake in a text')
        return facts.toTrialAccess()
      },
    },
    (part, error) => problems.push(`${part}: ${(error as Error).message}`),
  )
  assert.deepEqual(problems, ['command for tcp broken: a mistake in a text'])
  assert.match(text, /mqtt:\/\/127\.0\.0\.1:1883 \(tcp, broken\)/)
  assert.match(text, /mosquitto_sub -h 127\.0\.0\.2/)
  assert.match(text, /management API/)
  assert.match(text, /default_listener_address/)
})
