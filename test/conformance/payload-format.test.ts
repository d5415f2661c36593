// mqtt.validate_payload_format: payloads with the UTF-8 indicator are checked if it is set.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { World } from '../simulator/world.ts'

const broken = [
  Buffer.from([0xff]),
  Buffer.from([0x61, 0xc3]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xc0, 0x80]),
]
const isText = { properties: { payloadFormatIndicator: 1 } } as const

test('[MQTT5-4.13.1-1] a payload with the UTF-8 indicator that is not UTF-8 is rejected with 0x99, and reaches no subscriber', () => {
  const world = new World({ settings: { validatesPayloadFormat: true } })
  const subscriber = world.subscriber('#', { qos: 2 })
  const client = world.connect('author')
  for (const payload of broken) {
    for (const qos of [1, 2] as const) {
      assert.equal(client.publish('a', payload, { qos, ...isText }).reasonCode, reasonCodes.payloadFormatInvalid)
    }
  }
  for (const payload of ['plain', 'größer 🐦', 'with a \0', '']) client.publish('a', payload, { qos: 1, ...isText })
  client.publish('a', Buffer.from([0xff]), { qos: 1 })
  assert.equal(subscriber.messages.length, 5)
  client.publish('a', Buffer.from([0xff]), { qos: 0, ...isText })
  assert.equal(client.disconnected?.reasonCode, reasonCodes.payloadFormatInvalid)
  assert.equal(subscriber.messages.length, 5)
})

test('[MQTT5-4.13.1-1] a will with the UTF-8 indicator whose payload is not UTF-8 is refused', () => {
  const world = new World({ settings: { validatesPayloadFormat: true } })
  const client = world.client('will-client', { will: { topic: 'w', payload: Buffer.from([0xff]), ...isText } })
  client.connect()
  assert.equal(client.connack?.reasonCode, reasonCodes.payloadFormatInvalid)
})

test('[MQTT5-3.3.2-4] without the setting, payload and indicator are forwarded unchanged', () => {
  const world = new World()
  const subscriber = world.subscriber('#')
  world.connect('author').publish('a', Buffer.from([0xff]), isText)
  assert.equal(subscriber.messages[0]?.properties?.payloadFormatIndicator, 1)
})
