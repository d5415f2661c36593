// One STOMP client: converts its frames into MQTT 5.0 on its connection to the broker, and vice versa.
//
//   CONNECT ─> connecting ──CONNACK──> connected ──DISCONNECT, ERROR──> ended

import { randomBytes } from 'node:crypto'
import {
  type ConnackPacket,
  type Packet,
  type PublishPacket,
  type ReasonCode,
  reasonCodes,
} from '../../protocol/index.ts'
import { createConnectPacket } from '../../mqtt-client/index.ts'
import { overrideClientInfo } from '../client-info.ts'
import {
  type GatewayCounters,
  type GatewayStream,
  type GatewayStreamCallbacks,
  maxUnsentBytes,
  type MqttConnection,
  type MqttConnectionCallbacks,
} from '../gateway.ts'
import { StompDecoder, type StompFrame, type StompVersion, writeFrame } from './frames.ts'
import { maxUnacknowledged, Publications, type Settled } from './publications.ts'
import type { StompSettings } from './stomp-settings.ts'
import { Subscriptions } from './stomp-subscriptions.ts'
import { toPingIntervalMs } from '../ping-interval.ts'

const versions: readonly StompVersion[] = ['1.2', '1.1', '1.0']
/** Maximum unacknowledged messages of the broker. */
const receiveMaximum = 64
/** Minimum heart-beat interval in both directions. */
const minHeartBeatMs = 1_000
/** Maximum time for answers to a client that sends nothing more. */
const maxAnswerMs = 5_000
/** A client is lost after this number of its intervals without data. */
const lostAfter = 2
const idBytes = 8
const msPerSecond = 1_000
const none = Buffer.alloc(0)
const heartBeat = Buffer.from('\n')

export interface StompClientDependencies {
  readonly settings: StompSettings
  readonly counters: GatewayCounters
  nowMs(): number
  openMqtt(callbacks: MqttConnectionCallbacks): MqttConnection
  /** Called when `dueAtMs` of the client has changed. */
  schedule(): void
  onEnded(): void
}

export class StompClient implements GatewayStreamCallbacks {
  readonly #dependencies: StompClientDependencies
  readonly #stream: GatewayStream
  readonly #decoder: StompDecoder
  readonly #publications: Publications
  readonly #subscriptions: Subscriptions
  #state: 'new' | 'connecting' | 'connected' | 'ended' = 'new'
  #version: StompVersion = '1.0'
  #mqtt: MqttConnection | undefined
  /** Negotiated heart-beats of CONNECT. */
  #heartBeats: readonly [sendMs: number, expectMs: number] = [0, 0]
  #receivedAtMs: number
  #nextHeartBeatMs = Infinity
  #pingIntervalMs = Infinity
  #nextPingMs = Infinity
  #isReadingPaused = false
  /** Frames that the broker has not confirmed. */
  #unsettledFrames = 0
  /** The time at which the client ended its direction of the stream. */
  #inputEndedAtMs: number | undefined

  constructor(stream: GatewayStream, dependencies: StompClientDependencies) {
    this.#stream = stream
    this.#dependencies = dependencies
    const { maxHeaders, maxHeaderBytes, maxBodyBytes } = dependencies.settings
    this.#decoder = new StompDecoder({ maxHeaders, maxHeaderBytes, maxBodyBytes })
    this.#publications = new Publications(() => this.#mqtt)
    this.#subscriptions = new Subscriptions(() => this.#mqtt)
    this.#receivedAtMs = dependencies.nowMs()
  }

  get isConnected(): boolean {
    return this.#state === 'connected'
  }

  get isEnded(): boolean {
    return this.#state === 'ended'
  }

  /** Time at which `tick` must be called. */
  get dueAtMs(): number {
    if (this.#state === 'ended') return Infinity
    return Math.min(this.#lostAtMs, this.#nextHeartBeatMs, this.#nextPingMs)
  }

  handleBytes(chunk: Buffer): void {
    this.#receivedAtMs = this.#dependencies.nowMs()
    for (const reading of this.#decoder.read(chunk)) {
      if (this.isEnded) return
      this.#dependencies.counters.received++
      if ('problem' in reading) {
        this.#dependencies.counters.dropped.malformed++
        return this.#fail(reading.problem)
      }
      this.#handleFrame(reading.frame)
    }
    this.#pauseWhereFull()
  }

  handleWritten(): void {
    if (this.#stream.unsentBytes <= maxUnsentBytes / 2) this.#mqtt?.resume()
  }

  /** What the client has sent is answered first. */
  handleInputEnded(): void {
    this.#inputEndedAtMs = this.#dependencies.nowMs()
    this.#endIfAnswered()
    this.#dependencies.schedule()
  }

  handleClosed(): void {
    this.#end(reasonCodes.disconnectWithWill)
  }

  tick(): void {
    const nowMs = this.#dependencies.nowMs()
    if (nowMs >= this.#lostAtMs) {
      return this.#fail(this.#state === 'connected' ? 'no heart-beat has come' : 'no CONNECT has come')
    }
    if (nowMs >= this.#nextHeartBeatMs) {
      this.#nextHeartBeatMs = nowMs + this.#heartBeats[0]
      this.#stream.write(heartBeat)
    }
    if (nowMs >= this.#nextPingMs) {
      this.#nextPingMs = nowMs + this.#pingIntervalMs
      this.#mqtt?.send({ type: 'pingreq' })
    }
  }

  /** The gateway closes. */
  close(): void {
    this.#fail('the gateway is closed')
  }

  #endIfAnswered(): void {
    if (this.#inputEndedAtMs === undefined || this.#state === 'connecting' || this.#unsettledFrames > 0) return
    this.#end(reasonCodes.disconnectWithWill)
  }

  get #lostAtMs(): number {
    if (this.#inputEndedAtMs !== undefined) return this.#inputEndedAtMs + maxAnswerMs
    // While reading is paused, the client is not silent.
    if (this.#isReadingPaused) return Infinity
    if (this.#state !== 'connected') return this.#receivedAtMs + this.#dependencies.settings.idleTimeoutMs
    const [, expectMs] = this.#heartBeats
    return expectMs === 0 ? Infinity : this.#receivedAtMs + expectMs * lostAfter
  }

  #handleFrame(frame: StompFrame): void {
    const { command } = frame
    if (command === 'CONNECT' || command === 'STOMP') return this.#handleConnect(frame)
    if (this.#state !== 'connected') return this.#fail(`${command.slice(0, 32)} before CONNECTED`, frame)
    this.#unsettledFrames++
    const settle: Settled = (problem) => {
      this.#unsettledFrames--
      if (problem === undefined) this.#sendReceipt(frame)
      else this.#fail(problem, frame)
      this.#endIfAnswered()
    }
    const problem = this.#carryOut(frame, settle)
    if (problem !== undefined) this.#fail(problem, frame)
  }

  #carryOut(frame: StompFrame, settled: Settled): string | undefined {
    const { command, headers } = frame
    const transaction = headers.get('transaction')
    /** For frames that are complete when it returns. */
    const settleNow = (problem: string | undefined): string | undefined => {
      if (problem === undefined) settled(undefined)
      return problem
    }
    switch (command) {
      case 'SEND':
        return this.#publications.send(frame, settled)
      case 'SUBSCRIBE':
        return this.#subscriptions.subscribe(frame, this.#version, settled)
      case 'UNSUBSCRIBE':
        return this.#subscriptions.unsubscribe(frame, settled)
      case 'ACK':
      case 'NACK':
        if (transaction !== undefined)
          return settleNow(this.#publications.defer(transaction, () => this.#acknowledge(frame), 0))
        return settleNow(this.#subscriptions.acknowledge(frame, this.#version))
      case 'BEGIN':
        return settleNow(this.#publications.begin(transaction))
      case 'COMMIT':
        return this.#publications.commit(transaction, settled)
      case 'ABORT':
        return settleNow(this.#publications.abort(transaction))
      case 'DISCONNECT':
        this.#sendReceipt(frame)
        this.#end(reasonCodes.normalDisconnection)
        return undefined
      default:
        return `the command ${JSON.stringify(command.slice(0, 32))} is unknown`
    }
  }

  /** In a committed transaction. */
  #acknowledge(frame: StompFrame): void {
    const problem = this.#subscriptions.acknowledge(frame, this.#version)
    if (problem !== undefined) this.#fail(problem, frame)
  }

  // Connecting

  #handleConnect(frame: StompFrame): void {
    if (this.#state !== 'new') return this.#fail('CONNECT has come before', frame)
    const acceptedVersions = (frame.headers.get('accept-version') ?? '1.0').split(',').map((version) => version.trim())
    const version = versions.find((one) => acceptedVersions.includes(one))
    if (version === undefined) return this.#fail('the supported versions are 1.0, 1.1 and 1.2', frame)
    this.#version = version
    this.#decoder.version = version
    const heartBeats = /^(\d{1,9}),(\d{1,9})$/.exec(frame.headers.get('heart-beat') ?? '0,0')
    if (heartBeats === null) return this.#fail('heart-beat is not of the form 0,0', frame)
    const [fromClientMs, toClientMs] = heartBeats.slice(1).map(Number) as [number, number]
    this.#heartBeats = [
      toClientMs === 0 ? 0 : Math.max(toClientMs, minHeartBeatMs),
      fromClientMs === 0 ? 0 : Math.max(fromClientMs, minHeartBeatMs),
    ]
    this.#state = 'connecting'
    this.#openMqtt(frame)
  }

  #openMqtt({ headers }: StompFrame): void {
    const { override } = this.#dependencies.settings
    const ownId = headers.get('client-id') ?? `stomp-${randomBytes(idBytes).toString('hex')}`
    const sent = { clientId: ownId, username: headers.get('login'), password: headers.get('passcode') }
    const { clientId, username, password } = overrideClientInfo(override, sent, headers)
    const mqtt = this.#dependencies.openMqtt({
      handlePacket: (packet) => this.#handlePacket(packet),
      handleWritten: () => this.#resumeWhereFree(),
      handleClosed: () => this.#fail('the broker has ended the session'),
    })
    this.#mqtt = mqtt
    mqtt.send(
      createConnectPacket({
        version: 5,
        clientId,
        cleanStart: true,
        keepAliveSeconds: Math.ceil(this.#heartBeats[1] / msPerSecond),
        username,
        password: password === undefined ? undefined : Buffer.from(password),
        properties: { sessionExpiryIntervalSeconds: 0, receiveMaximum },
      }),
    )
    this.#planPing(Math.ceil(this.#heartBeats[1] / msPerSecond))
    this.#dependencies.schedule()
  }

  #planPing(keepAliveSeconds: number): void {
    this.#pingIntervalMs = toPingIntervalMs(keepAliveSeconds)
    this.#nextPingMs = this.#dependencies.nowMs() + this.#pingIntervalMs
  }

  #handleConnack({ reasonCode, properties }: ConnackPacket): void {
    if (reasonCode !== reasonCodes.success) return this.#fail(describeConnectRefusal(reasonCode))
    if (properties?.serverKeepAliveSeconds !== undefined) this.#planPing(properties.serverKeepAliveSeconds)
    this.#state = 'connected'
    const [sendMs, expectMs] = this.#heartBeats
    this.#nextHeartBeatMs = sendMs === 0 ? Infinity : this.#dependencies.nowMs() + sendMs
    this.#send('CONNECTED', [
      ['version', this.#version],
      ['server', 'Godwit'],
      ['heart-beat', `${sendMs},${expectMs}`],
    ])
    this.#dependencies.schedule()
    this.#endIfAnswered()
  }

  // The broker's side

  #handlePacket(packet: Packet): void {
    if (this.isEnded) return
    switch (packet.type) {
      case 'connack':
        return this.#handleConnack(packet)
      case 'publish':
        return this.#deliver(packet)
      case 'puback':
      case 'pubrec':
      case 'pubcomp':
        this.#publications.handleAck(packet)
        return this.#resumeWhereFree()
      case 'suback':
      case 'unsuback':
        return this.#subscriptions.handleAck(packet.packetId, packet.reasonCodes[0] ?? reasonCodes.unspecifiedError)
      case 'disconnect':
        return this.#fail(describeSessionEnd(packet.reasonCode))
      default:
        return undefined
    }
  }

  #deliver(packet: PublishPacket): void {
    for (const { headers, body } of this.#subscriptions.deliver(packet, this.#version))
      this.#send('MESSAGE', headers, body)
    // The broker handles a slow client, as any other.
    if (this.#stream.unsentBytes > maxUnsentBytes) this.#mqtt?.pause()
  }

  // Backpressure

  get #isFull(): boolean {
    return (this.#mqtt?.unsentBytes ?? 0) > maxUnsentBytes || this.#publications.unacknowledged >= maxUnacknowledged
  }

  #pauseWhereFull(): void {
    if (this.#isReadingPaused || !this.#isFull) return
    this.#isReadingPaused = true
    this.#stream.pause()
    this.#dependencies.schedule()
  }

  #resumeWhereFree(): void {
    if (!this.#isReadingPaused || this.#isFull || this.isEnded) return
    this.#isReadingPaused = false
    this.#receivedAtMs = this.#dependencies.nowMs()
    this.#stream.resume()
    this.#dependencies.schedule()
  }

  // Sending

  #sendReceipt({ headers }: StompFrame): void {
    const receipt = headers.get('receipt')
    if (receipt !== undefined) this.#send('RECEIPT', [['receipt-id', receipt]])
  }

  #send(command: string, headers: readonly (readonly [string, string])[], body: Buffer = none): void {
    if (this.isEnded) return
    this.#dependencies.counters.sent++
    this.#stream.write(writeFrame(command, headers, body, this.#version))
  }

  /** Reports an error and closes [STOMP 1.2, "ERROR"]. */
  #fail(problem: string, frame?: StompFrame): void {
    if (this.isEnded) return
    const receipt = frame?.headers.get('receipt')
    const headers: [string, string][] = [
      ['message', problem],
      ['content-type', 'text/plain'],
    ]
    if (receipt !== undefined) headers.push(['receipt-id', receipt])
    this.#send('ERROR', headers, Buffer.from(`${problem}\n`))
    this.#end(reasonCodes.disconnectWithWill)
  }

  #end(reasonCode: ReasonCode): void {
    if (this.isEnded) return
    this.#state = 'ended'
    const mqtt = this.#mqtt
    this.#mqtt = undefined
    mqtt?.end({ type: 'disconnect', reasonCode, properties: undefined })
    this.#stream.end()
    this.#dependencies.onEnded()
  }
}

function describeConnectRefusal(reasonCode: number): string {
  if (reasonCode === reasonCodes.badUserNameOrPassword || reasonCode === reasonCodes.notAuthorized)
    return 'the login was refused'
  if (reasonCode === reasonCodes.banned) return 'this client is banned'
  if (reasonCode === reasonCodes.clientIdentifierNotValid) return 'client-id is not valid'
  return `the broker refused the connection (reason code ${reasonCode})`
}

function describeSessionEnd(reasonCode: number): string {
  if (reasonCode === reasonCodes.sessionTakenOver) return 'another client has connected with this client-id'
  if (reasonCode === reasonCodes.serverShuttingDown) return 'the broker is shutting down'
  return `the broker has ended the session (reason code ${reasonCode})`
}
