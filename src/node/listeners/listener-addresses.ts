// Converts configured listeners into addresses for shards: the profile determines the host of a port without one, port
// 0 is resolved, and a used port is detected here, with a clear error.

import { readFileSync } from 'node:fs'
import { lookup } from 'node:dns/promises'
import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { GodwitConfig, ListenerConfig, TlsConfig } from '../../config/index.ts'
import { reserveTcpPort, reserveUdpPort, type Place, type ReservedPort } from './reserve-port.ts'
import {
  isSocketPath,
  findQuicFilesProblem,
  findTlsFilesProblem,
  type TlsProblem,
  findUnreadableTlsFiles,
  describeListenError,
} from '../../transports/index.ts'

/** A configured listener, resolved for this machine. File names are absolute. */
export type ListenerAddress = ListenerConfig & {
  /** An address, not a name. */
  readonly host: string
  readonly isLoopback: boolean
}

export type ResolvedListeners = { readonly listeners: readonly ListenerAddress[] } | { readonly problem: string }

/** Resolves all listeners. Binds each port, and releases all ports when all are known, so that no port is assigned twice. */
export async function resolveListeners(config: GodwitConfig): Promise<ResolvedListeners> {
  const reserved: ReservedPort[] = []
  const takenTcp: Place[] = []
  try {
    const listeners: ListenerAddress[] = []
    for (const listener of config.listeners) {
      const bound = await reserveFirst(listener, listHosts(listener, config), takenTcp)
      if ('problem' in bound) return bound
      reserved.push(bound)
      if (listener.kind !== 'quic') takenTcp.push(bound.place)
      const checked = resolveFiles(listener, bound.place)
      if ('problem' in checked) return checked
      listeners.push(checked.listener)
    }
    return { listeners }
  } finally {
    await Promise.all(reserved.map((port) => port.release()))
  }
}

export type ResolvedListener = { readonly listener: ListenerAddress } | { readonly problem: string }

/** Resolves a new listener of a running broker. `freePorts`: ports of listeners that will be closed. */
export async function resolveListener(
  listener: ListenerConfig,
  config: GodwitConfig,
  freePorts: readonly number[],
): Promise<ResolvedListener> {
  const hosts = listHosts(listener, config)
  if (listener.host !== undefined && isSocketPath(listener.host))
    return resolveFiles(listener, { host: listener.host, port: 0 })
  const bound = await reserveFirst(listener, hosts, [])
  if ('problem' in bound) {
    if (bound.code !== 'EADDRINUSE' || !freePorts.includes(listener.port)) return bound
    const { address: host } = await lookup(bound.host)
    return resolveFiles(listener, { host, port: listener.port })
  }
  await bound.release()
  return resolveFiles(listener, bound.place)
}

/** Returns a listener with the same address and new settings. */
export function resolveChanged({ host, port }: ListenerAddress, listener: ListenerConfig): ResolvedListener {
  return resolveFiles(listener, { host, port })
}

function resolveFiles(listener: ListenerConfig, { host, port }: Place): ResolvedListener {
  const resolved = { host, port, isLoopback: listener.isOnlyReachedLocally ?? isLoopbackAddress(host) }
  if (!('tls' in listener)) return { listener: { ...listener, ...resolved } }
  const tls = toAbsoluteFiles(listener.tls)
  const problem = findContentProblem(listener.kind, tls)
  if (problem !== undefined) return { problem: `${formatFileKey(listener, problem)}: ${problem.message}` }
  return { listener: { ...listener, ...resolved, tls } }
}

function findContentProblem(kind: ListenerConfig['kind'], tls: TlsConfig): TlsProblem | undefined {
  return kind === 'quic' ? findQuicFilesProblem(tls) : findTlsFilesProblem(tls)
}

/** Returns every reason why a listener cannot use its files. Each starts with the key of a setting. */
export function findListenerFileProblems(listener: ListenerConfig): string[] {
  if (!('tls' in listener)) return []
  const tls = toAbsoluteFiles(listener.tls)
  const unreadable = findUnreadableTlsFiles(tls)
  const ofContents = unreadable.length === 0 ? findContentProblem(listener.kind, tls) : undefined
  const problems = ofContents === undefined ? unreadable : [ofContents]
  return problems.map((problem) => `${formatFileKey(listener, problem)}: ${problem.message}`)
}

/**
 * Returns why a listener that is not among `known` cannot use its files; undefined: it can. `texts`: files that do not
 * exist yet, by path.
 */
export function findListenerFileProblem(
  { listeners }: Pick<GodwitConfig, 'listeners'>,
  known: Pick<GodwitConfig, 'listeners'>,
  texts: ReadonlyMap<string, Buffer>,
): string | undefined {
  const read = (file: string): Buffer => texts.get(file) ?? readFileSync(file)
  const before = new Map(known.listeners.map((listener) => [`${listener.kind} ${listener.name}`, listener]))
  for (const listener of listeners) {
    const isKnown = isDeepStrictEqual(before.get(`${listener.kind} ${listener.name}`), listener)
    if (!('tls' in listener) || isKnown) continue
    const problem = findTlsFilesProblem(toAbsoluteFiles(listener.tls), read)
    if (problem !== undefined) return `${formatFileKey(listener, problem)}: ${problem.message}`
  }
  return undefined
}

/** Makes file names absolute. They are relative to the working directory, like files on the command line. */
export function toAbsoluteFiles(tls: TlsConfig): TlsConfig {
  return {
    ...tls,
    certificate: tls.certificate === undefined ? undefined : toAbsolutePair(tls.certificate),
    byServerName: tls.byServerName.map(toAbsolutePair),
    caFile: toAbsolutePath(tls.caFile),
    crlFile: toAbsolutePath(tls.crlFile),
    pskFile: toAbsolutePath(tls.pskFile),
  }
}

function toAbsolutePair<Files extends { readonly certFile: string; readonly keyFile: string }>(files: Files): Files {
  return { ...files, certFile: resolve(files.certFile), keyFile: resolve(files.keyFile) }
}

function toAbsolutePath(file: string | undefined): string | undefined {
  return file === undefined ? undefined : resolve(file)
}

/** Returns whether only this machine can reach the address. */
export function isLoopbackAddress(address: string): boolean {
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
  return plain === '::1' || /^127\.\d+\.\d+\.\d+$/.test(plain)
}

/** Returns the hosts on which the API and the dashboard are served. */
export function listApiHosts(config: Pick<GodwitConfig, 'node' | 'http'>): readonly string[] {
  const { host, dashboard } = config.http
  const ofApi = host === undefined ? listPortHosts(config) : [host]
  if (dashboard?.bind === undefined) return ofApi
  return [...ofApi, ...(dashboard.bind.host === undefined ? listPortHosts(config) : [dashboard.bind.host])]
}

/** Returns the hosts to try, in order. The next host is tried only if the machine does not have the address of the one before. */
export function listHosts(listener: ListenerConfig, config: GodwitConfig): readonly string[] {
  return listener.host === undefined ? listPortHosts(config) : [listener.host]
}

/** Returns the hosts for a setting that has only a port. */
export function listPortHosts(config: Pick<GodwitConfig, 'node'>): readonly string[] {
  const { defaultListenerAddress, securityProfile } = config.node
  if (defaultListenerAddress !== undefined) return [defaultListenerAddress]
  return securityProfile === 'legacy' ? ['::', '0.0.0.0'] : ['127.0.0.1']
}

type Reserved = ReservedPort | { readonly problem: string; readonly code: string | undefined; readonly host: string }

async function reserveFirst(
  listener: ListenerConfig,
  hosts: readonly string[],
  taken: readonly Place[],
): Promise<Reserved> {
  const [host = '', ...others] = hosts
  try {
    if (listener.kind === 'quic') return await reserveUdpPort(host, listener.port)
    return await reserveTcpPort(host, listener.port, taken)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const isMissing = code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL'
    if (isMissing && others.length > 0) return reserveFirst(listener, others, taken)
    const why = describeListenError(error as NodeJS.ErrnoException, host, listener.port)
    return { code, host, problem: `${formatKey(listener, 'bind')}: ${why}` }
  }
}

function formatFileKey(listener: ListenerConfig, { setting, certificateName }: TlsProblem): string {
  return formatKey(listener, certificateName === undefined ? setting : `sni.${certificateName}.${setting}`)
}

/** Returns the dotted key of a setting of the listener. */
function formatKey({ kind, name }: ListenerConfig, setting: string): string {
  return name === 'default' ? `listeners.${kind}.${setting}` : `listeners.${kind}.${name}.${setting}`
}
