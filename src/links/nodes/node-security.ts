// How nodes of a cluster authenticate each other: certificates of an authority of the cluster, a shared secret, or both.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { challengeBytes, type LinkSecret } from '../../cluster/index.ts'
import type { TlsConfig } from '../../config/index.ts'
import { type DialSettings, TlsUpgrade, type TlsUpgradeResult } from '../../transports/index.ts'

/** All can be sent to another thread. */
export interface NodeSecurity {
  /** Undefined: certificates only. */
  readonly secret: string | undefined
  /** Undefined: connections are not encrypted. */
  readonly tls: NodeTls | undefined
}

/** Names of PEM files, absolute. Both nodes of a connection show a certificate that the authority has signed. */
export interface NodeTls {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
  readonly keyPassword: string | undefined
}

const connectTimeoutMs = 3_000
const handshakeTimeoutMs = 5_000
const ticketSecretBytes = 32

export function createChallenge(): Uint8Array {
  return randomBytes(challengeBytes)
}

export function createLinkSecret(secret: string | undefined): LinkSecret | undefined {
  if (secret === undefined) return undefined
  return {
    computeProof: (text) => createHmac('sha256', secret).update(text).digest(),
    isEqual: (one, other) => timingSafeEqual(one, other),
  }
}

export function createDialSettings(tls: NodeTls | undefined): DialSettings {
  const { caFile, certFile, keyFile, keyPassword } = tls ?? {}
  return {
    connectTimeoutMs,
    maxMessageBytes: 0,
    noDelay: true,
    keepAliveAfterMs: undefined,
    networkInterface: undefined,
    tls: { verifyPeer: true, caFile, certFile, keyFile, keyPassword },
    quic: { keepAliveMs: 0, idleTimeoutMs: 0, dataStreams: 0 },
  }
}

export interface NodeUpgradeCallbacks {
  /** Changed files cannot be used; undefined: they can again. */
  onProblem(message: string | undefined): void
  onRefused(address: string, reason: string): void
}

/** Opens the TLS side of a listener for nodes: a certificate is required. */
export function openNodeUpgrade(tls: NodeTls, callbacks: NodeUpgradeCallbacks): TlsUpgradeResult {
  const { caFile, certFile, keyFile, keyPassword } = tls
  const settings: TlsConfig = {
    caFile,
    crlFile: undefined,
    verifyPeer: true,
    failIfNoPeerCertificate: true,
    ciphers: undefined,
    pskFile: undefined,
    handshakeTimeoutMs,
    certificate: { certFile, keyFile, keyPassword },
    byServerName: [],
    minVersion: 'TLSv1.3',
    maxVersion: 'TLSv1.3',
    acceptsPsk: false,
  }
  return TlsUpgrade.open({
    settings,
    name: 'cluster',
    // Nodes reconnect rarely, so each thread has its own.
    ticketSecret: randomBytes(ticketSecretBytes),
    onProblem: (problem) => callbacks.onProblem(problem?.message),
    onRefused: ({ address }, reason) => callbacks.onRefused(address, reason),
  })
}
