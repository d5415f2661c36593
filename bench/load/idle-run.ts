// Opens many idle connections: measures how fast the broker accepts them, and the memory of each.

import { setTimeout as pause } from 'node:timers/promises'
import { connectFrame, type ProtocolVersion } from './frames.ts'
import { LoadClient, type LoadClientOwner } from './load-client.ts'
import { residentKib } from './process-facts.ts'

export interface IdleOptions {
  readonly port: number
  /** For TLS: the trusted certificate authority, PEM. */
  readonly ca?: string
  readonly brokerPid: number | undefined
  readonly version: ProtocolVersion
  readonly connections: number
}

export interface IdleResult {
  readonly connectionsPerSecond: number
  readonly kibPerConnection: number | undefined
}

const maxHandshakesUnderWay = 200
const settleMs = 1_000

/** Throws an Error with a sentence when a connection is refused or lost. */
export async function runIdle({ port, ca, brokerPid, version, connections }: IdleOptions): Promise<IdleResult> {
  const memoryBefore = residentKib(brokerPid)
  const clients: LoadClient[] = []
  const startedMs = performance.now()
  await new Promise<void>((resolve, reject) => {
    let connected = 0
    const owner: LoadClientOwner = {
      connected: () => {
        connected++
        if (connected === connections) resolve()
        else openMore()
      },
      subscribed: () => {},
      delivered: () => {},
      acknowledged: () => {},
      look: undefined,
      failed: (client, reason) => reject(new Error(`client ${client.id}: ${reason}`)),
    }
    const openMore = (): void => {
      while (clients.length < connections && clients.length - connected < maxHandshakesUnderWay) {
        const client = new LoadClient(clients.length, version, { host: '127.0.0.1', port, ca }, owner)
        client.write(connectFrame({ version, clientId: `idle-${client.id}`, persistent: false }))
        clients.push(client)
      }
    }
    openMore()
  })
  const seconds = (performance.now() - startedMs) / 1_000
  await pause(settleMs)
  const memoryAfter = residentKib(brokerPid)
  for (const client of clients) client.close()
  const grown = memoryBefore === undefined || memoryAfter === undefined ? undefined : memoryAfter - memoryBefore
  return {
    connectionsPerSecond: connections / seconds,
    kibPerConnection: grown === undefined ? undefined : grown / connections,
  }
}
