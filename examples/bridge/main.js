// A publisher at one broker, a subscriber at the other.

import mqtt from 'mqtt'

const site = process.env.MQTT_URL ?? 'mqtt://127.0.0.1:1883'
const central = process.env.REMOTE_URL ?? 'mqtt://127.0.0.1:2883'

const subscriber = await mqtt.connectAsync(central)
await subscriber.subscribeAsync('site-1/#', { qos: 1 })
const publisher = await mqtt.connectAsync(site)
const received = new Promise((resolve) =>
  subscriber.on('message', (topic, payload) => resolve(`${topic} ${payload.toString()}`)),
)
// The message waits in the session of the bridge until the central broker acknowledges it.
await publisher.publishAsync('plant/pump-7', 'running', { qos: 1 })
console.log(await received)
for (const client of [subscriber, publisher]) await client.endAsync()
