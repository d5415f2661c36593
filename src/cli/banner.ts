// The lines that `godwit start` prints when the node is started.

import type { ListenerAddress, RunningNode } from '../node/index.ts'
import { trialCommand, type TrialAccess } from './trial-command.ts'

export interface BannerFacts {
  readonly version: string
  readonly profile: string
  /** Undefined: the built-in defaults. */
  readonly configFile: string | undefined
  /** Name of the node. */
  readonly name: string
  readonly dataDirectory: string
  readonly listeners: readonly ListenerAddress[]
  readonly management: RunningNode['management']
  accessTo(listener: ListenerAddress): TrialAccess
}

/** Lines for the console, with the last line end. */
export function banner(facts: BannerFacts): string {
  const { version, profile, configFile, name, dataDirectory, listeners } = facts
  const lines = [
    `Godwit ${version}, node ${name}, profile ${profile}`,
    `  data directory  ${dataDirectory}`,
    `  configuration   ${configFile ?? 'built-in defaults'}`,
    ...(isDefaults(configFile)
      ? ['                  to change settings, write a file of your own with godwit init']
      : []),
    ...listeners.flatMap((listener) => listenerLines(listener, facts.accessTo(listener))),
    ...managementLines(facts.management),
  ]
  if (listeners.some((listener) => listener.isLoopback)) lines.push(...networkLines)
  return `${lines.join('\n')}\n`
}

/** Returns whether the configuration is that of the package or built in: an upgrade replaces it. */
function isDefaults(configFile: string | undefined): boolean {
  return configFile === undefined || configFile.endsWith(' (defaults of the package)')
}

function originOf({ host, port }: { readonly host: string; readonly port: number }): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function managementLines({ address, dashboardAddress, newPassword }: RunningNode['management']): string[] {
  if (address === undefined) return []
  const lines = [`  management API  ${originOf(address)}/api/v4`]
  if (dashboardAddress !== undefined) lines.push(`  dashboard       ${originOf(dashboardAddress)}/dashboard/`)
  if (newPassword === undefined) return lines
  const { username, password } = newPassword
  return [...lines, `  log in as       ${username} with ${password} (shown this once)`]
}

const networkLines = [
  '  Only this machine reaches a listener on a loopback address. To open a listener to the network: bind it to an',
  '  address of this machine, or set node.default_listener_address = "0.0.0.0"; clients without a name and password',
  '  are then accepted only with auth.allow_anonymous = true.',
]

function listenerLines(listener: ListenerAddress, access: TrialAccess): string[] {
  const { kind, name } = listener
  const trial = trialCommand(listener, access)
  return [
    `  listening       ${urlOf(listener)} (${kind}, ${name})`,
    ...(trial === undefined ? [] : [`  try it          ${trial}`]),
  ]
}

const schemes = { tcp: 'mqtt', ssl: 'mqtts', ws: 'ws', wss: 'wss', quic: 'mqtt-quic' } as const

function urlOf(listener: ListenerAddress): string {
  const { kind, host, port } = listener
  const path = 'webSocket' in listener ? listener.webSocket.path : ''
  return `${schemes[kind]}://${host.includes(':') ? `[${host}]` : host}:${port}${path}`
}
