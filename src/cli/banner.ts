// The lines that `godwit start` prints when the node is started.

import type { ListenerAddress } from '../node/index.ts'
import type { RunningNode } from '../boot/index.ts'
import { formatTrialCommand, type TrialAccess } from './trial-command.ts'

export interface BannerFacts {
  readonly version: string
  readonly profile: string
  /** Undefined: the built-in defaults. */
  readonly configFile: string | undefined
  /** Name of the node. */
  readonly name: string
  readonly dataDirectory: string
  readonly listeners: readonly ListenerAddress[]
  readonly management: Pick<RunningNode['management'], 'address' | 'dashboardAddress'>
  toTrialAccess(listener: ListenerAddress): TrialAccess
}

/** A part of the banner that could not be made: nothing depends on it. */
export type OnBannerProblem = (part: string, error: unknown) => void

/**
 * Lines for the console, with the last line end. Each part is made on its own: the banner is only shown, so a mistake in one part
 * is reported and changes neither the other parts nor the node.
 */
export function formatBanner(facts: BannerFacts, onProblem: OnBannerProblem): string {
  const { version, profile, configFile, name, dataDirectory, listeners, management } = facts
  const make = (part: string, linesOf: () => readonly string[]): readonly string[] => {
    try {
      return linesOf()
    } catch (error) {
      onProblem(part, error)
      return []
    }
  }
  const lines = [
    `Godwit ${version}, node ${name}, profile ${profile}`,
    `  data directory  ${dataDirectory}`,
    ...make('configuration', () => formatConfigurationLines(configFile)),
    ...listeners.flatMap((listener) => [
      ...make(`address of ${listener.kind} ${listener.name}`, () => [formatListenerLine(listener)]),
      ...make(`command for ${listener.kind} ${listener.name}`, () =>
        formatTrialLines(listener, facts.toTrialAccess(listener)),
      ),
    ]),
    ...make('management', () => formatManagementLines(management)),
    ...(listeners.some((listener) => listener.isLoopback) ? networkLines : []),
  ]
  return `${lines.join('\n')}\n`
}

/** The password that this start has created. */
export function formatPasswordLine({
  username,
  password,
}: NonNullable<RunningNode['management']['newPassword']>): string {
  return `  log in as       ${username} with ${password} (shown this once)\n`
}

function formatConfigurationLines(configFile: string | undefined): readonly string[] {
  const line = `  configuration   ${configFile ?? 'built-in defaults'}`
  const hint = '                  to change settings, write a file of your own with godwit init'
  return isDefaults(configFile) ? [line, hint] : [line]
}

/** Returns whether the configuration is that of the package or built in: an upgrade replaces it. */
function isDefaults(configFile: string | undefined): boolean {
  return configFile === undefined || configFile.endsWith(' (defaults of the package)')
}

function formatOrigin({ host, port }: { readonly host: string; readonly port: number }): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function formatManagementLines({ address, dashboardAddress }: BannerFacts['management']): readonly string[] {
  if (address === undefined) return []
  const lines = [`  management API  ${formatOrigin(address)}/api/v4`]
  if (dashboardAddress !== undefined) lines.push(`  dashboard       ${formatOrigin(dashboardAddress)}/dashboard/`)
  return lines
}

const networkLines = [
  '  Only this machine reaches a listener on a loopback address. To open a listener to the network: bind it to an',
  '  address of this machine, or set node.default_listener_address = "0.0.0.0"; clients without a name and password',
  '  are then accepted only with auth.allow_anonymous = true.',
]

function formatListenerLine(listener: ListenerAddress): string {
  return `  listening       ${formatListenerUrl(listener)} (${listener.kind}, ${listener.name})`
}

function formatTrialLines(listener: ListenerAddress, access: TrialAccess): readonly string[] {
  const trial = formatTrialCommand(listener, access)
  return trial === undefined ? [] : [`  try it          ${trial}`]
}

const schemes = { tcp: 'mqtt', ssl: 'mqtts', ws: 'ws', wss: 'wss', quic: 'mqtt-quic' } as const

function formatListenerUrl(listener: ListenerAddress): string {
  const { kind, host, port } = listener
  const path = 'webSocket' in listener ? listener.webSocket.path : ''
  return `${schemes[kind]}://${host.includes(':') ? `[${host}]` : host}:${port}${path}`
}
