// A connection of a probe to a broker, over TCP or TLS.

import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type Frame, FrameReader } from './wire.ts'

export interface ProbeTarget {
  readonly host: string
  readonly port: number
  readonly usesTls: boolean
  /** PEM of the authority that is trusted; undefined: those that Node trusts. */
  readonly ca: string | undefined
  readonly username: string | undefined
  readonly password: string | undefined
}

const defaultPorts: Readonly<Record<string, number>> = { 'mqtt:': 1_883, 'mqtts:': 8_883 }

/** `mqtt://host:port` or `mqtts://host:port`; a problem is a sentence. */
export function parseTarget(
  url: string,
): Pick<ProbeTarget, 'host' | 'port' | 'usesTls'> | { readonly problem: string } {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const port = parsed === undefined ? undefined : defaultPorts[parsed.protocol]
  if (parsed === undefined || port === undefined || parsed.hostname === '')
    return {
      problem: `${JSON.stringify(url.slice(0, 100))} is no address of a broker: give mqtt://host:port or mqtts://host:port`,
    }
  const host = parsed.hostname.replace(/^\[|\]$/g, '')
  return { host, port: parsed.port === '' ? port : Number(parsed.port), usesTls: parsed.protocol === 'mqtts:' }
}

export class ProbeClient {
  /** Frames in the order in which they come. */
  onFrame: (frame: Frame) => void = () => {}
  /** Once; undefined: the broker closed it in order. */
  onClose: (error: Error | undefined) => void = () => {}
  readonly #socket: Socket
  readonly #reader = new FrameReader()
  #error: Error | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => this.#take(chunk))
    socket.on('error', (error) => (this.#error = error))
    socket.on('close', () => this.onClose(this.#error))
  }

  /** Resolves when the connection stands; rejects with the error of the system. */
  static open({ host, port, usesTls, ca }: ProbeTarget): Promise<ProbeClient> {
    return new Promise((resolve, reject) => {
      const options = { host, port, noDelay: true }
      const socket: Socket = usesTls
        ? connectTls({ ...options, ...(ca === undefined ? {} : { ca }) })
        : connect(options)
      socket.once('error', reject)
      socket.once(usesTls ? 'secureConnect' : 'connect', () => {
        socket.off('error', reject)
        resolve(new ProbeClient(socket))
      })
    })
  }

  get unsentBytes(): number {
    return this.#socket.writableLength
  }

  send(...packets: readonly Uint8Array[]): void {
    if (this.#socket.writable)
      this.#socket.write(packets.length === 1 ? (packets[0] ?? nothing) : Buffer.concat(packets))
  }

  /** Sends its last packet and closes behind it: what is destroyed at once may take the packet with it. */
  end(packet: Uint8Array): void {
    if (this.#socket.writable) this.#socket.end(packet)
  }

  /** Without DISCONNECT, as a lost connection. */
  destroy(): void {
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    const frames = this.#reader.read(chunk)
    if (frames === undefined) {
      this.#socket.destroy(new Error('the broker sent bytes that are no MQTT packet'))
      return
    }
    for (const frame of frames) this.onFrame(frame)
  }
}

const nothing = Buffer.alloc(0)
