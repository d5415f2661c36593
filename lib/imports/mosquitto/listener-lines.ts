// Settings of the listeners of mosquitto. A listener that would be open to more clients than before is written, but disabled.

import { listenerSettings } from './configuration-options.ts'
import type { MosquittoListener } from './configuration-reader.ts'
import type { ListenerPlan, PlannedListener } from './listener-policies.ts'

interface DescribedListeners {
  readonly lines: readonly string[]
  readonly skipped: readonly string[]
  readonly stricter: readonly string[]
}

/** `security`: options of all listeners; undefined: each has its own. */
export function describeListeners(
  { listeners }: ListenerPlan,
  security: ReadonlyMap<string, string> | undefined,
): DescribedListeners {
  const names = new Set<string>()
  const lines: string[] = []
  const skipped: string[] = []
  const stricter: string[] = []
  const kinds = new Set<string>()
  for (const planned of listeners) {
    const { listener, problem } = planned
    if (listener.port === undefined) {
      skipped.push(`${listener.place}: ${problem ?? ''}`)
      continue
    }
    const kind = toListenerKind(listener)
    const key = `listeners.${kind}.${chooseName(listener.port, kind, names)}`
    kinds.add(kind)
    lines.push(...new ListenerLines(planned, key, stricter).write(security ?? listener.security))
    if (problem === undefined) continue
    lines.push(`${key}.enable = false`)
    stricter.push(`${listener.place}: the listener is disabled: ${problem}; change it, and set ${key}.enable = true`)
  }
  if (!kinds.has('tcp')) lines.push('listeners.tcp.default.enable = false')
  return { lines, skipped, stricter }
}

function chooseName(port: number, kind: string, names: Set<string>): string {
  const isFirst = ![...names].some((name) => name.startsWith(`${kind}.`))
  let name = isFirst ? 'default' : `port${port}`
  for (let number = 2; names.has(`${kind}.${name}`); number++) name = `port${port}-${number}`
  names.add(`${kind}.${name}`)
  return name
}

const isSecure = ({ options }: MosquittoListener): boolean => options.has('certfile') || options.has('psk_hint')

function toListenerKind(listener: MosquittoListener): string {
  if (listener.protocol === 'websockets') return isSecure(listener) ? 'wss' : 'ws'
  return isSecure(listener) ? 'ssl' : 'tcp'
}

/** Settings that exist only with TLS. */
const tlsOptions: ReadonlySet<string> = new Set(['certfile', 'keyfile', 'cafile', 'crlfile'])

class ListenerLines {
  readonly #listener: MosquittoListener
  readonly #key: string
  readonly #stricter: string[]

  constructor({ listener }: PlannedListener, key: string, stricter: string[]) {
    this.#listener = listener
    this.#key = key
    this.#stricter = stricter
  }

  write(security: ReadonlyMap<string, string>): string[] {
    const { options, protocol } = this.#listener
    const lines = [
      `${this.#key}.bind = ${JSON.stringify(`${formatHost(this.#chooseHost())}:${this.#listener.port ?? 0}`)}`,
    ]
    for (const [word, name] of Object.entries(listenerSettings)) {
      const value = options.get(word)
      if (value === undefined || (tlsOptions.has(word) && !isSecure(this.#listener))) continue
      if (word !== 'max_connections') lines.push(this.#formatLine(name, JSON.stringify(value)))
      else if (/^[1-9]\d{0,8}$/.test(value)) lines.push(this.#formatLine(name, value))
    }
    const origin = options.get('websockets_origin')
    if (origin !== undefined && protocol === 'websockets')
      lines.push(this.#formatLine('allow_origins', JSON.stringify(origin.split(/[\s,]+/))))
    return isSecure(this.#listener) ? [...lines, ...this.#formatTlsLines(security)] : lines
  }

  #formatTlsLines(security: ReadonlyMap<string, string>): string[] {
    const { options } = this.#listener
    const lines: string[] = []
    const isSet = (word: string): boolean => options.get(word) === 'true'
    if (options.has('certfile') && isSet('require_certificate'))
      lines.push(this.#formatLine('verify_peer', 'true'), this.#formatLine('fail_if_no_peer_cert', 'true'))
    if (options.has('certfile') && isSet('use_identity_as_username'))
      lines.push(this.#formatLine('peer_cert_as_username', 'cn'))
    else if (options.has('certfile') && isSet('use_subject_as_username'))
      lines.push(this.#formatLine('peer_cert_as_username', 'dn'))
    if (options.has('psk_hint')) {
      lines.push(this.#formatLine('psk', 'true'))
      const file = security.get('psk_file')
      if (file !== undefined) lines.push(this.#formatLine('psk_file', JSON.stringify(file)))
    }
    const ciphers = ['ciphers', 'ciphers_tls1.3'].flatMap((word) => options.get(word) ?? [])
    if (ciphers.length > 0) lines.push(this.#formatLine('ciphers', JSON.stringify(ciphers.join(':'))))
    const version = options.get('tls_version')
    if (version === 'tlsv1.3') lines.push(this.#formatLine('tls_versions', '[tlsv1.3]'))
    else if (version !== undefined && version !== 'tlsv1.2')
      this.#restrict(`tls_version ${version}: clients need TLS 1.2 or 1.3`)
    return lines
  }

  /** mosquitto can bind to an interface, or to one family of addresses. */
  #chooseHost(): string {
    const { host, options } = this.#listener
    const network = options.get('bind_interface')
    if (host !== undefined) return host
    if (network !== undefined) {
      this.#restrict(
        `bind_interface ${network}: the listener is on loopback; set ${this.#key}.bind to the address of ${network}`,
      )
      return '127.0.0.1'
    }
    if (options.get('socket_domain') === 'ipv6') {
      this.#restrict(`socket_domain ipv6: the listener is on loopback; set ${this.#key}.bind to an IPv6 address`)
      return '::1'
    }
    if (options.get('socket_domain') !== 'ipv4')
      this.#restrict(
        `the listener has IPv4 addresses only; for IPv6 as well, set ${this.#key}.bind = "[::]:${this.#listener.port ?? 0}"`,
      )
    return '0.0.0.0'
  }

  #formatLine(name: string, value: string): string {
    return `${this.#key}.${name} = ${value}`
  }

  #restrict(message: string): void {
    this.#stricter.push(`${this.#listener.place}: ${message}`)
  }
}

const formatHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)
