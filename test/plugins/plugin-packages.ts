// Archives of plugins for tests, as `npm pack` makes them, and hostile ones.

import { gzipSync } from 'node:zlib'
import { type Crafted, tarOf } from '../backup/crafted.ts'

export interface PackageText {
  readonly [key: string]: unknown
}

/** The smallest package.json of a plugin. */
export const smallestPackage: PackageText = {
  name: 'filter',
  version: '1.0.0',
  type: 'module',
  main: 'index.js',
  godwit: { api: 1, hooks: ['message.publish'] },
}

export const smallestEntry = "export default () => ({ 'message.publish': () => undefined })\n"

/** Returns the archive of a plugin. `fields` replace fields of the smallest package.json, `files` are added to the entry. */
export function packPlugin(fields: PackageText = {}, files: Readonly<Record<string, string | Buffer>> = {}): Buffer {
  const text = JSON.stringify({ ...smallestPackage, ...fields })
  const all = { 'package.json': text, 'index.js': smallestEntry, ...files }
  return packEntries(Object.entries(all).map(([name, content]) => ({ name: `package/${name}`, content })))
}

/** Returns an archive with these entries. */
export function packEntries(entries: readonly Crafted[]): Buffer {
  return gzipSync(tarOf(entries), { level: 1 })
}

export async function* inPieces(packed: Buffer, pieceBytes = 1_000): AsyncGenerator<Buffer> {
  for (let start = 0; start < packed.length; start += pieceBytes) yield packed.subarray(start, start + pieceBytes)
}
