// Insecure listeners are reported when the node starts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker } from '../e2e/godwit-process.ts'

test('warnings name listeners that accept anonymous clients from all addresses, and an API on all addresses', async (t) => {
  const broker = await startBroker(t, {
    set: [
      'auth.allow_anonymous=true',
      'listeners.tcp.wide.bind="0.0.0.0:0"',
      'http_server.ip_addr="0.0.0.0"',
      'http_server.password="not-a-known-one"',
    ],
  })
  await broker.process.until(
    /the listener tcp wide on 0\.0\.0\.0:\d+ accepts clients without a password from the network/,
  )
  await broker.process.until(/the management API listens on all addresses \(0\.0\.0\.0\)/)
  await broker.process.stop()
  const output = broker.process.output + broker.process.errors
  assert.doesNotMatch(output, /the listener tcp default/, 'it is on a loopback address')
})

test('a node on loopback addresses causes no warning', async (t) => {
  const broker = await startBroker(t, { set: ['auth.allow_anonymous=true'] })
  await broker.process.stop()
  assert.doesNotMatch(broker.process.output + broker.process.errors, /from the network|on all addresses/)
})
