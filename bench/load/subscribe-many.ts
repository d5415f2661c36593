// A client with many subscriptions that sends and receives no messages.

import { connectFrame, subscribeFrame, type QoS } from './frames.ts'
import { LoadClient } from './load-client.ts'

export interface ManySubscriptions {
  readonly port: number
  readonly id: number
  readonly filters: readonly string[]
  readonly qos: QoS
}

const filtersPerPacket = 200

/** Resolves when the last filter is acknowledged; rejects with an Error when one is refused. */
export function subscribeMany({ port, id, filters, qos }: ManySubscriptions): Promise<LoadClient> {
  return new Promise((resolve, reject) => {
    let next = 0
    const subscribeNext = (client: LoadClient): void => {
      if (next >= filters.length) {
        resolve(client)
        return
      }
      const some = filters.slice(next, next + filtersPerPacket)
      next += filtersPerPacket
      client.write(subscribeFrame({ version: 4, packetId: (next / filtersPerPacket) % 65_536, filters: some, qos }))
    }
    const client = new LoadClient(
      id,
      4,
      { host: '127.0.0.1', port },
      {
        connected: subscribeNext,
        subscribed: subscribeNext,
        delivered: () => {},
        acknowledged: () => {},
        look: undefined,
        failed: (_, reason) => reject(new Error(`client ${id}: ${reason}`)),
      },
    )
    client.write(connectFrame({ version: 4, clientId: `many-${id}`, persistent: false }))
  })
}
