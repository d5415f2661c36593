// The disk under the data directory, before it is full, and the certificates of listeners, before they have ended.

import { X509Certificate } from 'node:crypto'
import { readFile, statfs } from 'node:fs/promises'
import type { Alarms } from './alarms.ts'
import type { ListenerAddress } from './listener-addresses.ts'

const diskIntervalMs = 10_000
const certificateIntervalMs = 3_600_000
const dayMs = 86_400_000
/** So much is left for what is written at any time: journals, logs, compaction. */
const leastFreeBytes = 128 * 1_024 * 1_024
const daysOfWarning = 30

export interface ResourceWatchOptions {
  /** Absolute. */
  readonly dataDirectory: string
  /** Those that are open now. */
  readonly listeners: () => readonly ListenerAddress[]
  readonly alarms: Alarms
  readonly nowMs?: () => number
  /** Of the disk under a directory, for this account. */
  readonly freeBytes?: (directory: string) => Promise<number>
}

export class ResourceWatch {
  readonly #options: ResourceWatchOptions
  #timers: NodeJS.Timeout[] = []

  constructor(options: ResourceWatchOptions) {
    this.#options = options
  }

  start(): void {
    const look = (): void => void this.lookAtCertificates()
    look()
    this.#timers = [
      setInterval(() => void this.lookAtDisk(), diskIntervalMs).unref(),
      setInterval(look, certificateIntervalMs).unref(),
    ]
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer)
  }

  async lookAtDisk(): Promise<void> {
    const { dataDirectory, alarms, freeBytes = freeBytesOf } = this.#options
    let free
    try {
      free = await freeBytes(dataDirectory)
    } catch (error) {
      return alarms.raise('disk-unreadable', `the disk under ${dataDirectory}: ${(error as Error).message}`)
    }
    alarms.over('disk-unreadable', 'it can be looked at again')
    if (free >= leastFreeBytes) return alarms.over('disk-full', 'there is room on the disk again')
    if (alarms.active().some(({ name }) => name === 'disk-full')) return
    const text = `${Math.floor(free / 1_048_576)} MiB are left on the disk under ${dataDirectory}: make room on it`
    alarms.raise('disk-full', text)
  }

  /** Resolves when every certificate file has been looked at. */
  async lookAtCertificates(): Promise<void> {
    for (const listener of this.#options.listeners()) {
      if (!('tls' in listener)) continue
      const { certificate, byServerName } = listener.tls
      for (const files of [...(certificate === undefined ? [] : [certificate]), ...byServerName]) {
        await this.#lookAt(`${listener.kind} ${listener.name}`, files.certFile)
      }
    }
  }

  async #lookAt(listener: string, file: string): Promise<void> {
    const { alarms, nowMs = Date.now } = this.#options
    const endsAtMs = await endOf(file)
    // A file that cannot be read is told of by the listener itself.
    if (endsAtMs === undefined) return
    const source = `${listener} ${file}`
    const days = Math.floor((endsAtMs - nowMs()) / dayMs)
    if (days >= daysOfWarning) return alarms.over('certificate-ends', `${file} is good for ${days} days`, source)
    const when = days < 0 ? 'has ended' : `ends in ${days} days`
    alarms.raise('certificate-ends', `listener ${listener}: the certificate in ${file} ${when}: renew it`, source)
  }
}

async function endOf(file: string): Promise<number | undefined> {
  try {
    return Date.parse(new X509Certificate(await readFile(file)).validTo)
  } catch {
    return undefined
  }
}

async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}
