// Names in place of a client ID, for records that outlive a session and must not be mixed with the next session of the same
// client: its queue (`shared/expired-session-redelivery.ts`), a pending will (`publish/stored-wills.ts`), a delayed message
// (`publish/delay-message.ts`).
//
//   ␀l3k9.7 plant␀c1     the seventh name of the broker start l3k9, for client c1 of namespace plant

import { assert } from '../../protocol/index.ts'
import { toNamespacedName, splitNamespacedName } from './namespaced-names.ts'

/** A client cannot send this character [MQTT-1.5.3-2] [MQTT5-1.5.4-2]. Names of namespaces do not start with it. */
const mark = '\0'

/** Follows the serial number of a delayed message. It does not occur in identifiers and numbers. */
const delayedMark = '+'

/** A shard since one start of the broker. */
export interface InternalNameSource {
  /** Returns a name that was never used before, on any shard. */
  nextName(): string
  /** Returns whether this shard owns the records under this name. */
  isOwn(name: string): boolean
}

/** Returns a name that was never used before, also before restarts. This shard owns it, because it owns the session of the client. */
export function reserveInternalName(source: InternalNameSource, clientId: string): string {
  assert(source.isOwn(clientId), 'another shard owns the records of the client')
  return `${mark}${source.nextName()} ${clientId}`
}

/**
 * Does the same for a delayed message. Rules and the API have no session, so their shard may not own the records under the name of the
 * publisher: then a name of the same namespace that this shard owns takes its place. The record of the message has the publisher.
 */
export function reserveDelayedName(source: InternalNameSource, publisher: string): string {
  if (source.isOwn(publisher)) return `${mark}${source.nextName()}${delayedMark} ${publisher}`
  const { namespace } = splitNamespacedName(publisher)
  let name
  do {
    const serial = source.nextName()
    name = `${mark}${serial}${delayedMark} ${toNamespacedName(namespace, serial)}`
  } while (!source.isOwn(name))
  return name
}

export function isDelayedName(name: string): boolean {
  return isInternalName(name) && name[name.indexOf(' ') - 1] === delayedMark
}

/**
 * Returns a name in place of the publisher's client ID, under which delayed messages are ordered. No client can have
 * it.
 */
export function toDelayedPublisher(clientId: string): string {
  return `${mark}${delayedMark} ${clientId}`
}

/** Returns the name of a delayed message among shards. Unlike the name of a session, it contains no space. */
export function toDelayedPeerName(name: string): string {
  return name.slice(0, name.indexOf(' '))
}

/** Returns the ID of a delayed message in the API. */
export function parseDelayedId(name: string): string {
  return name.slice(mark.length, name.indexOf(delayedMark))
}

/** Returns whether this is an internal name, not a client ID. */
export function isInternalName(name: string): boolean {
  return name.startsWith(mark)
}

/** Returns the client ID for which a name was reserved, or the name itself if it is a client ID. */
export function toClientId(name: string): string {
  return isInternalName(name) ? name.slice(name.indexOf(' ') + 1) : name
}
