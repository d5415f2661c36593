// Who a client is and what it may do, as the core asks for it. The answers are the access room's, which hands in an
// object that answers at once from what it has at hand; where it has to ask somebody else first it says so, and the core
// waits for it in a state with a name.

import type { QoS, Topic, TopicFilter } from '../../protocol/index.ts'
import { splitNamespacedName } from '../namespaces/namespaced-names.ts'

/** Whom a session speaks for: found when the client is let in, and kept by its session from then on. Never changed. */
export interface Identity {
  /** Undefined: it belongs to none. */
  readonly namespace?: string | undefined
  /** As it calls itself; its session has the namespace in front of it. */
  readonly clientId: string
  /** As the access room knows it: of CONNECT, of a certificate or of a token. */
  readonly username: string | undefined
  /**
   * What the client authenticated as, for `Session.identity`: `user:<name>`, `clientid` (it proved the client ID itself), or
   * `anonymous`. Undefined: not known, as in records of earlier versions.
   */
  readonly principal?: string | undefined
  /** Where it connected from; '' for a session that came back from the disk and has no client yet. */
  readonly peerAddress: string
  /** Nothing is denied to it. */
  readonly isSuperuser: boolean
  /** What let it in: the name of an authenticator, or `anonymous`. Undefined: it came back from the disk. */
  readonly authenticatedBy?: string | undefined
  /** When what it showed ceases to hold (`exp` of a token); undefined: never. */
  readonly expiresAtMs: number | undefined
  /** Only the access room looks inside: the rules of a token, the fields of a certificate. */
  readonly grants: object | undefined
}

/** Of a client that the access room says nothing about. `session`: the name of its session. */
export function plainIdentity(session: string, username: string | undefined, peerAddress: string): Identity {
  const { namespace, name: clientId } = splitNamespacedName(session)
  const who = { clientId, username, peerAddress, isSuperuser: false, expiresAtMs: undefined, grants: undefined }
  return namespace === undefined ? who : { ...who, namespace }
}

/** `ask`: nobody knows yet; the core asks with `may-do` and comes back when that is answered. */
export type Permission = 'allow' | 'deny' | 'disconnect' | 'ask'

/**
 * Pure and at once. The same question has the same answer until `epoch` grows, which is told by `permissions-changed`
 * before anything else is. A superuser (`Identity.isSuperuser`) is not asked about, except by `mayStay`.
 */
export interface Permissions {
  /** Grows whenever an answer may be another than before. Never negative. */
  readonly epoch: number
  /** Nobody is denied anything: nothing has to be asked. May change with `epoch`. */
  readonly allowsEverything: boolean
  /** Somebody else is asked, and what they say lapses before `epoch` grows: an answer is good for one packet only. */
  readonly isUncacheable: boolean
  canPublish(who: Identity, topic: Topic, how: { readonly qos: QoS; readonly retain: boolean }): Permission
  /** `filter` is what the client sent, `$share/group/` and `$exclusive/` taken off and its mount point not yet added. */
  canSubscribe(who: Identity, filter: TopicFilter, how: { readonly qos: QoS }): Permission
  /** At delivery, whichever subscription it came by: never asks anybody else. `topic` is without the mount point. */
  canReceive(who: Identity, topic: Topic): boolean
  /**
   * Whether a retained message of this publisher may still be given out: the name of its session, and its username where
   * it is known. Not asked of what
   * a superuser published, or somebody by grants of its own: that right can not be looked up any more.
   */
  canRetain(publisher: { readonly clientId: string; readonly username: string | undefined }, topic: Topic): boolean
  /** Asked of everybody who is connected when `permissions-changed` is said: whoever may not stay is sent away (0x87). */
  canStay(who: Identity): boolean
}

/** Nothing is denied to anybody. */
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
