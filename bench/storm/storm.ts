// Thousands of clients lose their connections and reconnect at the same time, several times.
//
//   node bench/storm/storm.ts [--connections 16000] [--storms 5] [--same-id-clients 1000] [--queued 0] [--broker mosquitto | --tls]
//
// Every client has a persistent session. Each storm ends when all clients are connected and have the messages that were `queued` for each
// meanwhile. A refused client reconnects at once, and is counted. Then many clients use one client ID, of which exactly one may stay
// connected. At the end all clients connect once more to end their sessions, and disconnect.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { setTimeout as pause } from 'node:timers/promises'
import { Authority } from '../../test/transports/certificates.ts'
import { chosenBroker, freePort, pinSelf, startBroker } from '../load/brokers.ts'
import { connectFrame, publishFrame, subscribeFrame } from '../load/frames.ts'
import { HealthyProbe } from '../load/healthy-probe.ts'
import { LoadClient } from '../load/load-client.ts'
import { openClient } from '../load/open-client.ts'
import { residentKib } from '../load/process-facts.ts'
import { number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: {
    connections: { type: 'string', default: '16000' },
    storms: { type: 'string', default: '5' },
    'same-id-clients': { type: 'string', default: '1000' },
    queued: { type: 'string', default: '0' },
    broker: { type: 'string' },
    tls: { type: 'boolean', default: false },
  },
})

const connections = Number(options.connections)
const queued = Number(options.queued)
const rows: string[][] = []
let turnedAway = 0
const settleMs = 3_000

/** The port of the storms; the healthy client connects without TLS. */
interface Target {
  readonly host: string
  readonly port: number
  /** The trusted certificate authority, for TLS. */
  readonly ca?: string
}

/** The purpose of a connection. */
type Errand = 'to subscribe' | 'to be back' | 'to end its session'

pinSelf()
const secure = options.tls ? await secureListener() : undefined
const broker = await startBroker(chosenBroker(options.broker, ['log.level=error', ...(secure?.settings ?? [])]))
const target: Target = secure?.target ?? { host: '127.0.0.1', port: broker.port }
try {
  const probe = await HealthyProbe.open(broker.port)
  await pause(2_000)
  note('before', undefined)
  let clients: LoadClient[] = []
  for (let storm = 0; storm <= Number(options.storms); storm++) {
    for (const client of clients) client.close()
    if (storm > 0) await publishToAll()
    const startedMs = performance.now()
    turnedAway = 0
    clients = await openAll(storm === 0 ? 'to subscribe' : 'to be back')
    note(storm === 0 ? 'all are there' : `storm ${storm}`, performance.now() - startedMs)
    await pause(settleMs)
  }
  for (const client of clients) client.close()
  const startedMs = performance.now()
  const left = await fightForOneId(Number(options['same-id-clients']))
  note(`${options['same-id-clients']} with one id: ${left} left`, performance.now() - startedMs)
  await pause(10_000)
  note('10 s after', undefined)
  for (const client of await openAll('to end its session')) client.close()
  await pause(60_000)
  note('60 s after all have ended their sessions', undefined)
  printTable(['', 'seconds', 'broker MiB', 'median ms', '99 % ms', 'longest ms', 'missing', 'refused'], rows)
  probe.close()

  function note(what: string, tookMs: number | undefined): void {
    const seconds = tookMs === undefined ? '' : number(tookMs / 1_000, 2)
    rows.push([what, seconds, number((residentKib(broker.pid) ?? NaN) / 1_024, 1), ...probe.take(), number(turnedAway)])
    console.log(rows.at(-1)?.join('  '))
  }
} finally {
  await broker.stop()
}

/** All at once: no client waits for another. A refused client reconnects. */
function openAll(errand: Errand): Promise<LoadClient[]> {
  return new Promise((resolve) => {
    let ready = 0
    let missing = errand === 'to be back' ? connections * queued : 0
    const look = (): void => {
      if (ready === connections && missing <= 0) resolve(clients)
    }
    const open = (index: number): LoadClient => {
      let isIn = false
      const isReady = (): void => {
        isIn = true
        ready++
        look()
      }
      const client: LoadClient = new LoadClient(index, 4, target, {
        connected: () => {
          if (errand !== 'to subscribe') return isReady()
          client.write(subscribeFrame({ version: 4, packetId: 1, filters: [`storm/${index}/#`, 'all/#'], qos: 1 }))
        },
        subscribed: isReady,
        delivered: (_, messages) => {
          missing -= messages
          look()
        },
        acknowledged: () => {},
        look: undefined,
        failed: () => {
          turnedAway++
          if (isIn) ready--
          clients[index] = open(index)
        },
      })
      const persistent = errand !== 'to end its session'
      client.write(connectFrame({ version: 4, clientId: `storm-${index}`, persistent }))
      return client
    }
    const clients = Array.from({ length: connections }, (_, index) => open(index))
  })
}

/** Publishes while the clients are disconnected. Resolves when the broker has acknowledged the messages. */
async function publishToAll(): Promise<void> {
  const { promise: taken, resolve } = Promise.withResolvers<void>()
  let waiting = queued
  const callbacks = { acknowledged: (_: LoadClient, messages: number) => (waiting -= messages) > 0 || resolve() }
  const publisher = await openClient({ port: broker.port, clientId: 'publisher' }, callbacks)
  for (let packetId = 1; packetId <= queued; packetId++) {
    publisher.write(publishFrame({ version: 4, topic: 'all/of/them', qos: 1, packetId, payload: Buffer.alloc(64) }))
  }
  if (queued > 0) await taken
  publisher.close()
}

/** Returns the number of connections when no more of them close. */
async function fightForOneId(count: number): Promise<number> {
  let open = 0
  let changedAtMs = performance.now()
  const change = (by: number): void => {
    open += by
    changedAtMs = performance.now()
  }
  const clients = Array.from({ length: count }, (_, index) => {
    let isIn = false
    const client = new LoadClient(index, 4, target, {
      connected: () => {
        isIn = true
        change(1)
      },
      subscribed: () => {},
      delivered: () => {},
      acknowledged: () => {},
      look: undefined,
      failed: () => {
        if (isIn) change(-1)
      },
    })
    client.write(connectFrame({ version: 4, clientId: 'the-one', persistent: true }))
    return client
  })
  while (performance.now() - changedAtMs < 1_000) await pause(100)
  for (const client of clients) client.close()
  return open
}

/** A Godwit broker with a certificate on the curve P-256. */
async function secureListener(): Promise<{ settings: string[]; target: Target }> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-storm-'))
  process.on('exit', () => rmSync(folder, { recursive: true }))
  const authority = new Authority('The authority of this measurement')
  const { certificate, key } = authority.issue('localhost', { hostNames: ['127.0.0.1'] })
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  writeFileSync(certFile, certificate)
  writeFileSync(keyFile, key)
  const port = await freePort()
  const bind = `listeners.ssl.bind=127.0.0.1:${port}`
  return {
    settings: [bind, `listeners.ssl.certfile=${certFile}`, `listeners.ssl.keyfile=${keyFile}`],
    target: { host: '127.0.0.1', port, ca: authority.certificate },
  }
}
