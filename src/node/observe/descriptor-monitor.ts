// Checks whether the system still lets this process open files. Otherwise connections are closed at once or wait, and the database cannot
// create files, without an error that says why.
//
//   each second: open a file ──> success ───────> how many are open, and the limit (ends after ten successes)
//                           └──> EMFILE, ENFILE ─> an alarm, and one more second without free descriptors
//
// Connections may use the free descriptors except for a reserve, which the listeners of the shards observe: a connection beyond that is
// refused and counted there, before the runtime fails.

import { closeSync, openSync, readFileSync, statSync } from 'node:fs'
import { devNull } from 'node:os'
import type { Alarms } from './raised-alarms.ts'
import { setFreeDescriptors } from '../../transports/index.ts'
import { parseOpenFileLimit } from '../data-dir/machine-limits.ts'

const intervalMs = 1_000
/** Prevents that the alarm repeatedly ends and starts while the last descriptor is used and freed. */
const goodLooksToEnd = 10
/** Reserve for the database and the log: this number, or this part of the limit if that is lower. */
const keptDescriptors = 16
const keptShare = 1 / 16

export interface DescriptorMonitorOptions {
  readonly alarms: Pick<Alarms, 'raise' | 'end'>
  /** Receives the number that connections may still use. */
  readonly freeDescriptors?: SharedArrayBuffer
  /** Opens a file and closes it. Throws the system's error. */
  readonly tryToOpen?: () => void
}

/** The last values; undefined: the system does not provide them. */
export interface OpenFiles {
  /** Files, sockets and everything else with a descriptor. */
  readonly count: number | undefined
  /** The limit. */
  readonly limit: number | undefined
}

export class DescriptorMonitor {
  readonly #alarms: DescriptorMonitorOptions['alarms']
  readonly #tryToOpen: () => void
  readonly #freeDescriptors: SharedArrayBuffer | undefined
  #open: OpenFiles = { count: undefined, limit: undefined }
  #lackingSeconds = 0
  /** Consecutive successes since the last failure; undefined: no alarm is active. */
  #goodLooks: number | undefined = undefined
  #timer: NodeJS.Timeout | undefined = undefined

  constructor({ alarms, freeDescriptors, tryToOpen = openNothing }: DescriptorMonitorOptions) {
    this.#alarms = alarms
    this.#freeDescriptors = freeDescriptors
    this.#tryToOpen = tryToOpen
  }

  get open(): OpenFiles {
    return this.#open
  }

  /** Number of checks (one per second) without a free descriptor since the start. */
  get lackingSeconds(): number {
    return this.#lackingSeconds
  }

  start(): void {
    this.poll()
    this.#timer = setInterval(() => this.poll(), intervalMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  poll(): void {
    try {
      this.#tryToOpen()
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // Other errors of that file say nothing about descriptors.
      if (code === 'EMFILE' || code === 'ENFILE') return this.#recordFailure(code)
    }
    this.#recordSuccess()
  }

  #recordFailure(code: 'EMFILE' | 'ENFILE'): void {
    this.#lackingSeconds += 1
    this.#open = { ...this.#open, count: countOpen() }
    if (this.#freeDescriptors !== undefined) setFreeDescriptors(this.#freeDescriptors, 0)
    if (this.#goodLooks === undefined) this.#alarms.raise('descriptors', describeDescriptors(code, this.#open))
    this.#goodLooks = 0
  }

  #recordSuccess(): void {
    const [count, limit] = [countOpen(), readLimit() ?? this.#open.limit]
    this.#open = { count, limit }
    if (this.#freeDescriptors !== undefined)
      setFreeDescriptors(this.#freeDescriptors, computeFreeDescriptors(this.#open))
    if (this.#goodLooks === undefined) return
    this.#goodLooks += 1
    if (this.#goodLooks < goodLooksToEnd) return
    this.#goodLooks = undefined
    this.#alarms.end('descriptors', 'files can be opened again, and clients are let in')
  }
}

function computeFreeDescriptors({ count, limit }: OpenFiles): number {
  if (count === undefined || limit === undefined) return Infinity
  return Math.floor(limit - count - Math.min(keptDescriptors, limit * keptShare))
}

function openNothing(): void {
  closeSync(openSync(devNull, 'r'))
}

function describeDescriptors(code: 'EMFILE' | 'ENFILE', { count }: OpenFiles): string {
  const consequence = 'connected clients are served, new ones are refused or wait'
  return code === 'EMFILE'
    ? `the process cannot open files, ${count ?? 'as many as the system allows'} are open: ${consequence}; raise the open-file limit (ulimit -n)`
    : `the machine cannot open files: ${consequence}; find the program that has most files open`
}

/** Since Linux 6.2 the size of this folder is the number of its entries; before that it is 0. */
function countOpen(): number | undefined {
  try {
    const { size } = statSync('/proc/self/fd')
    return size > 0 ? size : undefined
  } catch {
    // Not a Linux.
    return undefined
  }
}

/** Reads the limit again each time, because it may change while the broker runs. */
function readLimit(): number | undefined {
  try {
    const limit = parseOpenFileLimit(readFileSync('/proc/self/limits', 'utf8'))
    return Number.isFinite(limit) ? limit : undefined
  } catch {
    // Not Linux, or no descriptor is free now.
    return undefined
  }
}
