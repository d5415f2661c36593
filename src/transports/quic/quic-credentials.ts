// Files of a QUIC listener. The library accepts unencrypted PEM only, so a key with a passphrase is decrypted here. The
// library keeps what it got: changed revocation lists apply at once, because Godwit checks them; other changed files
// apply when the listener is opened again, which is reported.

import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { readRevocationLists, type RevocationLists } from '../certificates/revocation-lists.ts'
import { loadTlsFiles, computeFileStamp, type TlsProblem } from '../certificates/tls-files.ts'
import type { TlsConfig } from '../../config/index.ts'

/** Key and certificates of a QUIC listener, as PEM. */
export interface QuicCredentials {
  readonly key: string
  readonly certificate: string
  /** Authorities of client certificates. Undefined: no certificate is requested. */
  readonly authorities: string | undefined
  /** A client without a certificate is refused. */
  readonly requiresCertificate: boolean
  /** Returns the current lists. Absent or undefined: nothing is revoked. */
  readonly getRevocationLists?: () => RevocationLists | undefined
}

const ticketKeyBytes = 48
const fileCheckMs = 5_000

/** Returns why these files cannot be used for QUIC; undefined if they can. */
export function findQuicFilesProblem(settings: TlsConfig): TlsProblem | undefined {
  const reading = readFiles(settings)
  return 'problem' in reading ? reading.problem : undefined
}

export interface QuicFilesOptions {
  readonly settings: TlsConfig
  /** Reports changed files that are not in use; undefined: all files are in use again. */
  onProblem(problem: TlsProblem | undefined): void
}

/** The files of one open listener. */
export class QuicFiles {
  readonly credentials: QuicCredentials
  readonly #options: QuicFilesOptions
  readonly #inUse: FileContents
  readonly #timer: NodeJS.Timeout
  #lists: RevocationLists | undefined
  #stamp = ''
  #problem: TlsProblem | undefined = undefined
  #isClosed = false

  /** Reads and validates the files. The problem names the setting. */
  static open(options: QuicFilesOptions): { readonly files: QuicFiles } | { readonly problem: TlsProblem } {
    const reading = readFiles(options.settings)
    return 'problem' in reading ? reading : { files: new QuicFiles(options, reading.contents) }
  }

  private constructor(options: QuicFilesOptions, contents: FileContents) {
    this.#options = options
    this.#inUse = contents
    this.#lists = contents.lists
    const { key, certificate, authorities } = contents
    const requiresCertificate = options.settings.failIfNoPeerCertificate
    this.credentials = { key, certificate, authorities, requiresCertificate, getRevocationLists: () => this.#lists }
    this.#timer = setInterval(() => void this.reload(), fileCheckMs).unref()
  }

  /** Checks the files. Unusable ones are reported, and the previous ones stay in use. */
  async reload(): Promise<void> {
    const stamp = await computeFileStamp(this.#options.settings)
    if (stamp === this.#stamp || this.#isClosed) return
    const reading = readFiles(this.#options.settings)
    if ('problem' in reading) return this.#reportProblem(reading.problem)
    this.#stamp = stamp
    this.#lists = reading.contents.lists
    this.#reportProblem(findReloadProblem(this.#inUse, reading.contents))
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
  }

  #reportProblem(problem: TlsProblem | undefined): void {
    if (problem?.message === this.#problem?.message) return
    this.#problem = problem
    this.#options.onProblem(problem)
  }
}

interface FileContents {
  readonly key: string
  readonly certificate: string
  readonly authorities: string | undefined
  readonly lists: RevocationLists | undefined
}

function findReloadProblem(inUse: FileContents, now: FileContents): TlsProblem | undefined {
  const isOld = inUse.certificate === now.certificate && inUse.key === now.key
  if (isOld && inUse.authorities === now.authorities) return undefined
  const message = 'over QUIC a new certificate, or new authorities, are in use after the listener is reopened'
  return { setting: isOld ? 'cacertfile' : 'certfile', certificateName: undefined, message }
}

type Reading = { readonly contents: FileContents } | { readonly problem: TlsProblem }

function readFiles(settings: TlsConfig): Reading {
  // The library makes its own keys for session tickets.
  const loading = loadTlsFiles(settings, () => Buffer.alloc(ticketKeyBytes))
  if ('problem' in loading) return loading
  const { key, cert, ca, crl, passphrase } = loading.material.options
  const { verifyPeer, crlFile } = settings
  const contents = {
    key: decryptKey(toText(key), passphrase),
    certificate: toText(cert),
    authorities: verifyPeer ? toText(ca) : undefined,
    lists: undefined,
  }
  if (contents.authorities === undefined || crlFile === undefined) return { contents }
  const lists = readRevocationLists(toText(crl), contents.authorities)
  if ('lists' in lists) return { contents: { ...contents, lists: lists.lists } }
  return { problem: { setting: 'crlfile', certificateName: undefined, message: `${crlFile}, ${lists.problem}` } }
}

/** Returns the content of one file as text. */
function toText(pem: unknown): string {
  assert(Buffer.isBuffer(pem), 'files of a listener are read as bytes')
  return pem.toString('latin1')
}

function decryptKey(key: string, passphrase: string | undefined): string {
  if (passphrase === undefined) return key
  return createPrivateKey({ key, passphrase }).export({ type: 'pkcs8', format: 'pem' }).toString()
}
