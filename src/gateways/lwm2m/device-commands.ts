// The commands of one device, of the broker and of the API: they wait, are sent one at a time, and their responses are published.

import type { PublishPacket } from '../../protocol/index.ts'
import type { DeviceRequests, DeviceResult } from '../coap/endpoint/device-requests.ts'
import type { GatewayDependencies } from '../gateway.ts'
import type { PeerAddress } from '../../transports/index.ts'
import { CommandQueue, commandLifetimeMs, type StoredCommand, type WaitingCommand } from './command-queue.ts'
import { type Command, toNoticeDocument, toResponseDocument, parseCommand, toPathOptions } from './commands.ts'
import type { Lwm2mObservations } from './lwm2m-observations.ts'
import type { Registration } from './registration.ts'
import type { Lwm2mSettings, Translator } from './lwm2m-settings.ts'

type Fields = Readonly<Record<string, unknown>>

const msPerSecond = 1_000
/** Maximum commands that wait for a device. Further ones wait in its queue in the broker. */
export const maxWaitingCommands = 64
/** Maximum stored responses for the API. */
const maxResponses = 64

export interface CommandServices {
  readonly settings: Lwm2mSettings
  readonly dependencies: GatewayDependencies
  readonly requests: DeviceRequests
}

/** The device that gets the commands. */
interface CommandedDevice {
  readonly peer: PeerAddress
  readonly registration: Registration
  readonly isEnded: boolean
  readonly isReachable: boolean
  readonly isStoredProven: boolean
  recordReceived(peer: PeerAddress): void
  markAsleep(): void
  publish(translator: Translator, document: Fields): void
  /** Stores the state of the device, with its commands and observations. */
  store(): void
  schedule(): void
}

export class DeviceCommands {
  readonly #device: CommandedDevice
  readonly #observations: Lwm2mObservations
  readonly #services: CommandServices
  readonly #queue: CommandQueue
  /** Whether the stored state of the device has commands. */
  #hasStored: boolean
  #cancelCurrent: () => void = () => {}
  /** `data` of the last response to each command, by path and type. */
  readonly #responses = new Map<string, Fields>()

  constructor(
    device: CommandedDevice,
    observations: Lwm2mObservations,
    services: CommandServices,
    stored: readonly StoredCommand[],
  ) {
    this.#device = device
    this.#observations = observations
    this.#services = services
    const { dropped } = services.dependencies.counters
    this.#queue = new CommandQueue(maxWaitingCommands, () => dropped['queue-full']++)
    this.#pushStored(stored)
    this.#hasStored = this.#queue.hasCommandsToStore
  }

  /** Time at which the oldest waiting command expires. */
  get expiresAtMs(): number {
    return this.#queue.expiresAtMs
  }

  dropExpired(nowMs: number): void {
    this.#queue.dropExpired(nowMs)
  }

  /** Commands that are in no queue of the broker, for the registration that replaces this one. */
  toStore(): readonly StoredCommand[] {
    return this.#queue.toStore()
  }

  /** Returns the commands that the device stores now. */
  recordStored(): readonly StoredCommand[] {
    const commands = this.#queue.toStore()
    this.#hasStored = commands.length > 0
    return commands
  }

  /** Queues commands of the previous registration. */
  add(stored: readonly StoredCommand[]): void {
    this.#pushStored(stored)
    this.#storeChanged()
  }

  #pushStored(stored: readonly StoredCommand[]): void {
    for (const { fields, expiresAtMs } of stored) {
      const command = parseFields(fields)
      if (typeof command !== 'string') this.#queue.push({ command, expiresAtMs, done: undefined })
    }
  }

  /** Runs a command of the API. Returns a sentence if it is invalid. */
  runForApi(fields: Fields): string | undefined {
    const command = parseFields(fields)
    if (typeof command === 'string') return command
    this.#enqueue(command, undefined, undefined)
    return undefined
  }

  /** Returns the last response to a command of this type for the path. */
  findResponse(path: string, type: string): Fields | undefined {
    return this.#responses.get(`${type} ${path}`)
  }

  observe(path: string): void {
    this.runForApi({ reqID: 0, msgType: 'observe', data: { path } })
  }

  /** `acknowledge` is called when the command was executed or dropped. */
  handlePublish(packet: PublishPacket, acknowledge: (() => void) | undefined): void {
    const command = parseCommand(Buffer.from(packet.chunk.subarray(packet.payloadStart, packet.frameEnd)))
    if (typeof command === 'string') {
      this.#services.dependencies.counters.dropped.malformed++
      return acknowledge?.()
    }
    this.#enqueue(command, packet.properties?.messageExpiryIntervalSeconds, acknowledge)
  }

  /** The device ends. After its next registration, the current command is sent again. */
  cancelCurrent(): void {
    this.#cancelCurrent()
  }

  #enqueue(command: Command, expirySeconds: number | undefined, done: (() => void) | undefined): void {
    const lifetimeMs = expirySeconds === undefined ? commandLifetimeMs : expirySeconds * msPerSecond
    this.#queue.push({ command, expiresAtMs: this.#services.dependencies.nowMs() + lifetimeMs, done })
    this.sendNext()
    this.#storeChanged()
    this.#device.schedule()
  }

  /** Stores waiting commands. A device that is awake gets its commands at once: then nothing is written. */
  #storeChanged(): void {
    if (this.#queue.hasCommandsToStore || this.#hasStored) this.#device.store()
  }

  /** Sends the next command, one at a time. */
  sendNext(): void {
    const device = this.#device
    this.#queue.dropExpired(this.#services.dependencies.nowMs())
    const isBusy = this.#queue.current !== undefined || device.isEnded || !device.isReachable
    const next = isBusy ? undefined : (this.#queue.begin() ?? this.#renewObservation())
    if (next === undefined) return
    const { command } = next
    if (command.observes !== undefined) this.#observations.recordSent(command)
    const observed = this.#observations.findToken(command)
    this.#cancelCurrent = this.#services.requests.request({
      peer: device.peer,
      token: observed,
      message: {
        code: command.request.method,
        options: [...toPathOptions(command, device.registration.alternatePath), ...command.request.options],
        payload: command.request.payload,
      },
      onAcknowledged: () => this.#publish(toNoticeDocument(command, 'ack')),
      onSettled: (result) => {
        this.#settle(next, result, observed)
        this.#queue.current = undefined
        this.sendNext()
        this.#storeChanged()
        if (!device.isEnded) device.schedule()
      },
    })
  }

  #settle(sent: WaitingCommand, result: DeviceResult, observed: Buffer | undefined): void {
    const { command, done } = sent
    const device = this.#device
    if (result.outcome === 'response') {
      device.recordReceived(device.peer)
      const { settings, dependencies } = this.#services
      this.#observations.handleResponse(command, result.response, { known: observed, nowMs: dependencies.nowMs() })
      if (command.observes !== undefined || !device.isStoredProven) device.store()
      const document = toResponseDocument(command, result, settings.objects)
      this.#rememberResponse(command, document['data'] as Fields)
      this.#publish(document)
      done?.()
    } else if (result.outcome === 'timeout' && device.registration.isQueueMode) {
      // The device sleeps: the command waits at the front of the queue until the next packet of the device.
      device.markAsleep()
      this.#queue.putBack()
    } else {
      this.#publish(toNoticeDocument(command, `coap_${result.outcome}`))
      done?.()
    }
  }

  #publish(document: Fields): void {
    this.#device.publish(this.#services.settings.translators.response, document)
  }

  #rememberResponse({ type, pathText }: Command, response: Fields): void {
    const key = `${type} ${pathText}`
    this.#responses.delete(key)
    const [oldest] = this.#responses.keys()
    if (this.#responses.size >= maxResponses && oldest !== undefined) this.#responses.delete(oldest)
    this.#responses.set(key, response)
  }

  #renewObservation(): WaitingCommand | undefined {
    const command = this.#observations.nextToBegin
    if (command === undefined) return undefined
    const expiresAtMs = this.#services.dependencies.nowMs() + commandLifetimeMs
    this.#queue.push({ command, expiresAtMs, done: undefined })
    return this.#queue.begin()
  }
}

function parseFields(fields: Fields): Command | string {
  return parseCommand(Buffer.from(JSON.stringify(fields)))
}
