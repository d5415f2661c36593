// A connection of a probe to a broker, over TCP or TLS.

import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { ClientStream } from '../../src/mqtt-client/index.ts'
import { describeConnectionError } from '../../src/telemetry/index.ts'

export interface ProbeTarget {
  readonly host: string
  readonly port: number
  readonly usesTls: boolean
  /** PEM of the trusted CA certificate; undefined: the CA certificates that Node trusts. */
  readonly ca: string | undefined
  readonly username: string | undefined
  readonly password: string | undefined
}

const defaultPorts: Readonly<Record<string, number>> = { 'mqtt:': 1_883, 'mqtts:': 8_883 }

/** Parses `mqtt://host:port` or `mqtts://host:port`. Returns a sentence as `problem` if the URL is invalid. */
export function parseTarget(
  url: string,
): Pick<ProbeTarget, 'host' | 'port' | 'usesTls'> | { readonly problem: string } {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const port = parsed === undefined ? undefined : defaultPorts[parsed.protocol]
  if (parsed === undefined || port === undefined || parsed.hostname === '')
    return {
      problem: `${JSON.stringify(url.slice(0, 100))} is not the address of a broker: use mqtt://host:port or mqtts://host:port`,
    }
  const host = parsed.hostname.replace(/^\[|\]$/g, '')
  return { host, port: parsed.port === '' ? port : Number(parsed.port), usesTls: parsed.protocol === 'mqtts:' }
}

/** Command-line option for the file with the trusted CA certificate, as in error texts. */
export const trustOption = '--ca FILE'

/** A socket as the byte stream of a client. */
export class ProbeSocket implements ClientStream {
  onData: (chunk: Buffer) => void = () => {}
  /** Called once at the end of the connection. `error` is a sentence about why it failed; undefined: either side closed it. */
  onClose: (error?: Error) => void = () => {}
  readonly #socket: Socket
  #error: Error | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => this.onData(chunk))
    socket.on('error', (error) => (this.#error = new Error(describeConnectionError(error, trustOption))))
    socket.on('close', () => this.onClose(this.#error))
  }

  /** Resolves when the connection is open. Rejects with the error of the operating system. */
  static open({ host, port, usesTls, ca }: ProbeTarget): Promise<ProbeSocket> {
    return new Promise((resolve, reject) => {
      const options = { host, port, noDelay: true }
      const socket: Socket = usesTls
        ? connectTls({ ...options, ...(ca === undefined ? {} : { ca }) })
        : connect(options)
      socket.once('error', reject)
      socket.once(usesTls ? 'secureConnect' : 'connect', () => {
        socket.off('error', reject)
        resolve(new ProbeSocket(socket))
      })
    })
  }

  write(bytes: Uint8Array, done: () => void = () => {}): void {
    if (this.#socket.writable) this.#socket.write(bytes, done)
    else setImmediate(done)
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Closes after all written bytes are sent. `destroy` could lose them. */
  end(): void {
    this.#socket.end()
  }

  /** Closes at once without DISCONNECT, like a lost connection. */
  destroy(): void {
    this.#socket.destroy()
  }
}
