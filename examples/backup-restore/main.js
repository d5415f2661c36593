// Creates an archive, deletes a retained message, and restores it from the archive.

import mqtt from 'mqtt'

const url = process.env.MQTT_URL ?? 'mqtt://127.0.0.1:1883'
const api = process.env.API_URL ?? 'http://127.0.0.1:8081'
const credentials = Buffer.from(`admin:${process.env.API_PASSWORD}`).toString('base64')

async function post(path, body = {}) {
  const headers = { authorization: `Basic ${credentials}`, 'content-type': 'application/json' }
  const response = await fetch(`${api}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const reply = await response.json()
  if (!response.ok) throw new Error(`${path}: ${reply.message}`)
  return reply
}

const client = await mqtt.connectAsync(url)
await client.publishAsync('registry/pump-7', 'P200', { qos: 1, retain: true })
const { filename } = await post('/api/v5/data/export')
console.log('archive created')

await client.publishAsync('registry/pump-7', '', { qos: 1, retain: true })
console.log('retained message deleted')

await post('/api/v5/data/import', { filename })
client.on('message', (topic) => {
  console.log(`archive restored: ${topic} is retained again`)
  client.end()
})
await client.subscribeAsync('registry/pump-7', { qos: 1 })
