// Whether the system still lets this process open files. Where it does not, clients that come are let in and out again or
// wait at the door, and the database cannot begin another file: none of them says why, so it is looked for here.
//
//   look, each second: open a file ──> it opens ─────────> how many are open, of how many (over after ten good looks)
//                                 └──> EMFILE, ENFILE ───> an alarm, and a second more in which there was none
//
// What is left but for the last few is for connections, which the doors of the shards keep to: a client too many is turned
// away there, and counted, before the runtime has to do it.

import { closeSync, openSync, readFileSync, statSync } from 'node:fs'
import { devNull } from 'node:os'
import type { Alarms } from './alarms.ts'
import { setFreeDescriptors } from '../../transports/index.ts'
import { openFileLimitIn } from '../data-dir/machine-limits.ts'

const intervalMs = 1_000
/** Where the last one is taken and given back all the time the alarm does not come and go with it. */
const goodLooksToEnd = 10
/**
 * Of those that are left some are not for connections: the database opens a file now and then, and so does the log. So many,
 * or this part of all where there are few.
 */
const keptDescriptors = 16
const keptShare = 1 / 16

export interface DescriptorMonitorOptions {
  readonly alarms: Pick<Alarms, 'raise' | 'over'>
  /** Told how many connections may still take. */
  readonly descriptorRoom?: SharedArrayBuffer
  /** Opens a file and closes it. Throws the system's error. */
  readonly tryToOpen?: () => void
}

/** What was found last; undefined: the system does not tell. */
export interface OpenFiles {
  /** Files, sockets and whatever else has a descriptor. */
  readonly count: number | undefined
  /** As many as there may be. */
  readonly limit: number | undefined
}

export class DescriptorMonitor {
  readonly #alarms: DescriptorMonitorOptions['alarms']
  readonly #tryToOpen: () => void
  readonly #room: SharedArrayBuffer | undefined
  #open: OpenFiles = { count: undefined, limit: undefined }
  #lackingSeconds = 0
  /** In a row, since there was none the last time; undefined: no alarm was raised. */
  #goodLooks: number | undefined = undefined
  #timer: NodeJS.Timeout | undefined = undefined

  constructor({ alarms, descriptorRoom, tryToOpen = openNothing }: DescriptorMonitorOptions) {
    this.#alarms = alarms
    this.#room = descriptorRoom
    this.#tryToOpen = tryToOpen
  }

  get open(): OpenFiles {
    return this.#open
  }

  /** Seconds in which none was left when it was looked, since the start. */
  get lackingSeconds(): number {
    return this.#lackingSeconds
  }

  start(): void {
    this.look()
    this.#timer = setInterval(() => this.look(), intervalMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  look(): void {
    try {
      this.#tryToOpen()
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // Whatever else is wrong with that file says nothing about others.
      if (code === 'EMFILE' || code === 'ENFILE') return this.#noteLack(code)
    }
    this.#noteRoom()
  }

  #noteLack(code: 'EMFILE' | 'ENFILE'): void {
    this.#lackingSeconds += 1
    this.#open = { ...this.#open, count: countOpen() }
    if (this.#room !== undefined) setFreeDescriptors(this.#room, 0)
    if (this.#goodLooks === undefined) this.#alarms.raise('descriptors', descriptorText(code, this.#open))
    this.#goodLooks = 0
  }

  #noteRoom(): void {
    const [count, limit] = [countOpen(), readLimit() ?? this.#open.limit]
    this.#open = { count, limit }
    if (this.#room !== undefined) setFreeDescriptors(this.#room, leftForConnections(this.#open))
    if (this.#goodLooks === undefined) return
    this.#goodLooks += 1
    if (this.#goodLooks < goodLooksToEnd) return
    this.#goodLooks = undefined
    this.#alarms.over('descriptors', 'files can be opened again, and clients are let in')
  }
}

function leftForConnections({ count, limit }: OpenFiles): number {
  if (count === undefined || limit === undefined) return Infinity
  return Math.floor(limit - count - Math.min(keptDescriptors, limit * keptShare))
}

function openNothing(): void {
  closeSync(openSync(devNull, 'r'))
}

function descriptorText(code: 'EMFILE' | 'ENFILE', { count }: OpenFiles): string {
  const consequence = 'clients that are there are served, others are turned away or wait'
  return code === 'EMFILE'
    ? `no file can be opened any more, ${count ?? 'as many as the system allows'} are open: ${consequence}; raise the open-file limit (ulimit -n)`
    : `the machine can open no file any more: ${consequence}; look which program has so many open`
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

/** It can be changed from outside while the broker runs. */
function readLimit(): number | undefined {
  try {
    const limit = openFileLimitIn(readFileSync('/proc/self/limits', 'utf8'))
    return Number.isFinite(limit) ? limit : undefined
  } catch {
    // Not a Linux, or the last descriptor went just now.
    return undefined
  }
}
