import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { connectAsync, type MqttClient } from 'mqtt'
import { shareBrokerWithApi } from '../../management/api.ts'
import { ctlDone, ctlRefused } from './ctl.ts'

const sharedBroker = shareBrokerWithApi()

test('a message from the command line or from a file reaches the subscribers, and the output has their number', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.endAsync())
  await client.subscribeAsync('birds/#', { qos: 1 })
  const first = nextMessage(client)
  assert.equal(await ctlDone(broker, ['publish', 'birds/a', '-m', 'landed', '-q', '1']), 'published to birds/a\n')
  const [topic, payload] = await first
  assert.deepEqual([topic, String(payload)], ['birds/a', 'landed'])
  const file = join(broker.dataDirectory, 'bytes')
  await writeFile(file, Buffer.from([0, 255, 254, 10]))
  const second = nextMessage(client)
  const receipt = await ctlDone(broker, ['publish', 'birds/b', '--file', file, '--receipt', '--json'])
  const [, bytes] = await second
  assert.deepEqual([...bytes], [0, 255, 254, 10])
  assert.equal(JSON.parse(receipt).matched, 1)
})

test('a message is retained, and taken away again', async (t) => {
  const broker = await sharedBroker()
  await ctlDone(broker, ['publish', 'birds/last', '-m', 'x', '-r'])
  assert.match(await ctlDone(broker, ['retained', 'list', 'birds/#']), /^birds\/last\t0\t1\t/)
  await ctlDone(broker, ['retained', 'delete', 'birds/last'])
  assert.equal(await ctlDone(broker, ['retained', 'list']), '')
  await ctlDone(broker, ['publish', 'birds/other', '-m', 'y', '-r'])
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.endAsync())
  const retained = nextMessage(client)
  await client.subscribeAsync('birds/+')
  const [topic] = await retained
  assert.equal(topic, 'birds/other')
})

test('a client that is there is subscribed and unsubscribed; one that is not is code 112', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'sensor' })
  t.after(() => client.endAsync())
  await ctlDone(broker, ['subscribe', 'sensor', 'told/#', '-q', '1'])
  const told = nextMessage(client)
  await ctlDone(broker, ['publish', 'told/a', '-m', 'x'])
  assert.equal((await told)[0], 'told/a')
  await ctlDone(broker, ['unsubscribe', 'sensor', 'told/#'])
  assert.match(await ctlRefused(broker, 1, ['subscribe', 'nobody', 'told/#']), /\(code 112\)/)
})

test('what cannot be published is told', async () => {
  const broker = await sharedBroker()
  assert.match(await ctlRefused(broker, 2, ['publish', 'a']), /-m TEXT or --file FILE/)
  assert.match(await ctlRefused(broker, 2, ['publish', 'a', '-m', 'x', '-q', '3']), /--qos/)
  assert.match(await ctlRefused(broker, 1, ['publish', 'a', '--file', '/nowhere']), /\/nowhere/)
  assert.match(await ctlRefused(broker, 1, ['publish', 'a/#', '-m', 'x']), /\(code 115\)/)
})

function nextMessage(client: MqttClient): Promise<readonly [topic: string, payload: Buffer]> {
  return new Promise((resolve) => client.once('message', (topic, payload) => resolve([topic, payload])))
}
