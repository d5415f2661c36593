// A device announces that it is online; its will announces that its connection was lost.

import mqtt from 'mqtt'

const url = process.env.MQTT_URL ?? 'mqtt://127.0.0.1:1883'
const topic = 'devices/pump-7/status'

const dashboard = await mqtt.connectAsync(url)
await dashboard.subscribeAsync(topic, { qos: 1 })
dashboard.on('message', (name, payload) => {
  const status = payload.toString()
  console.log(name, status)
  // A cut cable, simulated: the connection ends without DISCONNECT.
  if (status === 'online') device.stream.destroy()
  else dashboard.end()
})

const device = await mqtt.connectAsync(url, {
  clientId: 'pump-7',
  reconnectPeriod: 0,
  will: { topic, payload: 'offline', qos: 1, retain: true },
})
device.publish(topic, 'online', { qos: 1, retain: true })
