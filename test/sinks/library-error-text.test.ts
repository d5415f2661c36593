// Reasons of actions name what is wrong and the remedy, also if a client library has a text of its own.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { errors } from '@nats-io/transport-node'
import { explainLibraryText } from '../../src/sinks/library-error-text.ts'
import { formatError } from '../../src/sinks/service-responses.ts'

/** Texts in the sources of the libraries. */
const texts: readonly (readonly [library: string, text: string, expected: RegExp])[] = [
  ['pg', 'Connection terminated unexpectedly', /^the service closed the connection: see its log/],
  ['pg', 'Connection terminated due to connection timeout', /^the service does not respond in time/],
  ['pg', 'timeout exceeded when trying to connect', /^the service does not respond in time/],
  ['pg', 'The server does not support SSL connections', /ssl\.enable = false/],
  ['pg', 'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', /set password of the connector/],
  ['pg', 'SASL: SCRAM-SERVER-FINAL-MESSAGE: server signature is missing', /check password, server and ssl/],
  ['mysql2', 'Connection lost: The server closed the connection.', /^the service closed the connection/],
  ['mongodb', 'Server selection timed out after 2000 ms', /^no server of the service is reachable/],
  ['mongodb', 'connection 3 to 127.0.0.1:27017 closed', /^the service closed the connection/],
  ['mongodb', "Socket 'connect' timed out after 1500ms (connectTimeoutMS: 1500)", /^the service does not respond/],
  ['redis', 'Socket closed unexpectedly', /^the service closed the connection/],
  ['redis', 'Connection timeout', /^the service does not respond in time/],
  ['amqplib', 'Socket closed abruptly during opening handshake', /^the service closed the connection/],
  ['amqplib', 'Heartbeat timeout', /^the service does not respond in time/],
  ['nats', 'closed connection', /^the service closed the connection: see its log/],
  ['nats', 'connection draining', /^the service closed the connection/],
  ['nats', 'connection disconnected', /^the service closed the connection/],
  ['nats', 'connection refused', /^no server of the service is reachable/],
  ['nats', 'timeout', /^the service does not respond in time/],
  ['kafkajs', 'Closed connection', /^the service closed the connection/],
  ['kafkajs', 'Connection closed by the server', /^the service closed the connection/],
  ['kafkajs', 'Not connected', /^the service closed the connection/],
  ['kafkajs', 'Broker not connected', /^the service closed the connection/],
  ['kafkajs', 'Connection timeout', /^the service does not respond in time/],
  ['kafkajs', 'Request Metadata(key: 3, version: 6) timed out', /^the service does not respond in time/],
  ['kafkajs', 'No brokers in the broker pool', /^no server of the service is reachable/],
  ['kafkajs', 'Broker 1 not found in the cached metadata', /^no server of the service is reachable/],
  [
    'kafkajs',
    'SASL SCRAM SHA256 authentication failed: no',
    /check username, password and mechanism of authentication/,
  ],
  ['kafkajs', 'SASL Plain: Invalid username or password', /check username, password and mechanism of authentication/],
  [
    'kafkajs',
    'SASL PLAIN mechanism is not supported by the server',
    /set mechanism of authentication of the connector/,
  ],
  ['kafkajs', 'This server does not host this topic-partition', /create the topic, or check topic in parameters/],
  ['kafkajs', 'Not authorized to access topics: [Topic authorization failed]', /allow it there \(ACL\)/],
  ['kafkajs', 'Not authorized to access group: Group authorization failed', /allow it there \(ACL\)/],
  [
    'kafkajs',
    'Messages are rejected since there are fewer in-sync replicas than required',
    /start the missing servers/,
  ],
  ['kafkajs', 'There is no leader for this topic-partition as we are in the middle', /start the missing servers/],
  ['kafkajs', 'The request timed out', /start the missing servers/],
  [
    'kafkajs',
    'The request included a message larger than the max message size',
    /increase max\.message\.bytes of the topic/,
  ],
  [
    'kafkajs',
    'The session timeout is not within the range allowed by the broker',
    /change session_timeout of the source/,
  ],
  ['nats', 'error connecting - node provided an undefined error', /^the service closed the connection/],
  [
    'kafkajs',
    'The value of "offset" is out of range. It must be >= 0 and <= 14',
    /^the service sent what its protocol/,
  ],
  [
    'Node.js',
    'Client network socket disconnected before secure TLS connection was established',
    /check ssl of the con/,
  ],
  ['undici', 'other side closed', /^the service closed the connection/],
  ['undici', 'Headers Timeout Error', /^the service does not respond in time/],
]

for (const [library, text, expected] of texts) {
  test(`${library}: "${text}" is explained, and stays in the reason`, () => {
    const reason = formatError(new Error(text))
    assert.match(reason, expected)
    assert.ok(reason.endsWith(` (${text})`))
  })
}

test('errors of the client of NATS are explained as the installed version words them', () => {
  assert.match(
    formatError(new errors.ClosedConnectionError()),
    /^the service closed the connection.* \(closed connection\)$/,
  )
  assert.match(formatError(new errors.DrainingConnectionError()), /^the service closed the connection/)
  assert.match(formatError(new errors.TimeoutError()), /^the service does not respond in time.* \(timeout\)$/)
})

test('error codes of Kafka that an administrator can mend are explained as the installed client words them', () => {
  const { createErrorFromCode } = createRequire(import.meta.url)('kafkajs/src/protocol/error.js') as {
    readonly createErrorFromCode: (code: number) => Error & { readonly type: string }
  }
  for (const code of [3, 5, 7, 10, 18, 19, 20, 26, 29, 30, 31, 58]) {
    const error = createErrorFromCode(code)
    const reason = formatError(error)
    assert.match(reason, /: \w+.* \(/, `${error.type}: ${reason}`)
    assert.ok(reason.endsWith(` (${error.message})`), `${error.type}: ${reason}`)
  }
})

test('the prefix of kafkajs before texts of sockets hides no text', () => {
  const text = 'Connection error: read ECONNRESET'
  assert.match(formatError(new Error(text)), /^the service closed the connection.* \(the connection was reset\)$/)
  const tls = 'Client network socket disconnected before secure TLS connection was established'
  assert.match(
    formatError(new Error(`Connection error: ${tls}`)),
    /^the service closed the connection instead of a TLS/,
  )
})

test('texts of servers stay as they are, also if they quote such a text', () => {
  for (const text of [
    'NOT NULL constraint failed: readings.text',
    'password authentication failed for user "godwit"',
    'ERR the command reported: Socket closed unexpectedly',
  ])
    assert.equal(explainLibraryText(text), text)
})
