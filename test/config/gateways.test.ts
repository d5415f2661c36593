import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/index.ts'

function faultsOf(text: string): readonly string[] {
  const loaded = loadConfig({ text, file: 'godwit.conf', overrides: [] })
  return 'faults' in loaded ? loaded.faults.map(({ message }) => message) : []
}

test('gateway authentication without a mechanism is an error, so that no weaker authentication replaces it', () => {
  for (const place of ['gateway.coap', 'gateway.stomp.listeners.tcp.plant']) {
    const [fault, ...others] = faultsOf(`${place}.authentication { backend = http, url = "http://a/" }`)
    assert.match(fault ?? '', /missing/)
    assert.deepEqual(others, [])
    assert.deepEqual(faultsOf(`${place}.authentication { mechanism = password_based, enable = false }`), [])
  }
})
