// What a QUIC listener reads from disk. The library wants PEM in the clear and nothing else, so a key with a password is
// opened here.

import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { loadTlsFiles, type TlsProblem } from './tls-files.ts'
import type { TlsSettings } from './tls-settings.ts'

/** PEM. */
export interface QuicCredentials {
  readonly key: string
  readonly certificate: string
  /** Authorities whose client certificates are believed. Undefined: clients are not asked for any. */
  readonly authorities: string | undefined
  /** A client without a certificate is refused. */
  readonly requiresCertificate: boolean
}

export type QuicCredentialsReading = { readonly credentials: QuicCredentials } | { readonly problem: TlsProblem }

const ticketKeyBytes = 48

/** Reads and tries the files. The problem names the setting that is wrong. */
export function readQuicCredentials(settings: TlsSettings): QuicCredentialsReading {
  // The library has session tickets of its own.
  const loading = loadTlsFiles(settings, () => Buffer.alloc(ticketKeyBytes))
  if ('problem' in loading) return loading
  const { key, cert, ca, passphrase } = loading.material.options
  const { verifyPeer, failIfNoPeerCertificate } = settings
  return {
    credentials: {
      key: keyInTheClear(textOf(key), passphrase),
      certificate: textOf(cert),
      authorities: verifyPeer ? textOf(ca) : undefined,
      requiresCertificate: failIfNoPeerCertificate,
    },
  }
}

/** As it was read: one file each. */
function textOf(pem: unknown): string {
  assert(Buffer.isBuffer(pem), 'files of a listener are read as bytes')
  return pem.toString('latin1')
}

function keyInTheClear(key: string, passphrase: string | undefined): string {
  if (passphrase === undefined) return key
  return createPrivateKey({ key, passphrase }).export({ type: 'pkcs8', format: 'pem' }).toString()
}
