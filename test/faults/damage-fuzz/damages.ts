// The kinds of damage to a file.

import { readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import type { Random } from '../../simulator/random.ts'

const pageBytes = 4_096
const footerBytes = 48

export type Damage = (path: string, random: Random) => void

export const damages: Readonly<Record<string, Damage>> = {
  'cut at random': (path, random) => truncateSync(path, random.between(0, Math.max(0, statSync(path).size - 1))),
  'cut to a page': (path, random) =>
    truncateSync(path, Math.min(pageBytes * random.between(0, 4), statSync(path).size)),
  'lost its footer': (path) => truncateSync(path, Math.max(0, statSync(path).size - footerBytes)),
  'footer overwritten': (path) => fill(path, statSync(path).size - footerBytes, footerBytes),
  'a page of zeros': (path, random) =>
    fill(path, pageBytes * random.between(0, Math.floor(statSync(path).size / pageBytes)), pageBytes),
  'its last page zeros': (path) => fill(path, pageBytes * Math.floor((statSync(path).size - 1) / pageBytes), pageBytes),
  'a bit turned over': (path, random) =>
    change(path, (bytes) => {
      const at = random.between(0, bytes.length - 1)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.between(0, 7))
    }),
  'bytes at random': (path, random) =>
    change(path, (bytes) => {
      const from = random.between(0, bytes.length - 1)
      const end = Math.min(bytes.length, from + random.between(1, 512))
      for (let at = from; at < end; at++) bytes[at] = random.between(0, 255)
    }),
  emptied: (path) => truncateSync(path, 0),
  removed: (path) => rmSync(path),
}

function fill(path: string, from: number, count: number): void {
  change(path, (bytes) => bytes.fill(0, Math.max(0, from), Math.min(bytes.length, from + count)))
}

function change(path: string, how: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path)
  if (bytes.length > 0) how(bytes)
  writeFileSync(path, bytes)
}
