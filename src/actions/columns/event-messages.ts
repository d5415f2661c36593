// event_message: publishes JSON to `$event/...` for events of clients and deliveries, with the member names of EMQX.

import type { DisconnectTrigger, RuleActions, RuleTrigger, RuleTriggerKind } from '../../core/index.ts'
import { toJsonText, type RuleEvent } from '../../rules/index.ts'
import { RuleError, type RuleMap, type RuleValue } from '../../values/index.ts'
import type { EventMessageName } from '../plan/rule-plan.ts'
import { findProtocolName, findProtocolVersion } from './trigger-columns.ts'

type MakePayload = (column: (name: string) => RuleValue, trigger: RuleTrigger) => RuleMap

interface EventMessage {
  readonly kind: RuleTriggerKind
  readonly payload: MakePayload
}

const toClientMembers = (column: (name: string) => RuleValue): RuleMap => ({
  clientid: column('clientid'),
  username: column('username'),
  ipaddress: parseHost(column('peername')),
  sockport: parsePort(column('sockname')),
  proto_name: column('proto_name'),
  proto_ver: column('proto_ver'),
  connected_at: column('connected_at'),
  ts: column('timestamp'),
})

const toSubscriptionMembers = (column: (name: string) => RuleValue): RuleMap => ({
  clientid: column('clientid'),
  username: column('username'),
  topic: column('topic'),
  ts: column('timestamp'),
})

const toMessageMembers = (column: (name: string) => RuleValue): RuleMap => ({
  id: column('id'),
  payload: column('payload'),
  topic: column('topic'),
  qos: column('qos'),
  flags: column('flags'),
  headers: column('headers'),
  pub_props: column('pub_props'),
  publish_received_at: column('publish_received_at'),
  clientid: column('clientid'),
  username: column('username'),
  peerhost: column('peerhost'),
})

const toDeliveryMembers = (column: (name: string) => RuleValue): RuleMap => ({
  ...toMessageMembers(column),
  from_clientid: column('from_clientid'),
  from_username: column('from_username'),
})

const eventMessages: Readonly<Record<EventMessageName, EventMessage>> = {
  client_connected: {
    kind: 'client-connected',
    payload: (column) => ({
      ...toClientMembers(column),
      keepalive: column('keepalive'),
      clean_start: column('clean_start'),
      expiry_interval: column('expiry_interval'),
    }),
  },
  client_disconnected: {
    kind: 'client-disconnected',
    payload: (column, trigger) => ({
      ...toClientMembers(column),
      ...(trigger.kind === 'client-disconnected' && toConnectionMembers(trigger)),
      reason: column('reason'),
      disconnected_at: column('disconnected_at'),
    }),
  },
  client_subscribed: {
    kind: 'session-subscribed',
    payload: (column) => ({ ...toSubscriptionMembers(column), subopts: { qos: column('qos') } }),
  },
  client_unsubscribed: { kind: 'session-unsubscribed', payload: toSubscriptionMembers },
  message_delivered: { kind: 'message-delivered', payload: toDeliveryMembers },
  message_acked: { kind: 'message-acked', payload: toDeliveryMembers },
  message_dropped: {
    kind: 'message-dropped',
    payload: (column) => ({ ...toMessageMembers(column), reason: column('reason') }),
  },
}

/** Members for which rules have no columns. */
function toConnectionMembers({ connection, connectedAtMs }: DisconnectTrigger): RuleMap {
  return {
    proto_name: findProtocolName(connection),
    proto_ver: findProtocolVersion(connection),
    connected_at: connectedAtMs === undefined ? undefined : Math.floor(connectedAtMs),
  }
}

export class EventMessages {
  readonly #messages: ReadonlyMap<RuleTriggerKind, { readonly topic: string; readonly payload: MakePayload }>

  constructor(names: readonly EventMessageName[]) {
    this.#messages = new Map(
      names.map((name) => [
        eventMessages[name].kind,
        { topic: `$event/${name}`, payload: eventMessages[name].payload },
      ]),
    )
  }

  get kinds(): Iterable<RuleTriggerKind> {
    return this.#messages.keys()
  }

  /** Publishes at QoS 0. A message that cannot be published is dropped, as for a slow subscriber. */
  publish(trigger: RuleTrigger, event: RuleEvent, actions: RuleActions): void {
    const message = this.#messages.get(trigger.kind)
    if (message === undefined) return
    const json = tryFormatJson(message.payload((name) => event.readColumn(name), trigger))
    if (json === undefined) return
    const payload = Buffer.from(json)
    actions.publish({ topic: message.topic, payload, qos: 0, retain: false, properties: undefined, isEvent: true })
  }
}

/** Undefined if it exceeds the text limit of rules. */
function tryFormatJson(payload: RuleMap): string | undefined {
  try {
    return toJsonText(payload)
  } catch (error) {
    if (error instanceof RuleError) return undefined
    throw error
  }
}

function parseHost(address: RuleValue): string | undefined {
  return typeof address === 'string' ? address.slice(0, address.lastIndexOf(':')) : undefined
}

function parsePort(address: RuleValue): number | undefined {
  return typeof address === 'string' ? Number(address.slice(address.lastIndexOf(':') + 1)) : undefined
}
