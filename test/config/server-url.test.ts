import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseServerUrl } from '../../src/config/index.ts'

test('a server is configured as a URL, and missing parts have their usual values', () => {
  for (const [text, scheme, host, port, path] of [
    ['mqtt-tcp://broker.example:1884', 'tcp', 'broker.example', 1884, ''],
    ['mqtt-tcp://broker.example', 'tcp', 'broker.example', 1883, ''],
    ['mqtt://10.0.0.7/', 'tcp', '10.0.0.7', 1883, ''],
    ['tls+mqtt-tcp://[2001:db8::7]:8884', 'tls', '2001:db8::7', 8884, ''],
    ['MQTTS://Broker.example', 'tls', 'Broker.example', 8883, ''],
    ['mqtt-quic://broker.example', 'quic', 'broker.example', 14_567, ''],
    ['ws://broker.example:8083', 'ws', 'broker.example', 8083, '/mqtt'],
    ['wss://broker.example/a/b?c=d', 'wss', 'broker.example', 443, '/a/b?c=d'],
  ] as const) {
    assert.deepEqual(parseServerUrl(text), { url: { scheme, host, port, path } }, text)
  }
})

test('an invalid server URL is refused with the reason, without the credentials in the URL', () => {
  for (const [text, why] of [
    ['broker.example:1883', /form/],
    ['http://broker.example', /scheme/],
    ['mqtt-tcp://', /form/],
    ['mqtt-tcp://broker.example:0', /port/],
    ['mqtt-tcp://broker.example:70000', /port/],
    ['mqtt-tcp://broker.example:x', /form/],
    ['mqtt-tcp://broker.example/path', /path/],
    ['mqtt-tcp://[::1', /form/],
    ['mqtt-tcp://a b:1883', /form/],
    ['mqtt-tcp://alice:secret@broker.example', /credentials/],
    [`mqtt-tcp://${'a'.repeat(300)}`, /host/],
    [`ws://a/${'a'.repeat(3_000)}`, /longer/],
  ] as const) {
    const parsed = parseServerUrl(text)
    assert.ok('problem' in parsed, text)
    assert.match(parsed.problem, why)
    assert.doesNotMatch(parsed.problem, /secret/)
  }
})
