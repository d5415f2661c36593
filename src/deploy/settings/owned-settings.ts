// Settings that follow from the resource. They are arguments of the broker (`--set`), so that no import and no change over its API moves them.

import { directories, fileNames, nameObjects, ownVariables } from '../resource/cluster-names.ts'
import type { PortName } from '../resource/broker-template-fields.ts'
import { findCertificateOwner, listOpenPorts, type TemplateDraft } from '../resource/open-ports.ts'

/** The kind of listener of each port for clients. */
export const listenerKinds = { mqtt: 'tcp', mqtts: 'ssl', ws: 'ws', wss: 'wss' } as const
type ClientPort = keyof typeof listenerKinds

export const clientPorts = Object.keys(listenerKinds) as ClientPort[]

const ownedSettings: ReadonlyMap<string, string> = new Map([
  ['node.data_dir', 'set storage for the data'],
  ['node.name', 'remove it: each pod has its own name'],
  ['auth.acl.file', 'set emqxTemplate.acl'],
  ['http_server.enable', 'remove it: the probes need the API'],
  ['http_server.ip_addr', 'set emqxTemplate.listener.ports.api'],
  ['http_server.port', 'set emqxTemplate.listener.ports.api'],
  ['http_server.operator_keyfile', 'remove it: the operator makes the key'],
  ['dashboard.bind', 'set emqxTemplate.listener.ports.dashboard'],
])

const listenerHints: ReadonlyMap<string, string> = new Map([
  ['bind', 'set emqxTemplate.listener.ports'],
  ['enable', 'set emqxTemplate.listener.ports; 0 closes a port'],
  ['certfile', 'set emqxTemplate.listener.certificate'],
  ['keyfile', 'set emqxTemplate.listener.certificate'],
  ['cacertfile', 'set emqxTemplate.listener.certificate'],
])

/** Returns what to do instead of setting `key`; undefined: it may be set. */
export function findOwnedReason(key: readonly string[]): string | undefined {
  const [section, kind = '', ...rest] = key
  if (section === 'listeners' && ['tcp', 'ssl', 'ws', 'wss'].includes(kind)) {
    const name = rest[0] === 'default' ? rest[1] : rest[0]
    return rest.length <= (rest[0] === 'default' ? 2 : 1) && name !== undefined ? listenerHints.get(name) : undefined
  }
  return ownedSettings.get(key.join('.'))
}

/** Returns the port whose listener a setting is about; undefined: it is about no listener of a port. */
export function findListenerPort(key: readonly string[]): ClientPort | undefined {
  const [section, kind, ...rest] = key
  if (section !== 'listeners') return undefined
  const port = clientPorts.find((name) => listenerKinds[name] === kind)
  // A named listener has an address of its own.
  return rest.length === 1 || rest[0] === 'default' ? port : undefined
}

export interface OwnedOptions {
  readonly name: string
  /** Undefined: the namespace is that of the pod. */
  readonly namespace: string | undefined
  readonly template: TemplateDraft | undefined
  readonly hasAclFile: boolean
}

/** Returns the arguments `KEY=VALUE`, sorted. */
export function listOwnedSettings({ name, namespace, template, hasAclFile }: OwnedOptions): readonly string[] {
  const ports = listOpenPorts(template)
  const namespaceText = namespace ?? `$(${ownVariables.podNamespace})`
  const host = `$(${ownVariables.podName}).${nameObjects(name).headless}.${namespaceText}.svc`
  const settings = new Map<string, string>([
    ['node.data_dir', directories.data],
    ['node.name', `godwit@${host}`],
    ['http_server.ip_addr', '0.0.0.0'],
    ['http_server.port', String(ports.get('api'))],
    ['http_server.operator_keyfile', `${directories.operator}/${fileNames.operatorPublicKey}`],
  ])
  if (hasAclFile) settings.set('auth.acl.file', `${directories.acl}/${fileNames.acl}`)
  const dashboard = ports.get('dashboard')
  if (dashboard !== undefined) settings.set('dashboard.bind', `0.0.0.0:${dashboard}`)
  for (const port of clientPorts) {
    const number = ports.get(port)
    if (number !== undefined) addListener(settings, port, number, template)
  }
  return [...settings].map(([key, value]) => `${key}=${value}`).toSorted()
}

function addListener(
  settings: Map<string, string>,
  port: ClientPort,
  number: number,
  template: TemplateDraft | undefined,
): void {
  const prefix = `listeners.${listenerKinds[port]}`
  settings.set(`${prefix}.bind`, `0.0.0.0:${number}${isWebSocket(port) ? '/mqtt' : ''}`)
  if (port !== 'mqtts' && port !== 'wss') return
  const owner = findCertificateOwner(template?.listener, port)
  if (owner === undefined) return
  settings.set(`${prefix}.certfile`, `${directories[owner]}/${fileNames.certificate}`)
  settings.set(`${prefix}.keyfile`, `${directories[owner]}/${fileNames.key}`)
  if (hasAuthorities(template, owner))
    settings.set(`${prefix}.cacertfile`, `${directories[owner]}/${fileNames.authorities}`)
}

function isWebSocket(port: PortName): boolean {
  return port === 'ws' || port === 'wss'
}

/** A Secret of a user is not known here, so its authorities are not used. */
function hasAuthorities(template: TemplateDraft | undefined, owner: 'mqtts' | 'wss'): boolean {
  const certificate = template?.listener?.certificate?.[owner]
  return [certificate?.data, certificate?.stringData].some((part) => (part?.['ca.cert'] ?? '') !== '')
}
