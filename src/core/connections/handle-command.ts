// What the operator asks for, through the same doors as what clients do.

import { parseTopicName, reasonCodes } from '../../protocol/index.ts'
import type { BrokerState } from '../broker-state.ts'
import { isOfBroker } from '../delivery/retained-messages.ts'
import { startRetained } from '../delivery/retained-scans.ts'
import { spread } from '../delivery/spread.ts'
import type { Command } from '../inputs.ts'
import { Message, never } from '../message.ts'
import type { CommandResult } from '../outputs.ts'
import { endConnection } from './close-connection.ts'
import { subscribe, unsubscribe } from './handle-subscribe.ts'

export function handleCommand(state: BrokerState, command: Command): CommandResult {
  switch (command.name) {
    case 'publish':
      return publishFromOperator(state, command)
    case 'kick':
      return kick(state, command.clientId)
    case 'subscribe': {
      const session = state.sessions.get(command.clientId)
      if (session === undefined) return { done: false, why: 'no-such-client' }
      const { qos } = command
      const options = {
        qos,
        noLocal: false,
        retainAsPublished: false,
        retainHandling: 0,
        identifier: undefined,
      } as const
      const added = subscribe(state, session, command.filter, options)
      startRetained(state, session, command.filter, added)
      return { done: true, matched: 1 }
    }
    case 'unsubscribe': {
      const session = state.sessions.get(command.clientId)
      if (session === undefined) return { done: false, why: 'no-such-client' }
      return { done: true, matched: unsubscribe(state, session, command.filter) ? 1 : 0 }
    }
    default:
      return command satisfies never
  }
}

function publishFromOperator(state: BrokerState, command: Extract<Command, { name: 'publish' }>): CommandResult {
  const name = parseTopicName(command.topic)
  if (name === undefined) return { done: false, why: 'invalid-topic' }
  if (!state.storageIsHealthy && !isOfBroker(name)) return { done: false, why: 'storage-failing' }
  const expiry = command.properties?.messageExpiryIntervalSeconds
  const message = new Message(state.topics.named(name), {
    qos: command.qos,
    retain: command.retain,
    properties: command.properties,
    publisher: command.clientId,
    publishedAtMs: state.nowMs,
    expiresAtMs: expiry === undefined ? never : state.nowMs + expiry * 1_000,
    chunk: command.payload,
    payloadStart: 0,
    payloadEnd: command.payload.length,
  })
  message.isOwned = true
  const matched = spread(state, message, undefined, 0)
  state.neighbours?.takeVow()?.mark()
  return { done: true, matched }
}

function kick(state: BrokerState, clientId: string): CommandResult {
  const connection = state.sessions.get(clientId)?.connection
  if (connection === undefined) return { done: false, why: 'no-such-client' }
  endConnection(state, connection, {
    reason: reasonCodes.administrativeAction,
    text: 'disconnected by the operator',
    publishWill: true,
  })
  return { done: true, matched: 1 }
}
