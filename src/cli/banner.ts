// What `godwit start` says once it serves.

import type { ListenerAddress, RunningNode } from '../node/index.ts'

export interface BannerFacts {
  readonly version: string
  readonly profile: string
  /** Undefined: the defaults that are built in. */
  readonly configFile: string | undefined
  readonly node: RunningNode
}

/** Lines for the console, with the last line end. */
export function banner({ version, profile, configFile, node }: BannerFacts): string {
  const lines = [
    `Godwit ${version}, node ${node.name}, profile ${profile}`,
    `  data directory  ${node.dataDirectory}`,
    `  configuration   ${configFile ?? 'built-in defaults'}`,
    ...node.listeners.flatMap(listenerLines),
  ]
  if (node.listeners.some((listener) => listener.isLoopback)) lines.push(...networkLines)
  return `${lines.join('\n')}\n`
}

const networkLines = [
  '  Only this machine reaches a listener on a loopback address. To open a listener to the network: bind it to an',
  '  address of this machine, or set node.default_listener_address = "0.0.0.0"; clients without a name and password',
  '  are then let in only with auth.allow_anonymous = true.',
]

function listenerLines(listener: ListenerAddress): string[] {
  const { name, host, port } = listener
  const shownHost = host.includes(':') ? `[${host}]` : host
  return [`  listening       mqtt://${shownHost}:${port} (tcp, ${name})`, `  try it          ${tryIt(host, port)}`]
}

function tryIt(host: string, port: number): string {
  const everywhere = host === '0.0.0.0' || host === '::'
  return `mosquitto_sub -h ${everywhere ? 'localhost' : host} -p ${port} -t '#' -v`
}
