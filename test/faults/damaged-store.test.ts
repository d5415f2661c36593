// The files are damaged between two runs. The program starts, reports the damage, and serves clients.

import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test, type TestContext } from 'node:test'
import { startBroker, temporaryFolder, type Broker } from '../e2e/godwit-process.ts'
import { LevelDatabase } from '../../src/storage/database/level-database.ts'
import { OperationList } from '../../src/storage/database/operation-list.ts'
import { createKindRange } from '../../src/storage/encoding/record-keys.ts'
import { Random } from '../simulator/random.ts'
import { casesOf } from '../test-length.ts'
import { MqttPeer } from './mqtt-peer.ts'

const messages = 400
const seed = 1

/** Name, function, and the number of messages that the damage cannot affect. */
const damages: readonly [string, (store: string) => void | Promise<void>, number?][] = [
  ['bytes of its newest log are flipped', (store) => flipBytes(newest(store, '.log')), messages / 2],
  ['bytes of its newest table are flipped', (store) => flipBytes(newest(store, '.ldb'))],
  ['its newest table is cut short', (store) => cutInHalf(newest(store, '.ldb'))],
  ['its newest table is missing', (store) => rmSync(newest(store, '.ldb'))],
  ['its newest table has lost its footer', (store) => loseFooter(newest(store, '.ldb')), messages],
  ['the record of the session is lost', loseSession, messages],
  ['the file that names the others is missing', (store) => rmSync(join(store, 'CURRENT'))],
  ['bytes of every file are flipped', (store) => filesIn(store).forEach(flipBytes)],
]

/** The files after two runs that were killed; each test damages a copy. */
let left: string

before(async (t) => {
  left = await runThatIsKilled(t as TestContext)
})

/** The others are among the damages of `damage-fuzz.test.ts`. */
const daily = [
  'its newest table has lost its footer',
  'the record of the session is lost',
  'bytes of every file are flipped',
]

for (const [name, damage, safe = 0] of casesOf(damages, ...daily)) {
  test(`a store of which ${name}: the broker starts, raises an alarm, serves, and delivers nothing wrong`, async (t) => {
    const dataDirectory = await temporaryFolder(t)
    cpSync(left, dataDirectory, { recursive: true })
    await damage(join(dataDirectory, 'store'))
    const broker = await startBroker(t, { dataDirectory })
    await broker.process.until(/"event":"alarm"[^\n]*(damage|missing|lost)/)
    await serves(broker, safe)
    assert.equal(await broker.process.stop(), 0)
  })
}

/** Messages that the subscriber must receive, the first half in a table and the rest in the log. */
const payload = (number: number): string => `message ${number} ${'='.repeat(200)}`
const allPayloads = Array.from({ length: messages }, (_, number) => payload(number))

async function runThatIsKilled(t: TestContext): Promise<string> {
  const first = await startBroker(t)
  const offlineClient = await connectOfflineClient(first.port)
  await offlineClient.subscribe('kept/#', 1)
  offlineClient.destroy()
  await publish(first.port, 0, messages / 2)
  await first.process.stop('SIGKILL')
  const { dataDirectory } = first
  // When LevelDB opens a database, it turns its old log into a table.
  const second = await startBroker(t, { dataDirectory })
  await publish(second.port, messages / 2, messages)
  await second.process.stop('SIGKILL')
  return dataDirectory
}

async function publish(port: number, from: number, to: number): Promise<void> {
  const publisher = await MqttPeer.connect(port, { clientId: 'publisher', version: 4 })
  for (let number = from; number < to; number++) {
    const frame = { topic: `kept/${number % 50}`, payload: payload(number), qos: 1, retain: true } as const
    publisher.publish({ ...frame, packetId: number + 1 })
  }
  await publisher.untilAck(to)
  publisher.destroy()
}

function connectOfflineClient(port: number): Promise<MqttPeer> {
  return MqttPeer.connect(port, { clientId: 'offline', version: 5, isDurable: true })
}

async function serves({ port }: Broker, safe: number): Promise<void> {
  const offlineClient = await connectOfflineClient(port)
  // The session may be lost; then the client must subscribe again, as CONNACK without session present requires.
  await offlineClient.subscribe('kept/#', 1)
  const publisher = await MqttPeer.connect(port, { clientId: 'publisher', version: 5 })
  publisher.publish({ topic: 'kept/new', payload: 'new', qos: 1, packetId: 1 })
  assert.equal((await publisher.untilAck(1)).reasonCode, 0)
  await offlineClient.until('the new message', () => offlineClient.payloads().find((text) => text === 'new'))
  const known = new Set([...allPayloads, 'new'])
  assert.deepEqual(
    offlineClient.payloads().filter((text) => !known.has(text)),
    [],
  )
  const live = offlineClient.of('publish').filter(({ retain }) => !retain)
  const numbers = live.map((packet) => Number(/\d+/.exec(packet.chunk.toString('latin1', packet.payloadStart))?.[0]))
  assert.deepEqual(
    numbers.slice(0, -1),
    numbers.slice(0, -1).toSorted((one, other) => one - other),
    'what is left of the queue comes in its order, and once',
  )
  assert.deepEqual(numbers.slice(0, safe), [...allPayloads.keys()].slice(0, safe), 'what is good is served')
  offlineClient.destroy()
  publisher.destroy()
}

function filesIn(store: string): string[] {
  return readdirSync(store)
    .filter((name) => name !== 'LOCK' && name !== 'LOG')
    .map((name) => join(store, name))
}

function newest(store: string, ending: string): string {
  const found = filesIn(store)
    .filter((path) => path.endsWith(ending) && statSync(path).size > 0)
    .toSorted()
    .at(-1)
  assert.ok(found !== undefined, `no ${ending} in ${store}: ${filesIn(store).join(', ')}`)
  return found
}

/** Changes bytes in the middle of the file, where the records are. */
function flipBytes(path: string): void {
  const random = new Random(seed)
  const bytes = readFileSync(path)
  for (let count = 0; count < 20; count++) bytes[random.between(0, bytes.length - 1)] ^= random.between(1, 255)
  writeFileSync(path, bytes)
}

/** The last 48 bytes contain the position of the index. */
function loseFooter(path: string): void {
  truncateSync(path, statSync(path).size - 48)
}

async function loseSession(store: string): Promise<void> {
  const database = await LevelDatabase.open(store)
  const operations = new OperationList()
  for await (const slice of database.readSlices(createKindRange('session'))) {
    for (const [key, value] of slice) if (value.includes('offline')) operations.delete(key)
  }
  assert.equal(operations.count, 1)
  await database.write(operations, true)
  await database.close()
}

function cutInHalf(path: string): void {
  truncateSync(path, Math.floor(statSync(path).size / 2))
}
