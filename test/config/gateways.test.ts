import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/index.ts'

function errorsOf(text: string): readonly string[] {
  const loaded = loadConfig({ text, file: 'godwit.conf', overrides: [] })
  return 'errors' in loaded ? loaded.errors.map(({ message }) => message) : []
}

test('gateway authentication without a mechanism is an error, so that no weaker authentication replaces it', () => {
  for (const place of ['gateway.coap', 'gateway.stomp.listeners.tcp.plant']) {
    const [error, ...others] = errorsOf(`${place}.authentication { backend = http, url = "http://a/" }`)
    assert.match(error ?? '', /missing/)
    assert.deepEqual(others, [])
    assert.deepEqual(errorsOf(`${place}.authentication { mechanism = password_based, enable = false }`), [])
  }
})
