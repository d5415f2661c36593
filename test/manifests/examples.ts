// Example resources. Their certificates are made at each run, so that no key is in the sources.

import { readdirSync, readFileSync } from 'node:fs'
import { Authority } from '../transports/certificates.ts'

const folder = new URL('examples/', import.meta.url)
const authority = new Authority('Authority')
/** For mqtt.example.org. */
export const certificate = authority.issue('mqtt.example.org')

/** What stands for the certificates in the files, as text or in base64 (below `data:`). */
const placeholders = [
  ['AUTHORITY', authority.certificate],
  ['CERTIFICATE', certificate.certificate],
  ['PRIVATE-KEY', certificate.key],
] as const

function insertCertificates(text: string): string {
  const inData = /\bdata: \{[^}]*\}/.test(text)
  let inserted = text
  for (const [name, pem] of placeholders) {
    const value = inData ? Buffer.from(pem).toString('base64') : JSON.stringify(pem)
    inserted = inserted.replace(name, () => value)
  }
  return inserted
}

/** Returns the text with placeholders for the certificates. */
export function removeCertificates(text: string): string {
  let removed = text
  for (const [name, pem] of placeholders) removed = removed.replaceAll(Buffer.from(pem).toString('base64'), name)
  return removed
}

/** Names and texts of the examples. */
export const exampleResources: readonly (readonly [name: string, text: string])[] = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => [name.replace('.yaml', ''), insertCertificates(readFileSync(new URL(name, folder), 'utf8'))])
