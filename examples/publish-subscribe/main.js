// A subscriber receives what a publisher sends at QoS 1.

import mqtt from 'mqtt'

const url = process.env.MQTT_URL ?? 'mqtt://127.0.0.1:1883'
const subscriber = await mqtt.connectAsync(url)
const publisher = await mqtt.connectAsync(url)

let missing = 2
const received = new Promise((resolve) => {
  subscriber.on('message', (topic, payload) => {
    console.log(topic, payload.toString())
    if (--missing === 0) resolve()
  })
})

// SUBACK says that the subscription is active: later publications are received.
await subscriber.subscribeAsync('sensors/+/temperature', { qos: 1 })
await publisher.publishAsync('sensors/kitchen/temperature', '21.5', { qos: 1 })
await publisher.publishAsync('sensors/garden/temperature', '17.0', { qos: 1 })

await received
for (const client of [subscriber, publisher]) await client.endAsync()
