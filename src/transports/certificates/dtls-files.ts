// Files of a DTLS listener: everything is read and validated together, as for TLS.

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { parsePskFile } from './psk-file.ts'
import { loadTlsFiles, type TlsMaterial, ticketKeyBytes } from './tls-files.ts'
import type { TlsConfig } from '../../config/index.ts'
import {
  cipherSuites,
  parseCipherSuites,
  ClientTrust,
  type DtlsCertificate,
  type DtlsCredentials,
} from '../../../lib/dtls/index.ts'

export interface DtlsSettings {
  /** TLS settings; the ciphers are ignored. */
  readonly files: TlsConfig
  /** Names of cipher suites separated by colons; undefined: all. */
  readonly suites: string | undefined
  /** Keys in the form of the lines of a key file: `identity:hex`. */
  readonly keys: readonly string[]
  readonly usesConnectionIds: boolean
}

export interface DtlsProblem {
  /** The setting that it concerns. */
  readonly setting: string
  readonly message: string
  /** The files are in use all the same. */
  readonly isInUse?: true
}

type DtlsLoading =
  | { readonly credentials: DtlsCredentials; readonly warning: DtlsProblem | undefined }
  | { readonly problem: DtlsProblem }

const minRsaBits = 2_048

/** `findStoredKey`: a stored key replaces one of the settings. */
export function loadDtlsCredentials(
  settings: DtlsSettings,
  findStoredKey: (identity: string) => Uint8Array | undefined,
): DtlsLoading {
  const { files } = settings
  const suites = settings.suites === undefined ? cipherSuites : parseCipherSuites(settings.suites)
  if (suites === undefined) {
    const names = cipherSuites.map(({ name }) => name).join(', ')
    return { problem: { setting: 'ciphers', message: `a cipher suite is not known; known are ${names}` } }
  }
  const own = parsePskFile(settings.keys.join('\n'))
  if ('problem' in own) return { problem: { setting: 'psk', message: `entry ${own.line}: ${own.problem}` } }
  if (files.verifyPeer && files.caFile === undefined)
    return { problem: { setting: 'cacertfile', message: 'verify_peer needs the authorities of client certificates' } }
  const loading = loadTlsFiles(files, () => Buffer.alloc(ticketKeyBytes))
  if ('problem' in loading) return loading
  const { material } = loading
  const certificate = toDtlsCertificate(material)
  if (certificate !== undefined && !isGoodKey(certificate.key))
    return {
      problem: { setting: 'keyfile', message: 'the key must be one of P-256, or of RSA with 2048 bits or more' },
    }
  const { ca } = material.options
  const trust = new ClientTrust(Buffer.isBuffer(ca) ? ca : undefined)
  return {
    warning: material.warning,
    credentials: {
      suites,
      certificate,
      clients: files.verifyPeer ? { trust, isRequired: files.failIfNoPeerCertificate } : undefined,
      findKey: (identity) => findStoredKey(identity) ?? own.keys.get(identity) ?? material.keys.get(identity),
    },
  }
}

/** Returns why these settings cannot be used; undefined if they can. */
export function findDtlsProblem(settings: DtlsSettings): DtlsProblem | undefined {
  const loading = loadDtlsCredentials(settings, () => undefined)
  return 'problem' in loading ? loading.problem : undefined
}

/** Returns the certificate of material that was read and validated before. */
function toDtlsCertificate({ options: { cert, key, passphrase } }: TlsMaterial): DtlsCertificate | undefined {
  if (cert === undefined || !Buffer.isBuffer(key)) return undefined
  const blocks = String(cert).match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const privateKey = createPrivateKey({ key, ...(passphrase === undefined ? {} : { passphrase }) })
  return { chain: blocks.map((block) => new X509Certificate(block).raw), key: privateKey }
}

function isGoodKey({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  if (asymmetricKeyType === 'ec') return asymmetricKeyDetails?.namedCurve === 'prime256v1'
  return asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= minRsaBits
}
