// Files of an outgoing TLS connection: trusted authorities, and the own certificate.

import { describeFileError } from '../../telemetry/index.ts'
import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { readOpenSslReason } from '../certificates/describe-tls-error.ts'

export interface DialTlsSettings {
  /** The remote certificate must match the name and be signed by a trusted authority. */
  readonly verifyPeer: boolean
  /** PEM. Undefined: the authorities of Node. */
  readonly caFile: string | undefined
  /** PEM. Both or none. */
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  readonly keyPassword: string | undefined
}

export interface DialCredentials {
  /** PEM. */
  readonly ca: string | undefined
  readonly identity: { readonly certificate: string; /** Not encrypted. */ readonly key: string } | undefined
}

/**
 * Reads and validates the files; the problem is a text without a full stop. `read` provides files that are not on disk
 * yet.
 */
export function readDialFiles(
  settings: DialTlsSettings,
  read: (file: string) => Buffer = (file) => readFileSync(file),
): DialCredentials | { readonly problem: string } {
  const { caFile, certFile, keyFile, keyPassword } = settings
  try {
    const ca =
      caFile === undefined ? undefined : readPem({ setting: 'cacertfile', file: caFile, label: 'CERTIFICATE' }, read)
    if (certFile === undefined && keyFile === undefined) return { ca, identity: undefined }
    if (certFile === undefined || keyFile === undefined) {
      return { problem: 'certfile: certfile and keyfile belong together: set both or neither' }
    }
    const certificate = readPem({ setting: 'certfile', file: certFile, label: 'CERTIFICATE' }, read)
    const key = decryptKey(keyFile, readPem({ setting: 'keyfile', file: keyFile, label: undefined }, read), keyPassword)
    checkFiles({ cert: certificate, key }, `keyfile: ${keyFile} is not the key of the certificate in ${certFile}`)
    return { ca, identity: { certificate, key } }
  } catch (error) {
    if (error instanceof UnusableFile) return { problem: error.message }
    throw error
  }
}

/** Returns why these files cannot be used, as a text that starts with a setting; undefined if they can. */
export function findDialFilesProblem(settings: DialTlsSettings, read?: (file: string) => Buffer): string | undefined {
  const files = readDialFiles(settings, read)
  return 'problem' in files ? files.problem : undefined
}

class UnusableFile extends Error {}

function readPem(
  { setting, file, label }: { readonly setting: string; readonly file: string; readonly label: string | undefined },
  read: (file: string) => Buffer,
): string {
  let text: string
  try {
    text = read(file).toString('latin1')
  } catch (error) {
    throw new UnusableFile(`${setting}: cannot read ${file}: ${describeFileError(error)}`)
  }
  // An empty or incomplete file would mean that there are no authorities.
  if (label !== undefined) {
    const begins = text.split(`-----BEGIN ${label}-----`).length
    if (begins === 1 || begins !== text.split(`-----END ${label}-----`).length) {
      throw new UnusableFile(`${setting}: ${file} contains no complete PEM block "${label}"; write it again`)
    }
    checkFiles(setting === 'cacertfile' ? { ca: text } : { cert: text }, `${setting}: ${file} cannot be read as PEM`)
  }
  return text
}

function decryptKey(file: string, key: string, passphrase: string | undefined): string {
  try {
    const opened = createPrivateKey({ key, ...(passphrase === undefined ? {} : { passphrase }) })
    return opened.export({ type: 'pkcs8', format: 'pem' }).toString()
  } catch {
    // OpenSSL's own text differs by version and says less.
    throw new UnusableFile(`keyfile: ${file} contains no readable private key, or key_password is not its password`)
  }
}

function checkFiles(options: SecureContextOptions, otherwise: string): void {
  try {
    createSecureContext(options)
  } catch (error) {
    throw new UnusableFile(`${otherwise} (${readOpenSslReason(error as Error)})`)
  }
}
