// Numbers of connected clients on the channels of plugins. A client is described once on each channel, before its first call.

import { splitNamespacedName, type Connection, type HookedClient } from '../../core/index.ts'
import type { ClientInfo } from '../manifest/plugin-types.ts'
import type { MatchedClient } from './client-matcher.ts'
import type { PluginChannel } from './plugin-channel.ts'

export class ClientNumbers {
  readonly #byConnection = new Map<Connection, Map<PluginChannel, number>>()

  /** Returns the number of the client on the channel; describes it first if necessary. 0: no client. */
  findNumber(channel: PluginChannel, client: HookedClient | undefined): number {
    if (client === undefined) return 0
    const { connection } = client
    if (connection === undefined || client.isUnauthenticated === true) return this.#describeOnce(channel, client)
    let numbers = this.#byConnection.get(connection)
    if (numbers === undefined) {
      numbers = new Map()
      this.#byConnection.set(connection, numbers)
    }
    let number = numbers.get(channel)
    if (number === undefined) {
      number = channel.nextClient()
      numbers.set(channel, number)
      channel.writer.writeClient(number, describeClient(client))
    }
    return number
  }

  /** The connection is closed, or its client has another identity now. */
  forget(connection: Connection): void {
    const numbers = this.#byConnection.get(connection)
    if (numbers === undefined) return
    this.#byConnection.delete(connection)
    for (const [channel, number] of numbers) if (channel.isOpen) channel.writer.writeForgetClient(number)
  }

  /** A client without a connection: the process keeps only the last one of these. */
  #describeOnce(channel: PluginChannel, client: HookedClient): number {
    channel.writer.writeClient(unconnected, describeClient(client))
    return unconnected
  }
}

/** Returns what filters compare. */
export function toMatchedClient(client: HookedClient | undefined): MatchedClient | undefined {
  if (client === undefined) return undefined
  return { clientId: splitNamespacedName(client.clientId).name, listener: client.connection?.listener.name }
}

/** Larger than any number of `nextClient`. */
const unconnected = 0xffff_ffff

function describeClient({ connection, clientId: session, username, attributes = {} }: HookedClient): ClientInfo {
  const { namespace, name: clientid } = splitNamespacedName(session)
  const gateway = connection?.listener.gateway?.name.toLowerCase()
  return {
    clientid,
    username,
    namespace,
    peerhost: connection?.peerAddress ?? '',
    protocol: (gateway ?? 'mqtt') as ClientInfo['protocol'],
    listener: connection?.listener.name ?? '',
    attributes,
  }
}
