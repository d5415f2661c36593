import { isIPv4, isIPv6 } from './bind.ts'
import { createTypeProblem, toScalarText, showText, type SettingType } from './setting-type.ts'

/** Allows or denies connections from an address. */
export interface AccessRule {
  readonly isAllowed: boolean
  /** An address, or a network such as `10.0.0.0/8`; undefined: every address. */
  readonly range: string | undefined
}

/** An address or a network: `10.0.0.5`, `10.0.0.0/8`, `fd00::/8`. */
export const addressRange: SettingType<string> = {
  name: 'an address or a network such as 10.0.0.0/8',
  jsonSchema: { type: 'string' },
  read(value) {
    const text = toScalarText(value) ?? ''
    return isAddressRange(text) ? { value: text } : createTypeProblem(this.name, value)
  },
  show: showText,
}

/** A range, or a word for this machine or its private network. */
export const deniedAddresses: SettingType<string> = {
  name: 'loopback, private, or a network such as 10.0.0.0/8',
  jsonSchema: { type: 'string' },
  read(value) {
    const text = toScalarText(value) ?? ''
    const isKnown = text === 'loopback' || text === 'private' || isAddressRange(text)
    return isKnown ? { value: text } : createTypeProblem(this.name, value)
  },
  show: showText,
}

/** `allow` or `deny`, followed by an address, a network or `all`. */
export const accessRule: SettingType<AccessRule> = {
  name: 'a rule such as "allow 10.0.0.0/8" or "deny all"',
  jsonSchema: { type: 'string', pattern: String.raw`^(allow|deny) +(all|[0-9a-fA-F:./]+)$` },
  read(value) {
    const [, verb, range = ''] = /^(allow|deny) +(\S+)$/i.exec((toScalarText(value) ?? '').trim()) ?? []
    if (verb === undefined) return createTypeProblem(this.name, value)
    const isAllowed = verb.toLowerCase() === 'allow'
    if (range.toLowerCase() === 'all') return { value: { isAllowed, range: undefined } }
    return isAddressRange(range) ? { value: { isAllowed, range } } : createTypeProblem(this.name, value)
  },
  show: ({ isAllowed, range }) => JSON.stringify(`${isAllowed ? 'allow' : 'deny'} ${range ?? 'all'}`),
}

function isAddressRange(text: string): boolean {
  const [, address = '', prefix] = /^([0-9a-fA-F:.]{2,45})(?:\/([0-9]{1,3}))?$/.exec(text) ?? []
  const bits = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1
  return bits >= 0 && (prefix === undefined || Number(prefix) <= bits)
}
