// Opens the listeners of a shard, each with the function for its kind, and reports their events to log, counters and alarms.

import assert from 'node:assert/strict'
import type { WebSocketConfig } from '../../config/index.ts'
import { createAssertionError } from '../../protocol/index.ts'
import { type AlarmName, ListenerCounters, type Log } from '../../telemetry/index.ts'
import {
  type ByteStream,
  type ReconfigurableListener,
  ConnectionLimit,
  ConnectionRate,
  type ConnectionRefusal,
  listenQuic,
  listenTcp,
  listenTls,
  listenWebSocket,
  QuicFiles,
  type QuicListenOptions,
  type TcpListenOptions,
  TlsUpgrade,
  type TlsProblem,
} from '../../transports/index.ts'
import type { ShardListener } from '../messages/messages.ts'
import { TransientAlarm } from '../runtime/transient-alarm.ts'
import { RefusalLog } from '../observe/refusal-log.ts'

export interface ListenerDependencies {
  /** The number of the shard. */
  readonly own: number
  /** Limit of open connections of all listeners of the shard together. */
  readonly budget: ConnectionLimit
  /** Limit of new connections of all listeners of the shard together. */
  readonly rate: ConnectionRate
  readonly log: Log
  accept(stream: ByteStream, listener: ShardListener): void
  /** Counts a refused connection. */
  countRefused(): void
  /** See `TlsUpgradeOptions`. */
  findStoredKey(identity: string, listener: ShardListener): Uint8Array | undefined
  raiseAlarm(name: AlarmName, message: string): void
  endAlarm(name: AlarmName, message: string): void
}

/** An open listener of this shard. */
export interface OpenListener {
  readonly host: string
  readonly port: number
  /** Accepts no more connections, and closes connections that are still in a handshake. Open connections remain. */
  close(): Promise<void>
  /** Resolves when the address can be used again. For QUIC, this is when the last client has disconnected. */
  waitUntilReleased(): Promise<void>
  /** Reads the certificate files again, if there are any. */
  reload(): Promise<void>
  /** Prepares the settings of `listener`. Throws an error text if they are invalid. Not for QUIC. */
  prepare(listener: ShardListener): PreparedChange
}

/** A prepared change of a listener. One of the two functions must be called. */
export interface PreparedChange {
  apply(): void
  discard(): void
}

/** Opens listeners. All of them share the limits, the log of refusals and the alarms of the shard. */
export class ListenerFactory {
  readonly #dependencies: ListenerDependencies
  readonly #refusals: RefusalLog
  readonly #full: TransientAlarm
  readonly #failing: TransientAlarm

  constructor(dependencies: ListenerDependencies) {
    this.#dependencies = dependencies
    this.#refusals = new RefusalLog(dependencies.log)
    this.#full = new TransientAlarm(dependencies, {
      name: 'connections',
      endText: 'connections are no longer refused',
    })
    this.#failing = new TransientAlarm(dependencies, { name: 'listener', endText: 'connections can be accepted again' })
  }

  /** Rejects with an error text for administrators, or with the system's error. */
  async open(listener: ShardListener): Promise<OpenListener> {
    const opened = await this.#openByKind(listener)
    return listener.tls === undefined ? opened : this.#wrapWithAlarmEnd(listener, opened)
  }

  #openByKind(listener: ShardListener): Promise<OpenListener> {
    const { kind } = listener
    switch (kind) {
      case 'tcp':
        return openReconfigurable(listener, {
          open: listenTcp,
          createOptions: (now) => this.#createListenOptions(now),
          findUpgrade: findNoUpgrade,
        })
      case 'ssl':
        return openReconfigurable(listener, {
          open: listenTls,
          createOptions: (now) => ({ ...this.#createListenOptions(now), upgrade: this.#openUpgrade(now) }),
          findUpgrade: ({ upgrade }) => upgrade,
        })
      case 'ws':
        return openReconfigurable(listener, {
          open: listenWebSocket,
          createOptions: (now) => ({ ...this.#createListenOptions(now), ...requireWebSocketSettings(now) }),
          findUpgrade: findNoUpgrade,
        })
      case 'wss':
        return openReconfigurable(listener, {
          open: listenWebSocket,
          createOptions: (now) => ({
            ...this.#createListenOptions(now),
            ...requireWebSocketSettings(now),
            tls: this.#openUpgrade(now),
          }),
          findUpgrade: ({ tls }) => tls,
        })
      case 'quic':
        return this.#openOverQuic(listener)
      case 'udp':
      case 'dtls':
        throw createAssertionError('a socket of a gateway is opened by its gateway')
      default:
        return kind satisfies never
    }
  }

  #createListenOptions(listener: ShardListener): TcpListenOptions {
    const { kind, name, host, port, maxConnectionRate, accessRules, proxyProtocol, counts } = listener
    const dependencies = this.#dependencies
    const rates = [
      ...(maxConnectionRate === undefined ? [] : [new ConnectionRate(maxConnectionRate)]),
      dependencies.rate,
    ]
    const counters = counts === undefined ? undefined : new ListenerCounters(counts, dependencies.own)
    return {
      host,
      port,
      reusePort: listener.sharesPort,
      limits: createConnectionLimit(listener, dependencies),
      rates,
      accessRules,
      proxyProtocol,
      onStream: (stream) => {
        counters?.recordAccepted()
        dependencies.accept(stream, listener)
      },
      onRefused: (reason, why) => {
        counters?.recordRefused()
        this.#reportRefused(listener, reason, why)
      },
      onFault: (error) =>
        this.#failing.record(`listener ${kind} ${name} could not accept a connection: ${error.message}`),
    }
  }

  #reportRefused({ kind, name }: ShardListener, reason: ConnectionRefusal, why: string | undefined): void {
    this.#dependencies.countRefused()
    this.#refusals.record({ listener: `${kind}:${name}`, reason, why })
    if (reason === 'broker-full') this.#full.record(this.#limitReached)
  }

  get #limitReached(): string {
    const { effectiveLimit, isOutOfDescriptors } = this.#dependencies.budget
    if (isOutOfDescriptors)
      return 'nearly as many files are open as the process may open, so new connections are refused; raise the open-file limit'
    return `all ${effectiveLimit} connections are in use and new ones are refused; raise limits.max_connections or the open-file limit`
  }

  #openUpgrade(listener: ShardListener): TlsUpgrade {
    const { tls, ticketSecret, name } = listener
    if (tls === undefined || ticketSecret === undefined)
      throw new Error(`${formatListener(listener)}: it has no TLS settings`)
    const opening = TlsUpgrade.open({
      settings: tls,
      name,
      ticketSecret,
      onProblem: (problem) => {
        // Every shard reads the same files: one of them reports the problem.
        if (this.#dependencies.own === 0) this.#reportFiles(listener, problem)
      },
      findStoredKey: (identity) => this.#dependencies.findStoredKey(identity, listener),
      onRefused: ({ address }, why) => this.#reportRefused(listener, 'invalid-handshake', `${address}: ${why}`),
    })
    // The main thread has just checked the same files, and would have reported the name of the setting.
    if ('problem' in opening) throw new Error(`${formatListener(listener)}: ${opening.problem.message}`)
    return opening.upgrade
  }

  async #openOverQuic(listener: ShardListener): Promise<OpenListener> {
    const { tls, quic } = listener
    if (quic === undefined || tls === undefined)
      throw createAssertionError(`${formatListener(listener)} has no QUIC settings`)
    const opening = QuicFiles.open({ settings: tls, onProblem: (problem) => this.#reportFiles(listener, problem) })
    // The main thread has just checked the same files, and reported them by the name of the setting.
    if ('problem' in opening) throw new Error(`${formatListener(listener)}: ${opening.problem.message}`)
    const { files } = opening
    try {
      return await openOverQuic(
        { ...this.#createListenOptions(listener), ...quic, credentials: files.credentials },
        files,
      )
    } catch (error) {
      files.close()
      throw error
    }
  }

  #reportFiles(listener: ShardListener, problem: TlsProblem | undefined): void {
    const files = `${formatListener(listener)}: the certificate files`
    const alarm = toFilesAlarmName(listener)
    if (problem === undefined) this.#dependencies.endAlarm(alarm, `${files} are valid again and in use`)
    else if (problem.isInUse) this.#dependencies.raiseAlarm(alarm, `${formatListener(listener)}: ${problem.message}`)
    else
      this.#dependencies.raiseAlarm(alarm, `${files} are invalid: ${problem.message}; the previous files stay in use`)
  }

  /**
   * A listener that raised an alarm about files ends the alarm when it is closed, or when a change uses valid files.
   */
  #wrapWithAlarmEnd(listener: ShardListener, opened: OpenListener): OpenListener {
    const endAlarm = (why: string): void =>
      this.#dependencies.endAlarm(toFilesAlarmName(listener), `${formatListener(listener)} ${why}`)
    return {
      ...opened,
      close(): Promise<void> {
        endAlarm('is closed')
        return opened.close()
      },
      prepare(changed): PreparedChange {
        const prepared = opened.prepare(changed)
        const apply = (): void => {
          prepared.apply()
          endAlarm('has new settings, and its files are in use')
        }
        return { apply, discard: () => prepared.discard() }
      },
    }
  }
}

/** Each listener has its own alarm, because their files differ. */
function toFilesAlarmName({ kind, name }: ShardListener): AlarmName {
  return `certificates:${kind}:${name}`
}

type Receiving = Pick<TcpListenOptions, 'onStream'>

/** How listeners of one kind are opened and changed. */
interface Kind<Options> {
  open(options: Options): Promise<ReconfigurableListener<Options>>
  createOptions(listener: ShardListener): Options
  /** Returns the TLS upgrade of the options, which must be closed if they are not used. */
  findUpgrade(options: Options): TlsUpgrade | undefined
}

const findNoUpgrade = (): undefined => undefined

/** State of a listener. When it is closed, some of its connections may still be in a handshake. */
interface ListenerState {
  isClosed: boolean
}

/** Returns options with which a connection is refused if the listener closes during its PROXY header, handshake or upgrade. */
function refuseAfterClose<Options extends Receiving>(options: Options, state: ListenerState): Options {
  const onStream = (stream: ByteStream): void => {
    if (state.isClosed) stream.destroy()
    else options.onStream(stream)
  }
  return { ...options, onStream }
}

async function openReconfigurable<Options extends Receiving>(
  listener: ShardListener,
  kind: Kind<Options>,
): Promise<OpenListener> {
  const state: ListenerState = { isClosed: false }
  const options = refuseAfterClose(kind.createOptions(listener), state)
  try {
    const opened = await kind.open(options)
    return {
      host: opened.host,
      port: opened.port,
      close(): Promise<void> {
        state.isClosed = true
        return opened.close()
      },
      waitUntilReleased: async () => {},
      reload: async () => opened.reload?.(),
      prepare: (changed) => {
        const next = refuseAfterClose(kind.createOptions(changed), state)
        return { apply: () => opened.change(next), discard: () => kind.findUpgrade(next)?.close() }
      },
    }
  } catch (error) {
    kind.findUpgrade(options)?.close()
    throw error
  }
}

async function openOverQuic(options: QuicListenOptions, files: QuicFiles): Promise<OpenListener> {
  const state: ListenerState = { isClosed: false }
  const opened = await listenQuic(refuseAfterClose(options, state))
  return {
    host: opened.host,
    port: opened.port,
    close(): Promise<void> {
      state.isClosed = true
      files.close()
      return opened.close()
    },
    waitUntilReleased: async () => opened.waitUntilReleased?.(),
    reload: () => files.reload(),
    prepare: () => assert.fail('a QUIC listener is closed and opened, never changed'),
  }
}

/** Name of the listener in logs and errors: `wss plant`. */
function formatListener({ kind, name }: ShardListener): string {
  return `listener ${kind} ${name}`
}

function requireWebSocketSettings(listener: ShardListener): WebSocketConfig & { readonly isLoopback: boolean } {
  if (listener.webSocket === undefined)
    throw createAssertionError(`${formatListener(listener)} has no WebSocket settings`)
  return { ...listener.webSocket, isLoopback: listener.isLoopback }
}

/** Returns the connection limit of a listener. All shards count its connections together, also if there is no limit. */
function createConnectionLimit(
  { maxConnections, connectionSlots }: ShardListener,
  { budget, own }: ListenerDependencies,
): ConnectionLimit {
  return new ConnectionLimit(maxConnections ?? Number.POSITIVE_INFINITY, {
    ...(connectionSlots !== undefined && { places: { cells: connectionSlots, own } }),
    parent: budget,
    refusal: 'listener-full',
  })
}
