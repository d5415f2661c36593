// The broker has clients of its own: bridges, sources, and the queues of actions. They connect without a network, and their sessions store
// their messages. Their client IDs are reserved: a client of a listener that used one would receive everything that waits for them.
//
//   $bridge/NAME                        bridge, source
//   $bridge/$action/SALT/TYPE:NAME      queue of an action
//
// The prefix is from a time when bridges were the only ones. It is in stored records, in the API and in access rules, so it stays.

const prefix = '$bridge/'

/** Prefix of the subscriptions in which a bridge stores its state. They match no topic: see `bridges/subscriptions/subscriptions.ts`. */
export const bridgeMarksRoot = '$bridge/'

/** Maximum packet identifier towards an internal client. A bridge derives several from each: see `bridges/transfer/forwarding.ts`. */
export const largestInternalPacketId = 2_047

/** Returns the client ID of a bridge, or of a source: see `sourceBridgeName`. */
export function toBridgeClientId(name: string): string {
  return `${prefix}${name}`
}

/** Returns whether the client ID is one of the broker's own clients. */
export function isInternalClient(clientId: string): boolean {
  return clientId.startsWith(prefix)
}

/** Prefix of the client IDs of action queues. */
export const actionClientPrefix = `${prefix}$action/`

/**
 * Returns the client ID of the action queue. Each shard has its own, so that a result is durable together with the
 * message that triggered the rule. `salt` is chosen so that the session belongs to the shard.
 */
export function toActionClientId(action: string, salt: string): string {
  return `${actionClientPrefix}${salt}/${action}`
}

/** Returns the action of an action queue; undefined for other sessions. */
export function parseActionClientId(clientId: string): string | undefined {
  if (!clientId.startsWith(actionClientPrefix)) return undefined
  return clientId.slice(clientId.indexOf('/', actionClientPrefix.length) + 1)
}
