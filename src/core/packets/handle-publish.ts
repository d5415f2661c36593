// PUBLISH from a client: a sequence of steps. A step returns false if the packet is handled: refused, or waiting for a second time. After the last
// step the message is delivered.

import type { PublishPacket } from '../../protocol/index.ts'
import type { Connection } from '../model/connection.ts'
import { changeMessage } from '../publish/change-message.ts'
import { createMessageFromPublish, recordPublisherRights, removeFrame, type Message } from '../messages/message.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Parts } from '../state/parts.ts'
import type { Open } from '../state/connection-state.ts'
import { acceptPublish } from './accept-publish.ts'
import { authorizeAttempt, recordDecision } from './authorize-attempt.ts'
import { holdForActions, holdForPeers, holdForQueues } from './hold-publish.ts'
import { holdForHooks } from './hold-for-hooks.ts'
import { isWithinLimits } from './limit-publish.ts'
import { PublishAttempt } from '../state/publish-attempt.ts'
import { resolveDelay, resolveTopic } from './resolve-topic.ts'
import { mountTopic, rewriteTopic } from './rewrite-topic.ts'

export function handlePublish(state: BrokerState, connection: Connection, open: Open, packet: PublishPacket): void {
  state.counts.publishesReceived++
  open.session.counts.received++
  const named = resolveTopic(state, connection, open, packet)
  if (named === undefined) return
  const attempt = (state.attempt ??= new PublishAttempt(connection, open, packet, named))
  attempt.begin(connection, open, packet, named)
  attempt.isDelayed = named.isDelayed && state.settings.delaysMessages
  runSteps(state, attempt)
}

function runSteps(state: BrokerState, attempt: PublishAttempt): void {
  if (attempt.isDelayed && !resolveDelay(state, attempt)) return
  if (!isWithinLimits(state, attempt)) return
  if (!state.access.permissions.allowsEverything && !authorizeAttempt(state, attempt)) return
  if (state.rules.triggers.wanted.authorization) recordDecision(state, attempt, !attempt.isDenied)
  if (state.settings.topicRewrites !== undefined) rewriteTopic(state, attempt)
  if ((state.hooks.publish.isActive || attempt.open.hooking !== undefined) && holdForHooks(state, attempt)) return
  runLastSteps(state, attempt)
}

/** The steps after the hooks of plugins. */
export function runLastSteps(state: BrokerState, attempt: PublishAttempt): void {
  const { connection, packet } = attempt
  if (!connection.hasPlainPublishes && !mountTopic(state, attempt)) return
  if (state.peers.hasAny && holdForPeers(state, attempt)) return
  if (packet.qos > 0 && state.sessions.full.size > 0 && holdForActions(state, attempt)) return
  const message = createMessage(state, attempt)
  if (packet.qos > 0 && holdForQueues(state, attempt, message)) return
  acceptPublish(state, attempt, message)
}

export function createMessage(state: Parts<'nowMs'>, attempt: PublishAttempt): Message {
  const { connection, open, packet, named, target, isDelayed, change } = attempt
  const { session } = open
  const message = createMessageFromPublish(packet, target, {
    publisher: session.clientId,
    version: connection.version,
    nowMs: state.nowMs,
  })
  // The frame contains the client's topic, so it cannot be forwarded.
  if (target !== named) removeFrame(message)
  // The publisher's rights are recorded only for delayed and retained messages, which are checked again later.
  if (packet.retain || isDelayed || change?.retain === true)
    recordPublisherRights(message, session.identity, connection.mountpoint)
  return change === undefined ? message : changeMessage(message, target, change)
}
