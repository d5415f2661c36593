// Checks across several settings.

import { createConfigError, type ConfigError, type Warning } from './hocon/config-errors.ts'
import type { GodwitConfig } from './godwit-config.ts'
import { dashboardListenerName, type ListenerConfig, type TlsConfig } from './listener-config.ts'
import { hoconLimits } from './hocon/hocon-limits.ts'
import type { Position } from './hocon/config-values.ts'

const nowhere: Position = { file: 'defaults', line: 0, column: 0 }

/** Positions of settings. */
interface WrittenPlaces {
  readonly exact: ReadonlyMap<string, Position>
  /** The first setting of each kind of listener and of each named listener. */
  readonly first: ReadonlyMap<string, Position>
}

function indexPositions(exact: ReadonlyMap<string, Position>): WrittenPlaces {
  const first = new Map<string, Position>()
  for (const [key, place] of exact) {
    if (!key.startsWith('listeners.')) continue
    const [, kind, name] = key.split('.', 3)
    if (kind === undefined || name === undefined) continue
    for (const part of [`listeners.${kind}`, `listeners.${kind}.${name}`]) if (!first.has(part)) first.set(part, place)
  }
  return { exact, first }
}

/** Checks the listeners of one configuration. `places`: positions of the written settings. */
export function checkListeners(
  { listeners, namespaces }: Pick<GodwitConfig, 'listeners' | 'namespaces'>,
  written: ReadonlyMap<string, Position>,
): readonly ConfigError[] {
  const errors: ConfigError[] = []
  const names = new Set<string>()
  const places = indexPositions(written)
  /** The first listener of each address and port. */
  const byAddress = new Map<string, ListenerConfig>()
  for (const listener of listeners) {
    if (errors.length >= hoconLimits.maxErrors) break
    const key = toSettingKey(listener, 'bind', places)
    const at = places.exact.get(key) ?? nowhere
    if ('tls' in listener) errors.push(...checkTls(listener, listener.tls, places))
    errors.push(...checkMountpoint(listener, places))
    if (listener.namespace !== undefined && namespaces === undefined) {
      const key = toSettingKey(listener, 'namespace', places)
      const message = 'namespaces are not enabled'
      errors.push(createConfigError(places.exact.get(key) ?? nowhere, key, message, 'set namespaces.enable = true'))
    }
    if (listener.kind === 'quic' && listener.proxyProtocol !== undefined) {
      const key = toSettingKey(listener, 'proxy_protocol', places)
      const message = 'there is no PROXY header over QUIC'
      errors.push(createConfigError(places.exact.get(key) ?? nowhere, key, message, 'remove the setting'))
    }
    if (names.has(`${listener.kind} ${listener.name}`)) {
      const message = `the listener default is configured twice: in listeners.${listener.kind} and under its name`
      errors.push(createConfigError(at, key, message, 'keep one of the two'))
    }
    names.add(`${listener.kind} ${listener.name}`)
    if (listener.kind === 'ws' && listener.name === dashboardListenerName) {
      const message = 'the listener of the WebSocket client of the dashboard has this name'
      errors.push(createConfigError(at, key, message, 'give it another name'))
    }
    const address = formatListenerAddress(listener)
    const twin = address === undefined ? undefined : byAddress.get(address)
    if (address !== undefined && twin === undefined) byAddress.set(address, listener)
    if (twin !== undefined && (twin.name !== listener.name || twin.kind !== listener.kind)) {
      const hint = 'give one of them another port'
      errors.push(createConfigError(at, key, `the listener ${twin.name} has the same address and port`, hint))
    }
  }
  return errors
}

/**
 * A loopback listener behind a proxy gets all clients from this machine. If anonymous access is not configured, the
 * default for loopback may not be intended for them.
 */
export function warnOfProxies(
  { listeners, auth, node }: Pick<GodwitConfig, 'listeners' | 'auth' | 'node'>,
  written: ReadonlyMap<string, Position>,
): readonly Warning[] {
  if (auth.allowAnonymous !== undefined || node.securityProfile !== 'hardened') return []
  const places = indexPositions(written)
  return listeners.flatMap((listener) => {
    const setting = findProxySetting(listener)
    const host = listener.host ?? node.defaultListenerAddress ?? 'localhost'
    if (setting === undefined || !/^(?:127\.|::1$|localhost$)/.test(host)) return []
    const message =
      'unauthenticated clients are accepted from this machine, and behind the proxy all clients may seem to be on it'
    const key = toSettingKey(listener, setting, places)
    return [
      createConfigError(
        findSettingPosition(listener, setting, places),
        key,
        message,
        'set auth.allow_anonymous to true or false',
      ),
    ]
  })
}

/** Returns the setting which shows that clients use a proxy. */
function findProxySetting(listener: ListenerConfig): 'proxy_protocol' | 'proxy_address_header' | undefined {
  if (listener.proxyProtocol !== undefined) return 'proxy_protocol'
  return 'webSocket' in listener && listener.webSocket.addressHeader !== undefined ? 'proxy_address_header' : undefined
}

/** An invalid mount point would refuse every client of the listener. */
function checkMountpoint(listener: ListenerConfig, places: WrittenPlaces): readonly ConfigError[] {
  const rest = listener.mountpoint.replaceAll(/\$\{(?:clientid|username)\}/g, '')
  const key = toSettingKey(listener, 'mountpoint', places)
  const at = findSettingPosition(listener, 'mountpoint', places)
  if (/[+#\0]/.test(rest)) {
    return [
      createConfigError(
        at,
        key,
        'a mount point must not contain + or #',
        'write a part of a topic, such as "plant-7/"',
      ),
    ]
  }
  if (/^\$(?!\{)/.test(listener.mountpoint)) {
    return [createConfigError(at, key, 'topics that begin with $ belong to the broker', 'remove the $')]
  }
  if (rest.includes('${')) {
    return [createConfigError(at, key, 'a placeholder is unknown', 'use ${clientid} or ${username}')]
  }
  return []
}

function toSettingKey(
  { kind, name }: Pick<ListenerConfig, 'kind' | 'name'>,
  setting: string,
  places: WrittenPlaces,
): string {
  const named = `listeners.${kind}.${name}.${setting}`
  return places.exact.has(named) || name !== 'default' ? named : `listeners.${kind}.${setting}`
}

/** Returns the position of the setting or, if it is not written, of the first written setting of its listener. */
function findSettingPosition(
  listener: Pick<ListenerConfig, 'kind' | 'name'>,
  setting: string,
  places: WrittenPlaces,
): Position {
  const written = places.exact.get(toSettingKey(listener, setting, places))
  if (written !== undefined) return written
  const { kind, name } = listener
  const ofKind = name === 'default' ? places.first.get(`listeners.${kind}`) : undefined
  return places.first.get(`listeners.${kind}.${name}`) ?? ofKind ?? nowhere
}

/** Reports settings that would leave clients unencrypted, or unverified although verification is configured. */
function checkTls(
  listener: Pick<ListenerConfig, 'kind' | 'name'>,
  tls: TlsConfig,
  places: WrittenPlaces,
): readonly ConfigError[] {
  const createError = (setting: string, message: string, hint: string): ConfigError => {
    const key = toSettingKey(listener, setting, places)
    return createConfigError(findSettingPosition(listener, setting, places), key, message, hint)
  }
  const errors: ConfigError[] = []
  if (tls.certificate === undefined && !tls.acceptsPsk) {
    const hint = listener.kind === 'quic' ? 'set certfile and keyfile' : 'set certfile and keyfile, psk_file, or psk'
    errors.push(createError('certfile', 'the listener has no certificate', hint))
  }
  for (const files of [tls.certificate, ...tls.byServerName]) {
    if (files === undefined) continue
    const below = 'name' in files ? `sni.${String(files.name)}.` : ''
    if (files.certFile === '')
      errors.push(createError(`${below}certfile`, 'there is a key without a certificate', 'set certfile'))
    if (files.keyFile === '')
      errors.push(createError(`${below}keyfile`, 'there is a certificate without its key', 'set keyfile'))
  }
  for (const { name, serverName } of tls.byServerName) {
    if (serverName === '')
      errors.push(createError(`sni.${name}.server_name`, 'no client can request an empty name', 'set server_name'))
  }
  if (tls.minVersion > tls.maxVersion)
    errors.push(createError('tls_versions', 'no version is allowed', 'name at least one'))
  if (tls.failIfNoPeerCertificate && !tls.verifyPeer) {
    errors.push(
      createError('fail_if_no_peer_cert', 'the listener requests no client certificate', 'set verify_peer = true'),
    )
  }
  if (tls.verifyPeer && tls.caFile === undefined) {
    const hint = 'set cacertfile to the authorities that sign for your clients'
    errors.push(createError('verify_peer', 'no client certificate can be accepted', hint))
  }
  return errors
}

/**
 * Returns address and port as one text; undefined for port 0, which is a different free port each time. UDP has ports
 * of its own.
 */
function formatListenerAddress({ kind, host, port }: ListenerConfig): string | undefined {
  return port === 0 ? undefined : `${kind === 'quic' ? 'udp' : 'tcp'} ${port} ${host ?? ''}`
}
