// A connection to a remote broker that only publishes. It uses a clean session.

import {
  createConnectPacket,
  ConnectionEnded,
  MqttClient,
  type OutgoingMessage,
  type PublishResult,
  createReceiveLimits,
} from '../../mqtt-client/index.ts'
import { type ProtocolVersion, TopicTable } from '../../protocol/index.ts'
import { type ByteStream, dial, type DialSettings, type DialTarget } from '../../transports/index.ts'

export interface PublisherSettings {
  readonly target: DialTarget
  readonly dial: DialSettings
  readonly version: ProtocolVersion
  readonly clientId: string
  readonly username: string | undefined
  readonly password: string | undefined
  readonly keepAliveMs: number
}

/** [MQTT5-3.1.2-24] Only acknowledgements and PINGRESP are received. */
const maxPacketBytes = 262_144
const maxCachedTopics = 256

/** Rejects with a sentence if the remote broker cannot be reached or refuses the connection. */
export function openPublisher(settings: PublisherSettings): Promise<MqttPublisher> {
  const { promise, resolve, reject } = Promise.withResolvers<MqttPublisher>()
  dial(settings.target, settings.dial, {
    onOpen: (stream) => {
      const publisher = new MqttPublisher(settings, stream)
      publisher.opened.then(() => resolve(publisher), reject)
    },
    onProblem: ({ message }) => reject(new ConnectionEnded(message, 'this-side')),
  })
  return promise
}

export class MqttPublisher {
  readonly #client: MqttClient
  readonly #opened = Promise.withResolvers<void>()

  constructor({ version, clientId, username, password, keepAliveMs, dial }: PublisherSettings, stream: ByteStream) {
    const options = {
      connect: createConnectPacket({
        version,
        clientId,
        cleanStart: true,
        keepAliveSeconds: Math.min(65_535, Math.ceil(keepAliveMs / 1_000)),
        username,
        password: password === undefined ? undefined : Buffer.from(password),
        properties: version === 5 ? { maximumPacketSizeBytes: maxPacketBytes } : undefined,
      }),
      link: {
        decoder: {
          role: 'client',
          version,
          topics: new TopicTable(maxCachedTopics),
          ...createReceiveLimits(maxPacketBytes),
        },
        // Collects the writes of one iteration of the event loop, so that they are one system call.
        later: (work: () => void) => process.nextTick(work),
        ownsChunks: true,
      },
      brokerName: 'the remote broker',
      connectTimeoutMs: dial.connectTimeoutMs,
      nowMs: () => performance.now(),
      after: startTimer,
    } as const
    this.#client = new MqttClient(stream, options, {
      handleOpen: () => this.#opened.resolve(),
      handleEnd: (end) => this.#opened.reject(end),
    })
  }

  /** Resolves when the remote broker has accepted the connection. */
  get opened(): Promise<void> {
    return this.#opened.promise
  }

  get isOpen(): boolean {
    return this.#client.isOpen
  }

  /** Rejects with ConnectionEnded. See `MqttClient.publish`. */
  publish(message: OutgoingMessage): Promise<PublishResult> {
    const { promise, resolve, reject } = Promise.withResolvers<PublishResult>()
    this.#client.publish(message, (result) => (result instanceof ConnectionEnded ? reject(result) : resolve(result)))
    return promise
  }

  /** Resolves with PINGRESP: the remote broker has received everything that was written before. */
  ping(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#client.ping((end) => (end === undefined ? resolve() : reject(end)))
    return promise
  }

  /** Closes the connection. Publications in progress fail with `why`. */
  close(why?: string): void {
    this.#client.close(why)
  }
}

function startTimer(delayMs: number, work: () => void): { cancel(): void } {
  const timer = setTimeout(work, delayMs).unref()
  return { cancel: () => clearTimeout(timer) }
}
