// Names in place of a client id, for what outlives its session on disk and must not meet the next session of the same client:
// its queue (`shared/expired-session-redelivery.ts`), a will that is owed (`sessions/stored-wills.ts`), a delayed message
// (`publish/delay-message.ts`).
//
//   ␀l3k9.7 plant␀c1     of this broker's life l3k9 the seventh, and of client c1 of namespace plant

/** No client can say this character [MQTT-1.5.3-2] [MQTT5-1.5.4-2], and a namespace has something in front of it. */
const mark = '\0'

/** Behind the serial number of a delayed message. It is none of the characters of identities and numbers. */
const delayedMark = '+'

/** A shard in one life of the broker. */
export interface InternalNameSource {
  readonly identity: string
  nextSerial(): number
  /** What is kept under this name is this shard's. */
  isOwn(name: string): boolean
}

/** Of this shard, and like no other in all lives of the broker. */
export function reserveInternalName(giver: InternalNameSource, clientId: string): string {
  let name
  do name = `${mark}${giver.identity}.${giver.nextSerial().toString(36)} ${clientId}`
  while (!giver.isOwn(name))
  return name
}

/** The same, for a delayed message. */
export function reserveDelayedName(giver: InternalNameSource, clientId: string): string {
  let name
  do name = `${mark}${giver.identity}.${giver.nextSerial().toString(36)}${delayedMark} ${clientId}`
  while (!giver.isOwn(name))
  return name
}

export function isDelayedName(name: string): boolean {
  return isInternalName(name) && name[name.indexOf(' ') - 1] === delayedMark
}

/** In place of the client ID of its publisher where delayed messages wait for each other. No client has it. */
export function delayedPublisher(clientId: string): string {
  return `${mark}${delayedMark} ${clientId}`
}

/** What the API calls a delayed message by. */
export function delayedIdIn(name: string): string {
  return name.slice(mark.length, name.indexOf(delayedMark))
}

/** Such a name, and no client id. */
export function isInternalName(name: string): boolean {
  return name.startsWith(mark)
}

/** The client id that a name was reserved for, or what is one itself. */
export function clientIdIn(name: string): string {
  return isInternalName(name) ? name.slice(name.indexOf(' ') + 1) : name
}
