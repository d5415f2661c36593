// The maximum packet size.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { formatConfigError, loadConfig } from '../../src/config/index.ts'

function takenWith(text: string): number {
  const loaded = loadConfig({ text, overrides: [] })
  if ('errors' in loaded) assert.fail(loaded.errors.map(formatConfigError).join('\n'))
  return loaded.config.core.maxPacketBytes
}

test('the maximum packet size is at most 255MB, because forwarded messages are larger than received ones', () => {
  const taken = ['254MB', '255MB', '256MB', '260MB'].map((size) => takenWith(`mqtt.max_packet_size = ${size}`))
  assert.deepEqual(taken, [266_338_304, 267_386_880, 267_386_880, 267_386_880])
})

test('the smaller of the two limits applies', () => {
  assert.equal(takenWith('mqtt { max_packet_size = 260MB, client_max_packet_size = 1KB }'), 1_024)
  assert.equal(takenWith('mqtt { max_packet_size = 1KB, client_max_packet_size = 260MB }'), 1_024)
})
