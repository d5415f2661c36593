import type { ConfigValue } from '../hocon/config-values.ts'
import { createTypeProblem, toScalarText, showText, type ReadValue, type SettingType } from './setting-type.ts'

/** Address of a listener. Without a host it depends on the security profile. */
export interface Bind {
  /** Address or host name, without brackets. */
  readonly host: string | undefined
  /** 0: any free port. */
  readonly port: number
}

/** Like `Bind`, with the path for WebSocket connections. */
export interface BindWithPath extends Bind {
  readonly path: string
}

const name = 'a port (1883), or an address and a port ("127.0.0.1:1883", "[::1]:1883")'

export const bind: SettingType<Bind> = {
  name,
  jsonSchema: { type: ['string', 'integer'], minimum: 0, maximum: 65_535 },
  read: (value) => {
    const read = parseBind(toScalarText(value) ?? '')
    return read === undefined ? createTypeProblem(name, value) : { value: read }
  },
  show: showBind,
}

/** An address or host name without a port; IPv6 with or without brackets. */
export const address: SettingType<string> = {
  name: 'an address such as 0.0.0.0',
  jsonSchema: { type: 'string' },
  read(value) {
    const text = toScalarText(value) ?? ''
    const isBareIPv6 = text.includes(':') && !text.startsWith('[')
    const host = parseBind(isBareIPv6 ? `[${text}]:0` : `${text}:0`)?.host
    return host === undefined ? createTypeProblem(this.name, value) : { value: host }
  },
  show: showText,
}

/** `host:port/path`, for WebSocket listeners; default path `/mqtt`. */
export const bindWithPath: SettingType<BindWithPath> = {
  name: `${name}, followed by a path ("0.0.0.0:8083/mqtt")`,
  jsonSchema: bind.jsonSchema,
  read(value: ConfigValue): ReadValue<BindWithPath> {
    const text = toScalarText(value) ?? ''
    const slash = text.indexOf('/')
    const path = slash === -1 ? '/mqtt' : text.slice(slash)
    const read = parseBind(slash === -1 ? text : text.slice(0, slash))
    if (read === undefined || !/^\/[A-Za-z0-9/._~-]{0,200}$/.test(path)) return createTypeProblem(this.name, value)
    return { value: { ...read, path } }
  },
  show: (value) => JSON.stringify(`${value.host === undefined ? value.port : showHost(value)}${value.path}`),
}

/** Parses an address with a port; undefined if invalid. */
export function parseBind(text: string): Bind | undefined {
  const parts =
    /^(?:(\[[0-9a-fA-F:.]{2,45}(?:%[A-Za-z0-9_.-]{1,32})?\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|):)?([0-9]{1,5})$/.exec(
      text,
    )
  if (parts === null) return undefined
  const port = Number(parts[2])
  const host = parts[1] === undefined || parts[1] === '' ? undefined : parts[1].replace(/^\[|\]$/g, '')
  if (port > 65_535 || (host !== undefined && !isPlausibleHost(host))) return undefined
  return { host, port }
}

/** A text like an IPv4 address must be one: "256.0.0.1" would otherwise be looked up as a name. */
function isPlausibleHost(host: string): boolean {
  if (host.includes(':')) return isIPv6(host.split('%', 1)[0] ?? '')
  return !/^[0-9.]+$/.test(host) || isIPv4(host)
}

/** Eight groups of up to four digits; `::` may replace some, and an IPv4 address the last two. */
export function isIPv6(address: string): boolean {
  const halves = address.split('::')
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')))
  const last = groups.at(-1)
  const isMixed = last !== undefined && isIPv4(last)
  const count = groups.length + (isMixed ? 1 : 0)
  const digits = isMixed ? groups.slice(0, -1) : groups
  const fits = halves.length === 2 ? count < 8 : halves.length === 1 && count === 8
  return fits && digits.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))
}

/** Four numbers up to 255. */
export function isIPv4(address: string): boolean {
  const numbers = address.split('.')
  return numbers.length === 4 && numbers.every((number) => /^[0-9]{1,3}$/.test(number) && Number(number) <= 255)
}

function showBind(value: Bind): string {
  return value.host === undefined ? String(value.port) : JSON.stringify(showHost(value))
}

function showHost(value: Bind): string {
  return `${value.host?.includes(':') === true ? `[${value.host}]` : value.host}:${value.port}`
}
