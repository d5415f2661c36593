// A registry of devices: each device is one retained message.

import mqtt from 'mqtt'

const url = process.env.MQTT_URL ?? 'mqtt://127.0.0.1:1883'
const device = await mqtt.connectAsync(url)
await device.publishAsync('registry/pump-7', JSON.stringify({ model: 'P200' }), { qos: 1, retain: true })
await device.publishAsync('registry/valve-3', JSON.stringify({ model: 'V10' }), { qos: 1, retain: true })

const reader = await mqtt.connectAsync(url)
const expected = ['registry/pump-7', 'registry/valve-3']
const found = new Map()
reader.on('message', (topic, payload) => {
  if (payload.length === 0) {
    console.log('removed', topic)
    for (const client of [reader, device]) client.end()
    return
  }
  found.set(topic, payload.toString())
  if (found.size < expected.length) return
  // The broker gives retained messages in no particular order.
  for (const name of expected) console.log('found', name, found.get(name))
  device.publish('registry/valve-3', '', { qos: 1, retain: true })
})
await reader.subscribeAsync('registry/+', { qos: 1 })
