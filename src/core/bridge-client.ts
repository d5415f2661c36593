// Bridges are clients of this broker, and their sessions are what they keep their messages in. Their client ids are theirs
// alone: nobody who comes through a listener may have one, for with it would come everything that waits for the bridge.

import type { UserProperties } from '../protocol/index.ts'

const prefix = '$bridge/'

/** Packet ids towards a bridge are no larger, so that it can make several of each: see `bridges/forwarding.ts`. */
export const largestBridgePacketId = 2_047

export function bridgeClientId(name: string): string {
  return `${prefix}${name}`
}

export function isBridgeClient(clientId: string): boolean {
  return clientId.startsWith(prefix)
}

/** How much waits for a bridge, on disk. */
export interface SpoolLimits {
  /** Undefined: as much as for any session. */
  readonly maxMessages: number | undefined
  /** One message more is dropped and counted. Else its publisher is refused, where it can be told. */
  readonly dropsNewest: boolean
}

const maxMessagesName = 'spool-max-messages'
const dropsNewestName = 'spool-drops-newest'

/** A bridge says its limits in CONNECT. */
export function spoolProperties({ maxMessages, dropsNewest }: SpoolLimits): UserProperties {
  return [
    ...(maxMessages === undefined ? [] : ([[maxMessagesName, String(maxMessages)]] as const)),
    ...(dropsNewest ? ([[dropsNewestName, '']] as const) : []),
  ]
}

export function spoolLimitsIn(properties: UserProperties | undefined): SpoolLimits | undefined {
  if (properties === undefined) return undefined
  const said = new Map(properties)
  const maxMessages = said.get(maxMessagesName)
  return {
    maxMessages: maxMessages === undefined ? undefined : Number(maxMessages),
    dropsNewest: said.has(dropsNewestName),
  }
}
