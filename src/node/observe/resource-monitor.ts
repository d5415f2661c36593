// Monitors the disk of the data directory, before it is full, and certificates of listeners and bridges, before they
// expire.

import { X509Certificate } from 'node:crypto'
import { readFile, statfs } from 'node:fs/promises'
import type { Alarms } from './raised-alarms.ts'

/** A certificate that the broker uses. */
export interface CertificateReading {
  /** User of the certificate: `listener ssl default`, `bridge north`. */
  readonly of: string
  readonly file: string
  /** Wall clock. */
  readonly endsAtMs: number
}

const diskIntervalMs = 10_000
const certificateIntervalMs = 3_600_000
const dayMs = 86_400_000
/** Minimum free space for writes at any time: logs and compaction of the database. */
const minFreeBytes = 128 * 1_024 * 1_024
const warningDays = 30
const bytesPerMib = 1_048_576

/** A certificate that the broker uses. */
export type ShownCertificate = Pick<CertificateReading, 'of' | 'file'>

export interface ResourceMonitorOptions {
  /** Absolute. */
  readonly dataDirectory: string
  /** The current ones; `file` absolute. */
  readonly listCertificates: () => readonly ShownCertificate[]
  readonly alarms: Alarms
  readonly nowMs?: () => number
  /** Free space of a directory's disk, for this account. */
  readonly readFreeBytes?: (directory: string) => Promise<number>
}

export class ResourceMonitor {
  readonly #options: ResourceMonitorOptions
  #timers: NodeJS.Timeout[] = []
  #diskFreeBytes: number | undefined = undefined
  /** Free space at the last alarm: it is raised again when half of that is left. */
  #reportedFreeBytes = 0
  #certificates: readonly CertificateReading[] = []
  /** Number of the last check of certificates. */
  #lastCheck = 0
  /** Last text about expiring certificates, by their users. */
  readonly #raised = new Map<string, string>()

  constructor(options: ResourceMonitorOptions) {
    this.#options = options
  }

  /** The last value; undefined: unknown. */
  get diskFreeBytes(): number | undefined {
    return this.#diskFreeBytes
  }

  /** Certificates that could be read. */
  get certificates(): readonly CertificateReading[] {
    return this.#certificates
  }

  start(): void {
    const checkDisk = (): void => void this.checkDisk()
    const checkCertificates = (): void => void this.checkCertificates()
    checkDisk()
    checkCertificates()
    this.#timers = [
      setInterval(checkDisk, diskIntervalMs).unref(),
      setInterval(checkCertificates, certificateIntervalMs).unref(),
    ]
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer)
  }

  async checkDisk(): Promise<void> {
    const { dataDirectory, alarms, readFreeBytes = readDiskFreeBytes } = this.#options
    this.#diskFreeBytes = undefined
    try {
      this.#diskFreeBytes = await readFreeBytes(dataDirectory)
    } catch (error) {
      return alarms.raise('disk-unreadable', `the disk under ${dataDirectory}: ${(error as Error).message}`)
    }
    alarms.end('disk-unreadable', 'it can be looked at again')
    if (this.#diskFreeBytes >= minFreeBytes) return alarms.end('disk-full', 'the disk has enough free space again')
    const isReported = alarms.listActive().some(({ name }) => name === 'disk-full')
    const text = `${Math.floor(this.#diskFreeBytes / bytesPerMib)} MiB are left on the disk under ${dataDirectory}: free some space`
    if (isReported && this.#diskFreeBytes > this.#reportedFreeBytes / 2) return alarms.update('disk-full', text)
    this.#reportedFreeBytes = this.#diskFreeBytes
    alarms.raise('disk-full', text)
  }

  /** Resolves when every certificate file was checked. If it is called again meanwhile, for changed listeners, the result of this call is dropped. */
  async checkCertificates(): Promise<void> {
    const check = ++this.#lastCheck
    const shown = this.#options.listCertificates()
    const found = await Promise.all(shown.map(async (one) => ({ ...one, endsAtMs: await readExpiry(one.file) })))
    if (check !== this.#lastCheck) return
    // The user of an unreadable certificate reports it.
    this.#certificates = found.filter((one) => one.endsAtMs !== undefined) as readonly CertificateReading[]
    for (const certificate of this.#certificates) this.#judge(certificate)
    const inUse = new Set(shown.map(formatSource))
    for (const source of this.#raised.keys()) if (!inUse.has(source)) this.#end(source, `${source} is in use no more`)
  }

  #judge(certificate: CertificateReading): void {
    const { alarms, nowMs = Date.now } = this.#options
    const { of, file, endsAtMs } = certificate
    const source = formatSource(certificate)
    const days = Math.floor((endsAtMs - nowMs()) / dayMs)
    if (days >= warningDays) return this.#end(source, `${file} is good for ${days} days`)
    const text = `${of}: the certificate in ${file} ${describeDays(days)}: renew it`
    if (this.#raised.get(source) === text) return
    this.#raised.set(source, text)
    alarms.raise('certificate-ends', text, source)
  }

  #end(source: string, message: string): void {
    if (this.#raised.delete(source)) this.#options.alarms.end('certificate-ends', message, source)
  }
}

function describeDays(days: number): string {
  if (days < 0) return 'has ended'
  return days === 0 ? 'ends today' : days === 1 ? 'ends in a day' : `ends in ${days} days`
}

function formatSource({ of: user, file }: ShownCertificate): string {
  return `${user} ${file}`
}

async function readExpiry(file: string): Promise<number | undefined> {
  try {
    return Date.parse(new X509Certificate(await readFile(file)).validTo)
  } catch {
    return undefined
  }
}

async function readDiskFreeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}
