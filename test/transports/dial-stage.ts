// Outgoing connections to listeners of the test.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import {
  type ByteStream,
  dial,
  type DialProblem,
  type DialSettings,
  type DialTarget,
} from '../../src/transports/index.ts'
import { EventQueue } from './event-queue.ts'

export type PartialSettings = Partial<Omit<DialSettings, 'tls' | 'quic'>> & {
  readonly tls?: Partial<DialSettings['tls']>
  readonly quic?: Partial<DialSettings['quic']>
}

export function dialSettings({ tls, quic, ...others }: PartialSettings = {}): DialSettings {
  return {
    connectTimeoutMs: 10_000,
    noDelay: true,
    keepAliveAfterMs: undefined,
    networkInterface: undefined,
    maxMessageBytes: 1_048_576,
    ...others,
    tls: {
      verifyPeer: true,
      caFile: undefined,
      certFile: undefined,
      keyFile: undefined,
      keyPassword: undefined,
      ...tls,
    },
    quic: { keepAliveMs: 0, idleTimeoutMs: 30_000, dataStreams: 0, ...quic },
  }
}

export interface DialledStream {
  readonly stream: ByteStream
  readonly chunks: EventQueue<string>
  /** Resolves when the stream closes, with the error. */
  readonly closed: Promise<Error | undefined>
}

export function target(scheme: DialTarget['scheme'], port: number, host = '127.0.0.1', path = '/mqtt'): DialTarget {
  return { scheme, host, port, path }
}

/** Opens a connection, which the end of the test closes. */
export function dialled(t: TestContext, to: DialTarget, settings: PartialSettings = {}): Promise<DialledStream> {
  const { promise, resolve, reject } = Promise.withResolvers<DialledStream>()
  dial(to, dialSettings(settings), {
    onOpen(stream) {
      const chunks = new EventQueue<string>()
      const closing = Promise.withResolvers<Error | undefined>()
      stream.onData = (chunk) => chunks.add(chunk.toString('latin1'))
      stream.onClose = (error) => closing.resolve(error)
      t.after(() => stream.destroy())
      resolve({ stream, chunks, closed: closing.promise })
    },
    onProblem: (problem) => reject(new Error(`${problem.reason}: ${problem.message}`)),
  })
  return promise
}

/** The reason why a connection cannot be opened. */
export function problemOf(to: DialTarget, settings: PartialSettings = {}): Promise<DialProblem> {
  const { promise, resolve, reject } = Promise.withResolvers<DialProblem>()
  dial(to, dialSettings(settings), {
    onOpen: (stream) => {
      stream.destroy()
      reject(new assert.AssertionError({ message: 'the connection was opened' }))
    },
    onProblem: resolve,
  })
  return promise
}

/** Reads this number of bytes, however they are split. */
export async function textOf(chunks: EventQueue<string>, bytes: number): Promise<string> {
  let text = ''
  while (text.length < bytes) text += await chunks.next()
  return text
}

export function writtenTo(stream: ByteStream, text: string | Buffer): Promise<void> {
  return new Promise((resolve) => {
    stream.write(Buffer.from(text), resolve)
  })
}
