// A device may use topics below its own user name only.

import mqtt from 'mqtt'

const url = process.env.MQTT_URL ?? 'mqtt://127.0.0.1:1883'
const pump = await mqtt.connectAsync(url, { protocolVersion: 5, username: 'pump-7', password: 'change-me-1' })

await pump.publishAsync('devices/pump-7/state', 'running', { qos: 1 })
console.log('pump-7 published devices/pump-7/state')

try {
  await pump.publishAsync('devices/valve-3/state', 'open', { qos: 1 })
  console.log('pump-7 published devices/valve-3/state')
} catch {
  // PUBACK has the reason code 0x87, Not authorized.
  console.log('pump-7 may not publish devices/valve-3/state')
}

try {
  const [{ qos }] = await pump.subscribeAsync('devices/#', { qos: 1 })
  console.log(qos < 128 ? 'pump-7 subscribed to devices/#' : 'pump-7 may not subscribe to devices/#')
} catch {
  console.log('pump-7 may not subscribe to devices/#')
}
pump.end()
