// Opens a connection of the load generator.

import { connectFrame, subscribeFrame, type QoS } from './frames.ts'
import { LoadClient, type LoadClientOwner } from './load-client.ts'

export interface OpenOptions {
  readonly port: number
  readonly clientId: string
  readonly persistent?: boolean
  /** Spreads connections over loopback addresses when there are more than one address has ports. */
  readonly id?: number
}

/** Resolves after CONNACK; rejects if the connection is refused or lost before. Later losses are reported to `callbacks.failed`. */
export function openClient(options: OpenOptions, callbacks: Partial<LoadClientOwner> = {}): Promise<LoadClient> {
  return new Promise((resolve, reject) => {
    const owner: LoadClientOwner = {
      subscribed: () => {},
      delivered: () => {},
      acknowledged: () => {},
      look: undefined,
      ...callbacks,
      connected: (client) => {
        callbacks.connected?.(client)
        resolve(client)
      },
      failed: (client, reason) => {
        reject(new Error(`${options.clientId}: ${reason}`))
        callbacks.failed?.(client, reason)
      },
    }
    const client = new LoadClient(options.id ?? 0, 4, { host: '127.0.0.1', port: options.port }, owner)
    client.write(connectFrame({ version: 4, clientId: options.clientId, persistent: options.persistent ?? false }))
  })
}

/** As `openClient`, and subscribed to `filters` when it resolves. */
export async function openSubscriber(
  options: OpenOptions & { readonly filters: readonly string[]; readonly qos: QoS },
  callbacks: Partial<LoadClientOwner> = {},
): Promise<LoadClient> {
  const { promise: subscribed, resolve } = Promise.withResolvers<void>()
  const client = await openClient(options, { ...callbacks, subscribed: () => resolve() })
  client.write(subscribeFrame({ version: 4, packetId: 1, filters: options.filters, qos: options.qos }))
  await subscribed
  return client
}
