// Who a client is and what it may do. The module `access` provides the object that makes permission checks from
// memory. If another service must decide first, it returns `unknown`, and the core waits in a named state.

import type { QoS, Topic, TopicFilter } from '../../protocol/index.ts'
import { splitNamespacedName } from '../namespaces/namespaced-names.ts'

/** The identity of a session: found when the client is accepted, then kept by its session. It never changes. */
export interface Identity {
  /** Undefined if it has none. */
  readonly namespace?: string | undefined
  /** Client ID as the client sent it. The name of the session adds the namespace. */
  readonly clientId: string
  /** User name for access rules: from CONNECT, from a certificate or from a token. */
  readonly username: string | undefined
  /**
   * The authenticated name, for `Session.identity`: `user:<name>`, `clientid` (the client proved its client ID), or
   * `anonymous`. Undefined if not known, as in records of earlier versions.
   */
  readonly principal?: string | undefined
  /** Address of the client; '' for a stored session without a client since the restart. */
  readonly peerAddress: string
  /** All actions are allowed. */
  readonly isSuperuser: boolean
  /** Name of the authenticator that accepted the client, or `anonymous`. Undefined for a session read from disk. */
  readonly authenticatedBy?: string | undefined
  /** When its credentials expire (`exp` of a token); undefined: never. */
  readonly expiresAtMs: number | undefined
  /** Read by the module `access` only: the rules of a token, the fields of a certificate. */
  readonly grants: object | undefined
  /** Attributes of the client from its authentication, for plugins. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

/**
 * Returns whether the rights of a client come from a token that has ended by then. They cannot be checked later, because they are not stored with a
 * message: so a message that is due later is refused at once.
 */
export function hasEndedToken({ isSuperuser, expiresAtMs, grants }: Identity, atMs: number): boolean {
  return grants !== undefined && expiresAtMs !== undefined && expiresAtMs <= atMs && !isSuperuser
}

/** Returns the identity of a client for which `access` has nothing to add. `session` is the name of its session. */
export function createIdentity(session: string, username: string | undefined, peerAddress: string): Identity {
  const { namespace, name: clientId } = splitNamespacedName(session)
  const who = { clientId, username, peerAddress, isSuperuser: false, expiresAtMs: undefined, grants: undefined }
  return namespace === undefined ? who : { ...who, namespace }
}

/** `unknown`: not known yet. The core sends the request `authorize` and checks again after the response. */
export type Permission = 'allow' | 'deny' | 'disconnect' | 'unknown'

/**
 * Permission checks: pure and synchronous. The result stays valid until `epoch` grows, which the input
 * `permissions-changed` reports before any other input. Superusers (`Identity.isSuperuser`) are checked by `canStay`
 * only.
 */
export interface Permissions {
  /** Grows whenever a result may change. Never negative. */
  readonly epoch: number
  /** All actions are allowed and need no check. May change with `epoch`. */
  readonly allowsEverything: boolean
  /** A service decides, and its decisions expire before `epoch` grows: a result is valid for one packet only. */
  readonly isUncacheable: boolean
  canPublish(identity: Identity, topic: Topic, options: { readonly qos: QoS; readonly retain: boolean }): Permission
  /** `filter` is the client's filter without `$share/group/` and `$exclusive/` and without the mount point. */
  canSubscribe(identity: Identity, filter: TopicFilter, options: { readonly qos: QoS }): Permission
  /**
   * Checked at delivery, for whichever subscription matched; never queries a service. `topic` is without the mount point.
   */
  canReceive(identity: Identity, topic: Topic): boolean
  /**
   * Returns whether a retained message of this publisher may still be delivered. The publisher is the name of its
   * session, with its user name if known. Not called for messages of superusers or of clients with grants of their own,
   * because those rights cannot be looked up later.
   */
  canRetain(publisher: { readonly clientId: string; readonly username: string | undefined }, topic: Topic): boolean
  /**
   * Checked for each connected client at `permissions-changed`; the broker disconnects those for which it is false
   * (0x87).
   */
  canStay(identity: Identity): boolean
}

/** Allows all actions. */
export const everythingAllowed: Permissions = {
  epoch: 0,
  allowsEverything: true,
  isUncacheable: false,
  canPublish: () => 'allow',
  canSubscribe: () => 'allow',
  canReceive: () => true,
  canRetain: () => true,
  canStay: () => true,
}
