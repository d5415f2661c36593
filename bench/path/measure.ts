// node bench/path/measure.ts [QOS] [--list]: how many functions and files a PUBLISH passes from the publisher's socket to the subscriber's.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Calls } from './count-calls.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))
const qos = Number(process.argv.slice(2).find((word) => /^[012]$/.test(word)) ?? 0)
const port = 21_883
const folder = mkdtempSync(join(tmpdir(), 'path-'))
const settings = { 'node.shards': '1', 'listeners.tcp.bind': `127.0.0.1:${port}`, 'http_server.port': '0' }
const broker = fork(
  join(checkout, 'src/cli/main.ts'),
  ['start', '--data', folder, ...Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`])],
  {
    cwd: checkout,
    execArgv: ['--import', join(checkout, 'bench/path/count-calls.ts')],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  },
)

try {
  const subscriber = await open('subscriber')
  subscriber.write(Buffer.from([0x82, 8, 0, 1, 0, 3, ...Buffer.from('a/+'), qos]))
  await once(subscriber, 'data')
  const publisher = await open('publisher')
  for (let round = 0; round < 50; round++) await publish(publisher, subscriber)
  // What runs without a message (timers) is not a part of the path.
  const idle = new Set<string>()
  for (let round = 0; round < 20; round++) {
    await takeCalls()
    await new Promise((resolve) => setTimeout(resolve, 50))
    for (const name of namesIn(await takeCalls())) idle.add(name)
  }
  for (const [title, topic] of [
    ['first message of a topic', 'a/c'],
    ['next message', 'a/c'],
  ] as const) {
    await takeCalls()
    await publish(publisher, subscriber, topic)
    const names = namesIn(await takeCalls()).filter((name) => process.argv.includes('--all') || !idle.has(name))
    const files = new Set(names.map((name) => name.split(' ')[0]))
    if (process.argv.includes('--list')) console.log(names.join('\n'))
    console.log(`QoS ${qos}, ${title}: ${names.length} functions in ${files.size} files`)
  }
  subscriber.destroy()
  publisher.destroy()
} finally {
  broker.kill()
  await once(broker, 'exit')
  rmSync(folder, { recursive: true, force: true })
}

async function open(clientId: string): Promise<Socket> {
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
    })
    if (isOpen) {
      socket.write(
        Buffer.from([
          0x10,
          12 + clientId.length,
          0,
          4,
          ...Buffer.from('MQTT'),
          4,
          2,
          0,
          0,
          0,
          clientId.length,
          ...Buffer.from(clientId),
        ]),
      )
      await once(socket, 'data')
      return socket
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Sends a message, and waits until the subscriber and, above QoS 0, the publisher have everything. */
async function publish(publisher: Socket, subscriber: Socket, name = 'a/b'): Promise<void> {
  const topic = [0, 3, ...Buffer.from(name)]
  const arrived = once(subscriber, 'data')
  const acknowledged = qos === 0 ? undefined : once(publisher, 'data')
  publisher.write(Buffer.from(qos === 0 ? [0x30, 7, ...topic, 1, 2] : [0x30 | (qos << 1), 9, ...topic, 0, 7, 1, 2]))
  const [frame] = (await arrived) as [Buffer]
  await acknowledged
  if (qos === 0) return
  const packetId = frame.subarray(7, 9)
  if (qos === 1) subscriber.write(Buffer.from([0x40, 2, ...packetId]))
  else {
    const released = once(subscriber, 'data')
    subscriber.write(Buffer.from([0x50, 2, ...packetId]))
    await released
    subscriber.write(Buffer.from([0x70, 2, ...packetId]))
    const completed = once(publisher, 'data')
    publisher.write(Buffer.from([0x62, 2, 0, 7]))
    await completed
  }
  await new Promise((resolve) => setTimeout(resolve, 20))
}

async function takeCalls(): Promise<Calls> {
  broker.send('take')
  const [calls] = (await once(broker, 'message')) as [Calls]
  return calls
}

function namesIn({ files }: Calls): string[] {
  return Object.entries(files).flatMap(([file, functions]) => functions.map((name) => `${file} ${name}`))
}
