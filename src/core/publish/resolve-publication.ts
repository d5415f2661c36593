// The topic of a publication, from the client's to the one inside the broker. Everything that enters takes these steps in this order,
// and access rules see the topic after `$delayed/n/`:
//
//   PUBLISH, will     $delayed/5/lamp ──undelay──► lamp ──rewrite──► lights/lamp ──mount──► $ns/plant/lights/lamp
//                                                  clientTopic                                    target
//
// The topic is checked for reserved ones at the end (`isReservedTopic`), and after the rewrite (`isValidRewriteResult`). PUBLISH takes the steps one by
// one (`packets/handle-publish.ts`), because it is on the path of every message.

import { parseTopicName, type Topic } from '../../protocol/index.ts'
import type { Identity } from '../messages/identity.ts'
import { rewriteTopic } from '../model/topic-rewrites.ts'
import { isReservedInside } from '../messages/reserved-roots.ts'
import { addMountpoint } from '../namespaces/mountpoint.ts'
import type { Parts } from '../state/parts.ts'
import { type Delay, readDelay } from './delay-message.ts'

/** The client as rewrite rules and mount points see it. */
export interface PublishingClient {
  /** Without its namespace. */
  readonly clientId: string
  readonly username: string | undefined
  /** With the prefix of its namespace. */
  readonly mountpoint: string
  /** Topics of internal clients are not rewritten. */
  readonly isInternal: boolean
}

export interface ResolvedTopic {
  /** What access rules see. */
  readonly clientTopic: Topic
  /** The topic inside the broker. */
  readonly target: Topic
  /** Undefined: the message is published at once. */
  readonly delay: Delay | undefined
}

export type TopicProblem = 'invalid-delay' | 'reserved' | 'too-long'

type ResolveParts = Parts<'matchRegex' | 'nowMs' | 'settings' | 'topics'>

/** Resolves the topic as the client sent it. */
export function resolvePublication(
  state: ResolveParts,
  topic: Topic,
  client: PublishingClient,
): ResolvedTopic | TopicProblem {
  const isDelayed = topic.isDelayed && state.settings.delaysMessages
  const delay = isDelayed ? readDelay(topic.name, state.nowMs) : undefined
  if (isDelayed && delay === undefined) return 'invalid-delay'
  const clientTopic = delay === undefined ? topic : state.topics.internName(delay.topic)
  const renamed = client.isInternal ? clientTopic : rewritePublication(state, clientTopic, client)
  if (renamed === undefined || (client.mountpoint !== '' && isReservedInside(renamed.name))) return 'reserved'
  const target = client.mountpoint === '' ? renamed : addMountpoint(state.topics, client.mountpoint, renamed)
  return target === undefined ? 'too-long' : { clientTopic, target, delay }
}

/** Returns the topic that rewrite rules make of it. Undefined: it is not one that a client may publish to. */
export function rewritePublication(
  { settings: { topicRewrites: rules }, matchRegex, topics }: Parts<'matchRegex' | 'settings' | 'topics'>,
  topic: Topic,
  client: Pick<PublishingClient, 'clientId' | 'username'>,
): Topic | undefined {
  if (rules === undefined) return topic
  const name = rewriteTopic({ rules, matchRegex }, topic.name, client)
  if (name === undefined || name === topic.name) return name === undefined ? undefined : topic
  return topics.internName(name)
}

/**
 * Returns whether the topic of a delayed message is rewritten when it is published. It is, if its rights are checked again then: access
 * rules see the topic before the rewrite.
 */
export function isRewrittenWhenDue({ isSuperuser, grants }: Identity): boolean {
  return !isSuperuser && grants === undefined
}

/**
 * Returns the topic under which a will is stored: `$delayed/n/` comes before the mount point. So it is delayed, and its access is checked
 * again when it is published.
 */
export function resolveStoredWillTopic(state: ResolveParts, topic: Topic, mountpoint: string): Topic | undefined {
  if (mountpoint === '') return topic
  const isDelayed = topic.isDelayed && state.settings.delaysMessages
  const delay = isDelayed ? readDelay(topic.name, state.nowMs) : undefined
  if (delay === undefined) return addMountpoint(state.topics, mountpoint, topic)
  const start = topic.name.length - delay.topic.length
  const name = parseTopicName(`${topic.name.slice(0, start)}${mountpoint}${delay.topic}`)
  return name === undefined ? undefined : state.topics.internName(name)
}
