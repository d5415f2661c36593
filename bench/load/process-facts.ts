// Memory and processor time of another process on Linux. On other systems the values are undefined, and the tables show a dash.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Resident memory in KiB, all threads together. */
export function residentKib(pid: number | undefined): number | undefined {
  const pages = readProc(`/proc/${pid}/statm`)?.split(' ')[1]
  return pages === undefined ? undefined : Number(pages) * 4
}

/** Anonymous memory in KiB: without pages of files, which processes share and the operating system takes back. */
export function anonymousKib(pid: number | undefined): number | undefined {
  const kib = readProc(`/proc/${pid}/status`)?.match(/^RssAnon:\s+(\d+) kB$/m)?.[1]
  return kib === undefined ? undefined : Number(kib)
}

/** Seconds of processor time used so far, all threads together. */
export function cpuSeconds(pid: number | undefined): number | undefined {
  const fields = readProc(`/proc/${pid}/stat`)?.split(') ')[1]?.split(' ')
  return fields === undefined ? undefined : (Number(fields[11]) + Number(fields[12])) / 100
}

/** The process that listens on a port: a given command may have started it indirectly. */
export function listenerPid(port: number): number | undefined {
  const inode = listeningInode(port)
  if (inode === undefined) return undefined
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .find((pid) => holdsSocket(pid, inode))
}

function listeningInode(port: number): string | undefined {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  const lines = `${readProc('/proc/net/tcp') ?? ''}\n${readProc('/proc/net/tcp6') ?? ''}`.split('\n')
  const fields = lines.map((line) => line.trim().split(/\s+/))
  return fields.find((line) => line[1]?.endsWith(`:${hexPort}`) && line[3] === '0A')?.[9]
}

function holdsSocket(pid: number, inode: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`)
  } catch {
    // The process has ended, or belongs to another user: it is not one of the measured processes.
    return false
  }
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    // The process has ended, or the system has no /proc.
    return undefined
  }
}
