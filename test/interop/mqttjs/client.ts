// The reference: MQTT.js, which the other tests use as well.

import { createInterface } from 'node:readline'
import mqtt from 'mqtt'

const [host = '', port = '', version = '', clientId = ''] = process.argv.slice(2)
const isFive = version === '5'
const client = mqtt.connect(`mqtt://${host}:${port}`, {
  clientId,
  protocolVersion: isFive ? 5 : 4,
  clean: false,
  reconnectPeriod: 200,
  will: { topic: `will/${clientId}`, payload: Buffer.from('gone'), qos: 1, retain: false },
  ...(isFive ? { properties: { sessionExpiryInterval: 3_600 } } : {}),
})
const printEvent = (line: string): void => void process.stdout.write(`${line}\n`)
client.on('connect', ({ sessionPresent }) => printEvent(`connected ${Number(sessionPresent)}`))
client.on('message', (topic, payload, { qos, retain }) => {
  printEvent(
    `got ${qos} ${Number(retain)} ${topic} ${payload.length > 1_000 ? `#${payload.length}` : payload.toString()}`,
  )
})
client.on('error', () => {})
for await (const line of createInterface(process.stdin)) {
  const [word, qosText, ...rest] = line.split(' ')
  const qos = Number(qosText) as 0 | 1 | 2
  if (word === 'sub') client.subscribe(rest[0] ?? '', { qos }, () => printEvent(`subscribed ${rest[0] ?? ''}`))
  if (word === 'pub') client.publish(rest[1] ?? '', rest[2] ?? '', { qos, retain: rest[0] === '1' })
  if (word === 'big') client.publish(rest[0] ?? '', Buffer.alloc(Number(rest[1]), 'x'), { qos })
}
