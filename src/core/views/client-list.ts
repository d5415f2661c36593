// The filter of client lists, and a slice of the matching clients.

import type { Parts } from '../state/parts.ts'
import { isInternalClient } from '../messages/internal-clients.ts'
import { isOfNamespace } from '../namespaces/namespaced-names.ts'
import type { Session } from '../state/sessions/session.ts'
import { type ClientView, findProtocol, toClientView, countWaiting } from './client-view.ts'
import { type Slice, SliceBuilder, type SliceWanted, walkSessions } from './walk.ts'

/** All conditions must hold. Bounds are inclusive; a client without such a time matches no bounds. */
export interface ClientFilter {
  /** Undefined: clients of all namespaces and of none. */
  readonly namespace?: string | undefined
  /** The name of the session. */
  readonly clientId?: string | undefined
  readonly username?: string | undefined
  readonly isConnected?: boolean | undefined
  /** The session of an internal client: a bridge, an action or a source. */
  readonly isInternal?: boolean | undefined
  readonly cleanStart?: boolean | undefined
  readonly version?: number | undefined
  /** `MQTT`, or the protocol of a gateway. */
  readonly protocolName?: string | undefined
  readonly address?: string | undefined
  /** Endpoint name of an LwM2M client. */
  readonly endpointName?: string | undefined
  /** In lower case. */
  readonly endpointNamePart?: string | undefined
  readonly lifetimeSeconds?: Bounds | undefined
  /** Part of the client ID as the client sends it, in lower case: the case of letters does not matter in parts. */
  readonly clientIdPart?: string | undefined
  /** In lower case. */
  readonly usernamePart?: string | undefined
  readonly createdAtMs?: Bounds | undefined
  readonly connectedAtMs?: Bounds | undefined
  readonly waiting?: Bounds | undefined
  readonly droppedMessages?: Bounds | undefined
}

export interface Bounds {
  readonly min?: number | undefined
  readonly max?: number | undefined
}

export function listClients(
  state: Parts<'sessions' | 'settings'>,
  filter: ClientFilter,
  expected: SliceWanted,
): Slice<ClientView> {
  const { sessions, settings } = state
  const builder = new SliceBuilder<ClientView>(expected)
  if (filter.clientId !== undefined) {
    const session = sessions.get(filter.clientId)
    if (session !== undefined && matchesClientFilter(session, filter))
      builder.addRow(() => toClientView(session, settings))
    return { rows: builder.rows, passed: builder.passed, next: undefined }
  }
  const next = walkSessions(sessions, expected, (session) => {
    if (!matchesClientFilter(session, filter)) return undefined
    if (builder.isFull) return 0
    builder.addRow(() => toClientView(session, settings))
    return undefined
  })
  return { rows: builder.rows, passed: builder.passed, next }
}

export function matchesClientFilter(session: Session, filter: ClientFilter): boolean {
  const { username, peerAddress } = session.identity
  return (
    matchesValue(session.clientId, filter.clientId) &&
    matchesValue(username, filter.username) &&
    (filter.namespace === undefined || isOfNamespace(session.clientId, filter.namespace)) &&
    matchesValue(session.connection !== undefined, filter.isConnected) &&
    (filter.isInternal === undefined || isInternalClient(session.identity.clientId) === filter.isInternal) &&
    matchesValue(session.lastConnect.cleanStart, filter.cleanStart) &&
    matchesValue(findProtocol(session).version, filter.version) &&
    matchesValue(findProtocol(session).name, filter.protocolName) &&
    matchesValue(session.connection?.peerAddress ?? peerAddress, filter.address) &&
    matchesValue(session.connection?.gatewayClient?.endpointName, filter.endpointName) &&
    hasPart(session.connection?.gatewayClient?.endpointName ?? '', filter.endpointNamePart) &&
    isWithin(session.connection?.gatewayClient?.lifetimeSeconds, filter.lifetimeSeconds) &&
    hasPart(session.identity.clientId, filter.clientIdPart) &&
    hasPart(username ?? '', filter.usernamePart) &&
    isWithin(session.createdAtMs, filter.createdAtMs) &&
    isWithin(session.lastConnect.atMs, filter.connectedAtMs) &&
    (filter.waiting === undefined || isWithin(countWaiting(session), filter.waiting)) &&
    isWithin(session.counts.dropped, filter.droppedMessages)
  )
}

function matchesValue<Value>(value: Value, expected: Value | undefined): boolean {
  return expected === undefined || value === expected
}

function hasPart(text: string, part: string | undefined): boolean {
  return part === undefined || text.toLowerCase().includes(part)
}

function isWithin(value: number | undefined, bounds: Bounds | undefined): boolean {
  if (bounds === undefined) return true
  return value !== undefined && value >= (bounds.min ?? -Infinity) && value <= (bounds.max ?? Infinity)
}
