// Passes events of the core to the log and to other receivers.

import type { AutoSubscriber } from '../runtime/auto-subscriber.ts'
import { type BrokerEvent, type Connection, splitNamespacedName } from '../../core/index.ts'
import type { PendingCommands } from '../runtime/pending-commands.ts'
import { type CounterCell, counterCells, type Counters, type Log, type LogFields } from '../../telemetry/index.ts'
import { type ProtocolVersion, reasonCodes, type ReasonCode } from '../../protocol/index.ts'
import type { ClientEvents } from './client-events.ts'
import { RecentDrops } from './recent-drops.ts'
import { DropLog } from './drop-log.ts'
import { RefusedPacketLog } from './refused-packet-log.ts'
import type { Tracer } from './tracer.ts'
import { TransientAlarm, type TransientAlarmDependencies } from '../runtime/transient-alarm.ts'
import { ClientTimeline } from './client-timeline.ts'

export interface EventLogDependencies {
  readonly log: Log
  readonly counters: Counters
  /** Returns the number of all dropped messages. */
  readonly countDropped: () => number
  /** Returns the number of all refused packets. */
  readonly countRefused: () => number
  readonly clientEvents: ClientEvents
  readonly commands: PendingCommands
  readonly alarms: TransientAlarmDependencies
}

export class EventLog {
  readonly recentDrops = new RecentDrops()
  readonly timelines = new ClientTimeline()
  /** Undefined: there are no traces. */
  tracer: Tracer | undefined = undefined
  readonly #log: Log
  readonly #counters: Counters
  readonly #drops: DropLog
  readonly #refusedPackets: RefusedPacketLog
  readonly #clientEvents: ClientEvents
  readonly #commands: PendingCommands
  readonly #clientIdConflicts: TransientAlarm
  /** Undefined: clients get no automatic subscriptions. */
  autoSubscriber: AutoSubscriber | undefined = undefined

  constructor({ log, counters, countDropped, countRefused, clientEvents, commands, alarms }: EventLogDependencies) {
    this.#clientIdConflicts = new TransientAlarm(alarms, {
      name: 'client-id-conflict',
      endText: 'no client was refused the client ID of another identity for a minute',
    })
    this.#log = log
    this.#counters = counters
    this.#commands = commands
    this.#clientEvents = clientEvents
    this.#drops = new DropLog(log, countDropped)
    this.#refusedPackets = new RefusedPacketLog(log, countRefused)
  }

  /** Whether connections and disconnections of clients are published from now on. */
  setPublishesClientEvents(publishes: boolean): void {
    this.#clientEvents.isEnabled = publishes
  }

  record(event: BrokerEvent, nowMs: number): void {
    const log = this.#log
    this.timelines.record(event, nowMs)
    if (this.tracer !== undefined) this.tracer.recordEvent(event, nowMs)
    switch (event.event) {
      case 'client-id-refused':
        this.#counters.add(counterCells.refusedClientIdConflict, 1)
        return this.#clientIdConflicts.record(describeConflict(event))
      case 'client-connected':
        this.#clientEvents.publish(event, nowMs)
        this.autoSubscriber?.handleConnected(event)
        this.#counters.add(counterCells.clientsConnected, 1)
        return log.info('client connected', {
          ...toNameFields(event.clientId),
          ...toConnectionFields(event.connection),
        })
      case 'client-refused':
        this.#counters.add(selectRefusalCell(event.reason), 1)
        return log.warn('client refused', {
          ...toNameFields(event.clientId),
          username: event.username,
          ...toConnectionFields(event.connection),
          reason: formatReason(event.reason),
          why: event.cause ?? event.text,
        })
      case 'client-disconnected':
        this.#clientEvents.publish(event, nowMs)
        return log.info('client disconnected', {
          ...toNameFields(event.clientId),
          reason: formatReason(event.reason),
          why: event.text,
        })
      case 'session-taken-over':
        return log.info('session taken over', toNameFields(event.clientId))
      case 'queue-records-skipped':
        return log.error('queue read skipped stored messages and was repeated', {
          ...toNameFields(event.clientId),
          fromSequence: event.fromSequence,
        })
      case 'message-dropped':
        this.recentDrops.record(event, nowMs)
        return this.#drops.record(event)
      case 'packet-refused':
        return this.#refusedPackets.record(event)
      case 'session-ended':
      case 'keep-alive-gap':
      case 'subscribed':
      case 'unsubscribed':
        return
      case 'command-done':
        return this.#commands.settle(event.requestId, event.result)
      default:
        event satisfies never
    }
  }
}

const maxNameInAlarm = 128

function quoteName(name: string | undefined): string {
  return name === undefined ? 'no user name' : JSON.stringify(name.slice(0, maxNameInAlarm))
}

function describeConflict({ clientId, owner, identity }: Extract<BrokerEvent, { event: 'client-id-refused' }>): string {
  const { namespace, name } = splitNamespacedName(clientId)
  const where = namespace === undefined ? '' : ` in namespace ${quoteName(namespace)}`
  const refusedClient = `${quoteName(identity.username)} from ${identity.peerAddress}`
  const remedy = 'if the client changed its user name, end its session with `godwit ctl clients kick --session`'
  return `client ID ${quoteName(name)}${where} of ${quoteName(owner.username)} was refused to ${refusedClient}; ${remedy}`
}

function selectRefusalCell(reason: ReasonCode): CounterCell {
  switch (reason) {
    case reasonCodes.badUserNameOrPassword:
      return counterCells.refusedBadCredentials
    case reasonCodes.notAuthorized:
      return counterCells.refusedNotAuthorized
    case reasonCodes.banned:
      return counterCells.refusedBanned
    default:
      return counterCells.refusedOther
  }
}

/** Returns listener, address and version. */
function toConnectionFields({ listener, peerAddress, version }: Connection): LogFields {
  const { gateway } = listener
  const protocol = gateway === undefined ? `MQTT ${versionNames[version]}` : `${gateway.name} ${gateway.version}`
  return { listener: listener.name, address: peerAddress, protocol }
}

const versionNames: Readonly<Record<ProtocolVersion, string>> = { 3: '3.1', 4: '3.1.1', 5: '5.0' }

/** Returns a reason code in the form of the standard: 0x86. */
const formatReason = (reason: ReasonCode): string => `0x${reason.toString(16).padStart(2, '0')}`

/** Returns client ID and namespace of a session. */
function toNameFields(session: string): { readonly clientId: string; readonly namespace?: string } {
  const { namespace, name: clientId } = splitNamespacedName(session)
  return namespace === undefined ? { clientId } : { clientId, namespace }
}
