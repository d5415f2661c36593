// Bans of EMQX 4: `who` is an object with one member. A ban that cannot be converted would admit a banned client, so it stops the
// conversion.

import { parseAddressRange } from '../../../src/config/index.ts'
import type { BanRecord } from '../../../src/records/index.ts'
import { InvalidArchive } from '../../../src/archives/index.ts'
import { type Emqx4Entry, readText, readTime } from './emqx4-entries.ts'

/** Throws InvalidArchive. */
export function convertBans(entries: readonly Emqx4Entry[]): BanRecord[] {
  return entries.map((entry, index) => {
    const { who, by, reason, at, until } = entry
    const isObject = typeof who === 'object' && who !== null && !Array.isArray(who)
    const members = Object.entries(isObject ? who : {})
    const [kind, name] = members.length === 1 ? (members[0] ?? []) : [entry['as'] ?? entry['type'], who]
    const text = readText(name)
    const isKnown = kind === 'clientid' || kind === 'username' || kind === 'peerhost'
    const isAddress = kind !== 'peerhost' || (text !== undefined && parseAddressRange(text) !== undefined)
    if (!isKnown || text === undefined || text === '' || text.includes('\0') || !isAddress) {
      throw new InvalidArchive(
        `blacklist, entry ${index + 1} does not name a client ID, a user name or an address, and without it a banned client would be admitted: correct or remove the entry`,
      )
    }
    // A ban whose end is not known has none.
    const untilMs = typeof until === 'number' ? until * 1_000 : undefined
    return {
      kind: 'ban',
      as: kind,
      who: text,
      reason: readText(reason) ?? '',
      by: readText(by) ?? '',
      atMs: readTime(at),
      untilMs,
    }
  })
}
