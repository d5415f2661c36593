// Stored state of MQTT-SN clients with persistent sessions, across restarts of the broker:
//
//   <client id> NUL t <id>   topic name of a topic ID
//   <client id> NUL s        exists while the client sleeps: CONNECT, deadline, will, address
//   <client id> NUL q <n>    a QoS 0 message that waits while the client sleeps

import type { GatewayDependencies } from '../../gateway.ts'
import type { StoredPeer } from '../../peer-identity.ts'
import { type StoredMessage, StoredMessages } from './stored-messages.ts'
import type { SnFlags, SnRequest } from '../codec/sn-packets.ts'
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

export interface StoredSleep {
  readonly connect: SnRequest & { type: 'connect' }
  /** Time at which the client is lost without another packet. null: never. */
  readonly lostAtMs: number | null
  readonly will: StoredWill | undefined
  readonly peer: StoredPeer
  /** Node ID of a client behind a forwarder, in hexadecimal. */
  readonly node: string | undefined
}

type ValueStore = Pick<GatewayDependencies, 'storeValue' | 'runWhenDurable'>

export function storeSleep({ storeValue }: ValueStore, clientId: string, sleep: StoredSleep | undefined): void {
  storeValue(`${clientId}${separator}${sleepMark}`, sleep === undefined ? undefined : JSON.stringify(sleep))
}

export function createMessageStore({ storeValue }: ValueStore, clientId: string): StoredMessages {
  return new StoredMessages((number, message) =>
    storeValue(
      `${clientId}${separator}${messageMark}${number}`,
      message === undefined ? undefined : JSON.stringify(message),
    ),
  )
}

export function createTopicIdStore(dependencies: ValueStore, clientId: string): TopicIdStore {
  return {
    add: (id, name) => dependencies.storeValue(`${clientId}${separator}${topicMark}${id}`, name),
    runWhenDurable: (done) => dependencies.runWhenDurable(done),
  }
}

export function deleteTopicIds({ storeValue }: ValueStore, clientId: string, { ids }: TopicIds): void {
  for (const id of ids) storeValue(`${clientId}${separator}${topicMark}${id}`, undefined)
}

export interface StoredSessions {
  readonly topicIds: ReadonlyMap<string, TopicIds>
  readonly sleeping: readonly StoredSleep[]
  /** By client ID and number, oldest first. */
  readonly messages: ReadonlyMap<string, ReadonlyMap<number, StoredMessage>>
}

export function readStoredSessions(values: ReadonlyMap<string, string>, predefined: PredefinedTopics): StoredSessions {
  const topicIds = new Map<string, TopicIds>()
  const sleeping: StoredSleep[] = []
  const messages = new Map<string, [number, StoredMessage][]>()
  for (const [name, value] of values) {
    const at = name.lastIndexOf(separator)
    const clientId = name.slice(0, at)
    const mark = name.slice(at + 1)
    if (mark === sleepMark) sleeping.push(JSON.parse(value) as StoredSleep)
    else if (mark.startsWith(messageMark)) {
      const list = messages.get(clientId) ?? []
      messages.set(clientId, list)
      list.push([Number(mark.slice(messageMark.length)), JSON.parse(value) as StoredMessage])
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
