// IP addresses and ranges as numbers, so that different spellings of an address are equal.
//
//   10.0.0.0/8        family 4, words [0x0a000000],          8 bits count
//   2001:db8::/32     family 6, words [0x20010db8, 0, 0, 0], 32 bits count
//
// An IPv4 address in IPv6 form (::ffff:10.0.0.1), as sockets for both families report it, is an IPv4 address.

/** One address: one or four words of 32 bits. */
export interface Address {
  readonly family: 4 | 6
  readonly words: readonly number[]
}

/** All addresses whose first `prefixBits` are those of `words`. */
export interface AddressRange extends Address {
  readonly prefixBits: number
}

const bitsOf = { 4: 32, 6: 128 } as const
const mappedPrefix = [0, 0, 0xffff] as const
const mappedBits = 96

/** Undefined if `text` is not an address. A zone (`%eth0`) is ignored, because it is not part of the address. */
export function parseAddress(text: string): Address | undefined {
  const zoneAt = text.indexOf('%')
  const bare = zoneAt === -1 ? text : text.slice(0, zoneAt)
  if (!bare.includes(':')) {
    const word = parseDotted(bare)
    return word === undefined || zoneAt !== -1 ? undefined : { family: 4, words: [word] }
  }
  const words = parseColons(bare)
  if (words === undefined) return undefined
  return isMapped(words) ? { family: 4, words: words.slice(3) } : { family: 6, words }
}

/** Parses an address, or a range such as `10.0.0.0/8`. Undefined if `text` is neither. */
export function parseAddressRange(text: string): AddressRange | undefined {
  const slash = text.indexOf('/')
  const addressText = slash === -1 ? text : text.slice(0, slash)
  const address = addressText.includes('%') ? undefined : parseAddress(addressText)
  if (address === undefined) return undefined
  const bits = bitsOf[address.family]
  if (slash === -1) return { ...address, prefixBits: bits }
  const written = text.slice(slash + 1)
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(written)) return undefined
  // In ::ffff:10.0.0.0/104 the first 96 bits mark IPv4.
  const isWrittenAsMapped = address.family === 4 && addressText.includes(':')
  const prefixBits = isWrittenAsMapped ? Number(written) - mappedBits : Number(written)
  return prefixBits < 0 || prefixBits > bits ? undefined : { ...address, prefixBits }
}

/** Returns whether the range contains the address. */
export function isInRange(address: Address, range: AddressRange): boolean {
  if (address.family !== range.family) return false
  let bitsLeft = range.prefixBits
  for (let index = 0; bitsLeft > 0; index++, bitsLeft -= 32) {
    const differing = (address.words[index] ?? 0) ^ (range.words[index] ?? 0)
    // Shifting by 32 does nothing in JavaScript, so a whole word is compared directly.
    if ((bitsLeft >= 32 ? differing : differing >>> (32 - bitsLeft)) !== 0) return false
  }
  return true
}

/** Leading zeros are refused: some programs read 010 as eight. */
function parseDotted(text: string): number | undefined {
  const parts = text.split('.')
  if (parts.length !== 4) return undefined
  let word = 0
  for (const part of parts) {
    if (!/^(?:0|[1-9][0-9]{0,2})$/.test(part) || Number(part) > 255) return undefined
    word = word * 256 + Number(part)
  }
  return word
}

function parseColons(text: string): number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const front = parseGroups(halves[0] ?? '', halves.length === 1)
  const back = halves.length === 2 ? parseGroups(halves[1] ?? '', true) : []
  if (front === undefined || back === undefined) return undefined
  const missing = 8 - front.length - back.length
  // `::` stands for at least one group.
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined
  const groups = [...front, ...Array.from({ length: missing }, () => 0), ...back]
  return [0, 2, 4, 6].map((at) => (groups[at] ?? 0) * 0x1_0000 + (groups[at + 1] ?? 0))
}

/** Groups of 16 bits; at the end of the text the last two may be an IPv4 address. */
function parseGroups(text: string, isEnd: boolean): number[] | undefined {
  if (text === '') return []
  const groups: number[] = []
  const parts = text.split(':')
  for (const [index, part] of parts.entries()) {
    if (part.includes('.') && isEnd && index === parts.length - 1) {
      const word = parseDotted(part)
      if (word === undefined) return undefined
      groups.push(Math.floor(word / 0x1_0000), word % 0x1_0000)
    } else if (/^[0-9A-Fa-f]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16))
    else return undefined
  }
  return groups
}

function isMapped(words: readonly number[]): boolean {
  return mappedPrefix.every((word, index) => words[index] === word)
}
