// Stored state of MQTT-SN clients with persistent sessions, across restarts of the broker:
//
//   <client id> NUL t <id>   the name of a topic id
//   <client id> NUL s        it sleeps: until when, its address, and its will
//   <client id> NUL q <n>    a message of QoS 0 that waits while it sleeps

import type { GatewayDependencies, PeerAddress } from '../gateway.ts'
import { type KeptMessage, KeptMessages } from './stored-messages.ts'
import type { SnFlags, SnRequest } from './codec/packets.ts'
import type { PredefinedTopics, TopicIdStore } from './topic-ids.ts'
import { TopicIds } from './topic-ids.ts'

const separator = '\0'
const sleepMark = 's'
const topicMark = 't'
const messageMark = 'q'

export interface StoredWill {
  readonly topic: string
  readonly flags: SnFlags
  /** base64 */
  readonly message: string
}

export interface KeptSleep {
  readonly connect: SnRequest & { type: 'connect' }
  /** null: no limit. */
  readonly lostAtMs: number | null
  readonly will: StoredWill | undefined
  readonly peer: PeerAddress
  /** Node ID of a client behind a forwarder, in hexadecimal. */
  readonly node: string | undefined
}

type Keeping = Pick<GatewayDependencies, 'keep' | 'whenKept'>

export function keepSleep({ keep }: Keeping, clientId: string, sleep: KeptSleep | undefined): void {
  keep(`${clientId}${separator}${sleepMark}`, sleep === undefined ? undefined : JSON.stringify(sleep))
}

export function messageStore({ keep }: Keeping, clientId: string): KeptMessages {
  return new KeptMessages((number, message) =>
    keep(`${clientId}${separator}${messageMark}${number}`, message === undefined ? undefined : JSON.stringify(message)),
  )
}

export function topicIdStore(dependencies: Keeping, clientId: string): TopicIdStore {
  return {
    keep: (id, name) => dependencies.keep(`${clientId}${separator}${topicMark}${id}`, name),
    whenKept: (done) => dependencies.whenKept(done),
  }
}

export function forgetTopicIds({ keep }: Keeping, clientId: string, { ids }: TopicIds): void {
  for (const id of ids) keep(`${clientId}${separator}${topicMark}${id}`, undefined)
}

export interface KeptSessions {
  readonly topicIds: ReadonlyMap<string, TopicIds>
  readonly sleeping: readonly KeptSleep[]
  /** By client ID and number, oldest first. */
  readonly messages: ReadonlyMap<string, ReadonlyMap<number, KeptMessage>>
}

export function readKeptSessions(kept: ReadonlyMap<string, string>, predefined: PredefinedTopics): KeptSessions {
  const topicIds = new Map<string, TopicIds>()
  const sleeping: KeptSleep[] = []
  const messages = new Map<string, [number, KeptMessage][]>()
  for (const [name, value] of kept) {
    const at = name.lastIndexOf(separator)
    const clientId = name.slice(0, at)
    const mark = name.slice(at + 1)
    if (mark === sleepMark) sleeping.push(JSON.parse(value) as KeptSleep)
    else if (mark.startsWith(messageMark)) {
      const list = messages.get(clientId) ?? []
      messages.set(clientId, list)
      list.push([Number(mark.slice(messageMark.length)), JSON.parse(value) as KeptMessage])
    } else if (mark.startsWith(topicMark)) {
      const ids = topicIds.get(clientId) ?? new TopicIds(predefined)
      topicIds.set(clientId, ids)
      ids.restore(Number(mark.slice(topicMark.length)), value)
    }
  }
  const inOrder = [...messages].map(
    ([clientId, list]) => [clientId, new Map(list.toSorted(([one], [other]) => one - other))] as const,
  )
  return { topicIds, sleeping, messages: new Map(inOrder) }
}
