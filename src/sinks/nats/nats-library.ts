// Connections of the NATS client libraries. A failed connection is not reused: a new one is opened. Only this file imports the libraries.

import { lookup } from 'node:dns/promises'
import type * as JetStreamLibrary from '@nats-io/jetstream'
import type { ConnectionOptions, NatsConnection } from '@nats-io/transport-node'
import { isForbiddenAddress } from '../../transports/index.ts'
import type { OpeningAttempt } from '../connections/open-service-connection.ts'
import { loadLibrary } from '../optional-library.ts'

export type { JetStreamClient, JetStreamManager, JsMsg } from '@nats-io/jetstream'
export type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node'
export type { JetStreamLibrary }

export interface NatsSettings {
  readonly servers: readonly { readonly host: string; readonly port: number }[]
  readonly username: string | undefined
  readonly password: string | undefined
  readonly token: string | undefined
  readonly tls: { readonly [option: string]: unknown } | undefined
  readonly connectTimeoutMs: number
  readonly requestTimeoutMs: number
  /** True: messages go to JetStream streams, which acknowledge each of them. */
  readonly usesJetStream: boolean
}

/** The connection is closed after two pings without response. */
const pingIntervalMs = 10_000
const maxPingsWithoutResponse = 2

export async function loadNats({ usesJetStream }: Pick<NatsSettings, 'usesJetStream'>) {
  const { connect } = await loadLibrary('@nats-io/transport-node', () => import('@nats-io/transport-node'))
  const streams = usesJetStream
    ? await loadLibrary('@nats-io/jetstream', () => import('@nats-io/jetstream'))
    : undefined
  return { connect, streams }
}

export interface NatsConnected {
  readonly connection: NatsConnection
  /** Undefined: JetStream is not used. */
  readonly streams: typeof JetStreamLibrary | undefined
}

export async function connectNats(settings: NatsSettings, attempt: OpeningAttempt): Promise<NatsConnected> {
  const { connect, streams } = await loadNats(settings)
  await refuseForbidden(settings)
  const opening = connect(toConnectionOptions(settings))
  // A connection that opens after the attempt has failed is not used.
  attempt.onFailure(() => opening.then((connection) => connection.close()))
  return { connection: await opening, streams }
}

/** The library resolves host names itself. */
async function refuseForbidden({ servers }: NatsSettings): Promise<void> {
  for (const { host } of servers) {
    const addresses = await lookup(host, { all: true })
    if (addresses.some(({ address }) => isForbiddenAddress(address)))
      throw new Error(`${host} has an address that is denied by node.denied_addresses`)
  }
}

function toConnectionOptions(settings: NatsSettings): ConnectionOptions {
  const { servers, username, password, token, tls, connectTimeoutMs } = settings
  return {
    name: 'godwit',
    servers: servers.map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)),
    reconnect: false,
    ignoreClusterUpdates: true,
    timeout: connectTimeoutMs,
    pingInterval: pingIntervalMs,
    maxPingOut: maxPingsWithoutResponse,
    ...(username === undefined ? {} : { user: username }),
    ...(password === undefined ? {} : { pass: password }),
    ...(token === undefined ? {} : { token }),
    // Null: TLS is not used. Undefined would let the server decide.
    tls: tls ?? null,
  }
}

/** Errors are distinguished by name, so that the library need not be loaded for this. */
export function readNatsErrorName(error: unknown): string {
  return error instanceof Error ? error.name : ''
}
