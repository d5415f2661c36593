// A client sends requests and matches the responses by correlation data.

import mqtt from 'mqtt'

const url = process.env.MQTT_URL ?? 'mqtt://127.0.0.1:1883'
const service = await mqtt.connectAsync(url, { protocolVersion: 5 })
await service.subscribeAsync('services/square', { qos: 1 })
service.on('message', (_topic, payload, { properties }) => {
  const result = Number(payload) ** 2
  const { responseTopic, correlationData } = properties
  service.publish(responseTopic, `${result}`, { qos: 1, properties: { correlationData } })
})

const client = await mqtt.connectAsync(url, { protocolVersion: 5 })
const responseTopic = 'clients/calculator/responses'
await client.subscribeAsync(responseTopic, { qos: 1 })

async function square(number) {
  const correlationData = Buffer.from(`request-${number}`)
  const response = new Promise((resolve) => {
    client.on('message', (_topic, payload, { properties }) => {
      if (properties.correlationData.equals(correlationData)) resolve(payload.toString())
    })
  })
  await client.publishAsync('services/square', `${number}`, {
    qos: 1,
    properties: { responseTopic, correlationData },
  })
  return response
}

for (const number of [12, 7]) console.log(`the square of ${number} is ${await square(number)}`)
for (const each of [client, service]) await each.endAsync()
