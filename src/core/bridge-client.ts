// Bridges are clients of this broker, and their sessions are what they keep their messages in. Their client ids are theirs
// alone: nobody who comes through a listener may have one, for with it would come everything that waits for the bridge.

const prefix = '$bridge/'

/** Packet ids towards a bridge are no larger, so that it can make several of each: see `bridges/forwarding.ts`. */
export const largestBridgePacketId = 2_047

export function bridgeClientId(name: string): string {
  return `${prefix}${name}`
}

export function isBridgeClient(clientId: string): boolean {
  return clientId.startsWith(prefix)
}
