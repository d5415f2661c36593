// Reasons of actions name what is wrong and the remedy, also if a client library has a text of its own.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainLibraryText } from '../../src/sinks/library-error-text.ts'
import { messageOf } from '../../src/sinks/service-responses.ts'

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
  ['undici', 'other side closed', /^the service closed the connection/],
  ['undici', 'Headers Timeout Error', /^the service does not respond in time/],
]

for (const [library, text, expected] of texts) {
  test(`${library}: "${text}" is explained, and stays in the reason`, () => {
    const reason = messageOf(new Error(text))
    assert.match(reason, expected)
    assert.ok(reason.endsWith(` (${text})`))
  })
}

test('texts of servers stay as they are, also if they quote such a text', () => {
  for (const text of [
    'NOT NULL constraint failed: readings.text',
    'password authentication failed for user "godwit"',
    'ERR the command reported: Socket closed unexpectedly',
  ])
    assert.equal(explainLibraryText(text), text)
})
