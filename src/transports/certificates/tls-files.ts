// Files of a TLS listener: certificates, keys, authorities, revocation lists, pre-shared keys. Everything is read and
// validated together, so that the files in use are consistent.

import { constants, createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createSecureContext, DEFAULT_CIPHERS, type SecureContext, type SecureContextOptions } from 'node:tls'
import { readOpenSslReason } from './describe-tls-error.ts'
import { parsePskFile, type PreSharedKeys } from './psk-file.ts'
import type { CertificateFilesConfig, NamedCertificateFilesConfig, TlsConfig } from '../../config/index.ts'
import { describeFileError } from '../../telemetry/index.ts'

/** The setting that a problem concerns. */
export type TlsFileSetting = 'certfile' | 'keyfile' | 'cacertfile' | 'crlfile' | 'psk_file' | 'ciphers'

export interface TlsProblem {
  readonly setting: TlsFileSetting
  /** `name` of the certificate for a host name; undefined: the listener's own. */
  readonly certificateName: string | undefined
  /** The error, its file, and what to do. */
  readonly message: string
  /** The files are in use all the same. */
  readonly isInUse?: true
}

/** Contents in use until the files change. */
export interface TlsMaterial {
  /** For the listener's own certificate, validated. */
  readonly options: SecureContextOptions
  readonly byServerName: ReadonlyMap<string, SecureContext>
  readonly keys: PreSharedKeys
  /** What is probably a mistake, although the files can be used. */
  readonly warning: TlsProblem | undefined
}

export type TlsLoading = { readonly material: TlsMaterial } | { readonly problem: TlsProblem }

class FileProblem extends Error {
  readonly setting: TlsFileSetting
  certificateName: string | undefined

  constructor(setting: TlsFileSetting, message: string) {
    super(message)
    this.setting = setting
    this.certificateName = undefined
  }
}

export const ticketKeyBytes = 48

/** RFC 9258 and OpenSSL: a key without a hash uses SHA-256. */
const pskSuites = 'TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256'
const pskCiphers =
  'ECDHE-PSK-CHACHA20-POLY1305:ECDHE-PSK-AES128-CBC-SHA256:PSK-AES256-GCM-SHA384:PSK-AES128-GCM-SHA256:PSK-CHACHA20-POLY1305'

/** Returns the content of a file, or throws the system's error. */
export type FileReading = (file: string) => Buffer

/** Reads and validates everything. `ticketKeysFor` derives the keys of session tickets from the trusted authorities. */
export function loadTlsFiles(
  settings: TlsConfig,
  ticketKeysFor: (trust: string) => Buffer,
  read: FileReading = (file) => readFileSync(file),
): TlsLoading {
  try {
    return { material: loadMaterial(settings, ticketKeysFor, read) }
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error
    const { setting, certificateName, message } = error
    return { problem: { setting, certificateName, message } }
  }
}

/** Returns why these files cannot be used; undefined if they can. `read` provides files that are not on disk yet. */
export function findTlsFilesProblem(settings: TlsConfig, read?: FileReading): TlsProblem | undefined {
  const loading = loadTlsFiles(settings, () => Buffer.alloc(ticketKeyBytes), read)
  return 'problem' in loading ? loading.problem : undefined
}

/** Returns a problem for each file that cannot be read, so that several missing files are reported together. */
export function findUnreadableTlsFiles({
  certificate,
  byServerName,
  caFile,
  crlFile,
  pskFile,
}: TlsConfig): readonly TlsProblem[] {
  const problems: TlsProblem[] = []
  const checkFile = (setting: TlsFileSetting, file: string | undefined, certificateName: string | undefined): void => {
    if (file === undefined) return
    try {
      readFileSync(file)
    } catch (error) {
      problems.push({ setting, certificateName, message: `cannot read ${file}: ${describeFileError(error)}` })
    }
  }
  for (const files of [...(certificate === undefined ? [] : [certificate]), ...byServerName]) {
    const name = 'name' in files ? String(files.name) : undefined
    checkFile('certfile', files.certFile, name)
    checkFile('keyfile', files.keyFile, name)
  }
  checkFile('cacertfile', caFile, undefined)
  checkFile('crlfile', crlFile, undefined)
  checkFile('psk_file', pskFile, undefined)
  return problems
}

/** Returns a value that differs whenever a file may have changed. */
export async function computeFileStamp(settings: TlsConfig): Promise<string> {
  const stamps = listFiles(settings).map(async (file) => {
    try {
      const { mtimeMs, ctimeMs, size, ino } = await stat(file)
      return `${mtimeMs} ${ctimeMs} ${size} ${ino}`
    } catch (error) {
      return String((error as NodeJS.ErrnoException).code)
    }
  })
  return (await Promise.all(stamps)).join(', ')
}

function listFiles({ certificate, byServerName, caFile, crlFile, pskFile }: TlsConfig): string[] {
  const pairs = [...(certificate === undefined ? [] : [certificate]), ...byServerName]
  const files = [...pairs.flatMap(({ certFile, keyFile }) => [certFile, keyFile]), caFile, crlFile, pskFile]
  return files.filter((file) => file !== undefined)
}

function loadMaterial(
  settings: TlsConfig,
  ticketKeysFor: (trust: string) => Buffer,
  readFile: FileReading,
): TlsMaterial {
  const readOne = (setting: TlsFileSetting, file: string): Buffer => readSettingFile(setting, file, readFile)
  const ca = settings.caFile === undefined ? undefined : readOne('cacertfile', settings.caFile)
  const crl = settings.crlFile === undefined ? undefined : readOne('crlfile', settings.crlFile)
  const psk =
    settings.pskFile === undefined ? undefined : readKeys(settings.pskFile, readOne('psk_file', settings.pskFile))
  // Clients verified by other authorities must show a certificate again, because a session ticket replaces it.
  const trust = createHash('sha256')
    .update(JSON.stringify([settings.verifyPeer, settings.failIfNoPeerCertificate, ca?.toString(), crl?.toString()]))
    .digest('hex')
  const common = { ...createCommonOptions(settings), ticketKeys: ticketKeysFor(trust) }
  const shared = createVerificationOptions(common, settings, ca, crl)
  const options = settings.certificate === undefined ? shared : addCertificate(shared, settings.certificate, readOne)
  const byServerName = new Map<string, SecureContext>()
  for (const files of settings.byServerName)
    byServerName.set(files.serverName.toLowerCase(), createNamedContext(shared, files, readOne))
  return { options, byServerName, keys: psk?.keys ?? noKeys, warning: psk?.warning }
}

const noKeys: PreSharedKeys = new Map()

function createCommonOptions(settings: TlsConfig): SecureContextOptions {
  const { minVersion, maxVersion, acceptsPsk, certificate } = settings
  // A ticket does not contain the identity of the key, so clients with keys make a full handshake each time, which is
  // cheap.
  const secureOptions = constants.SSL_OP_NO_RENEGOTIATION | (acceptsPsk ? constants.SSL_OP_NO_TICKET : 0)
  const ciphers = settings.ciphers ?? (acceptsPsk ? formatCiphersWithKeys(certificate !== undefined) : undefined)
  return {
    minVersion,
    maxVersion,
    secureOptions,
    honorCipherOrder: true,
    ...(ciphers === undefined ? {} : { ciphers }),
  }
}

function formatCiphersWithKeys(hasCertificate: boolean): string {
  if (!hasCertificate) return `${pskSuites}:${pskCiphers}`
  const ordinary = DEFAULT_CIPHERS.split(':').filter((cipher) => !cipher.startsWith('TLS_') && cipher !== '!PSK')
  return [pskSuites, pskCiphers, ...ordinary].join(':')
}

/** Validates authorities and revocation lists separately: Node ignores much that is not a certificate. */
function createVerificationOptions(
  common: SecureContextOptions,
  settings: TlsConfig,
  ca: Buffer | undefined,
  crl: Buffer | undefined,
): SecureContextOptions {
  expectContext('ciphers', 'this OpenSSL supports none of the ciphers', common)
  if (ca !== undefined) expectPem('cacertfile', settings.caFile, ca, 'CERTIFICATE')
  const withAuthorities = ca === undefined ? common : { ...common, ca }
  expectContext('cacertfile', `${settings.caFile} contains no readable certificates of authorities`, withAuthorities)
  if (crl === undefined) return withAuthorities
  expectPem('crlfile', settings.crlFile, crl, 'X509 CRL')
  const withRevocations = { ...withAuthorities, crl }
  expectContext('crlfile', `${settings.crlFile} contains no readable list of revoked certificates`, withRevocations)
  return withRevocations
}

type ReadFile = (setting: TlsFileSetting, file: string) => Buffer

function addCertificate(
  shared: SecureContextOptions,
  files: CertificateFilesConfig,
  readOne: ReadFile,
): SecureContextOptions {
  const { certFile, keyFile, keyPassword } = files
  const cert = readOne('certfile', certFile)
  const key = readOne('keyfile', keyFile)
  expectPem('certfile', certFile, cert, 'CERTIFICATE')
  expectContext('certfile', `${certFile} contains no readable certificate`, { ...shared, cert })
  const withKey = { ...shared, key, ...(keyPassword === undefined ? {} : { passphrase: keyPassword }) }
  expectContext('keyfile', `${keyFile} contains no readable private key, or key_password is not its password`, withKey)
  const whole = { ...withKey, cert }
  expectContext('keyfile', `${keyFile} is not the key of the certificate in ${certFile}`, whole)
  return whole
}

function createNamedContext(
  shared: SecureContextOptions,
  files: NamedCertificateFilesConfig,
  readOne: ReadFile,
): SecureContext {
  try {
    return createSecureContext(addCertificate(shared, files, readOne))
  } catch (error) {
    if (error instanceof FileProblem) error.certificateName = files.name
    throw error
  }
}

function expectContext(setting: TlsFileSetting, problem: string, options: SecureContextOptions): void {
  try {
    createSecureContext(options)
  } catch (error) {
    throw new FileProblem(setting, `${problem} (${readOpenSslReason(error as Error)})`)
  }
}

function readSettingFile(setting: TlsFileSetting, file: string, readFile: FileReading): Buffer {
  try {
    return readFile(file)
  } catch (error) {
    throw new FileProblem(setting, `cannot read ${file}: ${describeFileError(error)}`)
  }
}

/** An empty or incomplete file would mean that there are no authorities, and clients would not be verified. */
function expectPem(setting: TlsFileSetting, file: string | undefined, content: Buffer, label: string): void {
  const text = content.toString('latin1')
  const begins = text.split(`-----BEGIN ${label}-----`).length - 1
  const ends = text.split(`-----END ${label}-----`).length - 1
  if (begins === 0 || begins !== ends) {
    throw new FileProblem(setting, `${file} contains no complete PEM block "${label}"; write it again`)
  }
}

/** A file without text, such as one that a full disk has cut, is in use: a key that was removed must not be accepted. It is reported. */
function readKeys(file: string, content: Buffer): Pick<TlsMaterial, 'keys' | 'warning'> {
  const text = content.toString('utf8')
  const parsed = parsePskFile(text)
  if ('problem' in parsed) throw new FileProblem('psk_file', `${file}, line ${parsed.line}: ${parsed.problem}`)
  if (text.trim() !== '') return { keys: parsed.keys, warning: undefined }
  const message = `${file} is empty, so no client has a key from it; restore it, or write a comment such as "# no keys"`
  return { keys: parsed.keys, warning: { setting: 'psk_file', certificateName: undefined, message, isInUse: true } }
}
