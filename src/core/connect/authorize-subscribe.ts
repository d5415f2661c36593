// Authorizes the filters of a SUBSCRIBE. All filters are checked before the first subscription is made.

import { removeFilterPrefix, reasonCodes, type SubscribePacket } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { namespacesRoot } from '../namespaces/namespaced-names.ts'
import { recordAuthorization } from '../publish/authorize-publish.ts'
import { endConnection } from './close-connection.ts'
import type { Open } from '../state/connection-state.ts'
import { resolvePermission, waitForAuthorization, type AuthorizationQuery } from './authorization-wait.ts'

const nothing: ReadonlySet<number> = new Set()

/** Returns the indexes of the denied filters; undefined if the packet waits or the connection is being closed. */
export function findDeniedFilters(
  state: BrokerState,
  connection: Connection,
  open: Open,
  packet: SubscribePacket,
): ReadonlySet<number> | undefined {
  const { permissions } = state.access
  const { identity } = open.session
  if (identity.isSuperuser || (permissions.allowsEverything && !targetsNamespaces(packet))) {
    if (state.rules.triggers.wanted.authorization)
      recordAuthorizations(state, connection, open, { packet, denied: nothing })
    return nothing
  }
  const denied = new Set<number>()
  const unknown: AuthorizationQuery[] = []
  for (const [place, { filter, qos }] of packet.subscriptions.entries()) {
    const bare = removeFilterPrefix(filter)
    const permission = resolvePermission(open, packet, bare, permissions.canSubscribe(identity, bare, { qos }))
    if (permission === 'deny') denied.add(place)
    if (permission === 'unknown') unknown.push({ action: 'subscribe', topic: bare, qos, retain: false })
    if (permission === 'disconnect') {
      if (state.rules.triggers.wanted.authorization)
        recordAuthorization(state, connection, open.session, { action: 'subscribe', topic: bare, isAllowed: false })
      const text = 'not allowed to subscribe'
      endConnection(state, connection, { reason: reasonCodes.notAuthorized, text, publishWill: true })
      return undefined
    }
  }
  if (unknown.length === 0) {
    if (state.rules.triggers.wanted.authorization) recordAuthorizations(state, connection, open, { packet, denied })
    return denied
  }
  waitForAuthorization(state, connection, open, { packet, wanted: unknown })
  return undefined
}

/** Records the denied filters for rules. */
function recordAuthorizations(
  state: Parts<'nowMs' | 'rules'>,
  connection: Connection,
  { session }: Open,
  { packet, denied }: { readonly packet: SubscribePacket; readonly denied: ReadonlySet<number> },
): void {
  for (const [place, { filter }] of packet.subscriptions.entries()) {
    const what = { action: 'subscribe', topic: removeFilterPrefix(filter), isAllowed: !denied.has(place) } as const
    recordAuthorization(state, connection, session, what)
  }
}

/** True also if no namespace exists any more: retained messages of former namespaces remain private. */
function targetsNamespaces({ subscriptions }: SubscribePacket): boolean {
  return subscriptions.some(
    ({ filter }) => filter.includes(namespacesRoot) && removeFilterPrefix(filter).startsWith(namespacesRoot),
  )
}
