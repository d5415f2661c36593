// Finds what would prevent a node from starting, without starting it: for `godwit config check`.

import { randomBytes } from 'node:crypto'
import type { GodwitConfig } from '../../config/index.ts'
import { listenErrorText } from '../../transports/index.ts'
import { planBridges } from '../bridges/bridge-config.ts'
import { GatewayPlanner } from '../gateways/gateway-config.ts'
import { hostsOfPort, problemOfListenerFiles, resolveListeners } from '../listeners/listener-addresses.ts'
import { reserveTcpPort } from '../listeners/reserve-port.ts'
import { accessSettingsOf } from '../records/access-settings.ts'
import { planRules } from '../rules/rule-config.ts'
import { problemOfExposure } from './management.ts'

export interface StartProblemOptions {
  /** Whether ports are bound briefly: a running broker on these ports would be reported. */
  readonly checksPorts: boolean
}

/** A sentence each, which starts with the key of a setting. */
export async function startProblems(config: GodwitConfig, { checksPorts }: StartProblemOptions): Promise<string[]> {
  const secret = randomBytes(secretBytes)
  const problems: string[] = []
  const note = (result: object): void => {
    if ('problem' in result && typeof result.problem === 'string') problems.push(result.problem)
  }
  note(accessSettingsOf(config, secret))
  note(planBridges(config, secret))
  note(planRules(config, ''))
  for (const listener of config.listeners) {
    const one = { ...config, listeners: [listener] }
    const ofFiles = problemOfListenerFiles(one, { listeners: [] }, new Map())
    if (ofFiles !== undefined) problems.push(ofFiles)
    // Its files are checked with its port, so that nothing is reported twice.
    else if (checksPorts) note(await resolveListeners(one))
  }
  note((await problemOfExposure(config, { warn: () => {} })) ?? {})
  if (checksPorts) {
    note(await new GatewayPlanner(1).plan(config, []))
    note(await problemOfApiPort(config))
  }
  return problems
}

const secretBytes = 32

async function problemOfApiPort(config: GodwitConfig): Promise<{ readonly problem?: string }> {
  const { isEnabled, port } = config.http
  if (!isEnabled) return {}
  const [host = ''] = config.http.host === undefined ? hostsOfPort(config) : [config.http.host]
  try {
    const reserved = await reserveTcpPort(host, port, [])
    await reserved.release()
    return {}
  } catch (error) {
    return { problem: `http_server.port: ${listenErrorText(error as NodeJS.ErrnoException, host, port)}` }
  }
}
