// What `godwit start` says once it serves.

import type { ListenerAddress } from '../node/index.ts'

export interface BannerFacts {
  readonly version: string
  readonly profile: string
  /** Undefined: the defaults that are built in. */
  readonly configFile: string | undefined
  /** Of the node. */
  readonly name: string
  readonly dataDirectory: string
  readonly listeners: readonly ListenerAddress[]
}

/** Lines for the console, with the last line end. */
export function banner(facts: BannerFacts): string {
  const { version, profile, configFile, name, dataDirectory, listeners } = facts
  const lines = [
    `Godwit ${version}, node ${name}, profile ${profile}`,
    `  data directory  ${dataDirectory}`,
    `  configuration   ${configFile ?? 'built-in defaults'}`,
    ...listeners.flatMap(listenerLines),
  ]
  if (listeners.some((listener) => listener.isLoopback)) lines.push(...networkLines)
  return `${lines.join('\n')}\n`
}

const networkLines = [
  '  Only this machine reaches a listener on a loopback address. To open a listener to the network: bind it to an',
  '  address of this machine, or set node.default_listener_address = "0.0.0.0"; clients without a name and password',
  '  are then let in only with auth.allow_anonymous = true.',
]

function listenerLines(listener: ListenerAddress): string[] {
  const { kind, name, host, port } = listener
  const shownHost = host.includes(':') ? `[${host}]` : host
  const scheme = kind === 'ssl' ? 'mqtts' : 'mqtt'
  return [
    `  listening       ${scheme}://${shownHost}:${port} (${kind}, ${name})`,
    `  try it          ${tryIt(listener)}`,
  ]
}

function tryIt(listener: ListenerAddress): string {
  const { host, port } = listener
  const everywhere = host === '0.0.0.0' || host === '::'
  const reach = `mosquitto_sub -h ${everywhere ? 'localhost' : host} -p ${port}`
  return `${reach}${listener.kind === 'ssl' ? tlsWords(listener.tls) : ''} -t '#' -v`
}

function tlsWords({ certificate, failIfNoPeerCertificate }: Extract<ListenerAddress, { kind: 'ssl' }>['tls']): string {
  if (certificate === undefined) return ' --psk-identity NAME --psk KEY'
  return ` --cafile CA.pem${failIfNoPeerCertificate ? ' --cert CERT.pem --key KEY.pem' : ''}`
}
