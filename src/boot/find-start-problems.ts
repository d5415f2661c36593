// Finds what would prevent a node from starting, without starting it: for `godwit config check`.

import { randomBytes } from 'node:crypto'
import { planRules } from '../actions/index.ts'
import type { GodwitConfig } from '../config/index.ts'
import { describeListenError } from '../transports/index.ts'
import {
  planBridges,
  createApiTokens,
  type Problem,
  describeDirectoryError,
  tryDirectory,
  findListener,
  describeTaken,
  findGatewayProblems,
  listPortHosts,
  findListenerFileProblems,
  resolveListeners,
  reserveTcpPort,
  toAccessSettings,
  findLogFileProblem,
} from '../node/index.ts'
import { findExposureProblem } from './management.ts'

export interface StartProblemOptions {
  /** Whether ports are bound briefly: a running broker on these ports would be reported. */
  readonly checksPorts: boolean
}

/**
 * A sentence each, which starts with the key of a setting. Creates nothing on disk, because the service may run as
 * another account. Directories that depend on `--data` are checked only by the start.
 */
export async function findStartProblems(config: GodwitConfig, { checksPorts }: StartProblemOptions): Promise<string[]> {
  const secret = randomBytes(secretBytes)
  const problems: string[] = []
  const addProblem = (result: object | undefined): void => {
    if (result !== undefined && 'problem' in result && typeof result.problem === 'string') problems.push(result.problem)
  }
  addProblem(await findDataDirectoryProblem(config))
  addProblem(await findLogFileProblem(config, config.node.dataDir))
  addProblem(toAccessSettings(config, secret))
  addProblem(planBridges(config, secret))
  addProblem(planRules(config, ''))
  for (const listener of config.listeners) {
    const ofFiles = findListenerFileProblems(listener)
    problems.push(...ofFiles)
    // Its files are checked with its port, so that nothing is reported twice.
    if (ofFiles.length === 0 && checksPorts) addProblem(await resolveListeners({ ...config, listeners: [listener] }))
  }
  problems.push(...(await findGatewayProblems(config, { checksPorts })))
  addProblem(createApiTokens(config))
  addProblem(await findExposureProblem(config, { warn: () => {} }))
  for (const server of listApiServers(config)) {
    const takenBy = findListener(config, { kind: 'tcp', ...server })
    if (takenBy !== undefined && server.port !== 0) problems.push(describeTaken(server.key, server, takenBy))
    else if (checksPorts) addProblem(await findPortProblem(server))
  }
  return problems
}

const secretBytes = 32

async function findDataDirectoryProblem({ node: { dataDir } }: GodwitConfig): Promise<Problem | undefined> {
  if (dataDir === undefined) return undefined
  try {
    await tryDirectory(dataDir)
    return undefined
  } catch (error) {
    return { problem: `node.data_dir: ${dataDir}: ${describeDirectoryError(error)}; choose another directory` }
  }
}

interface ApiServer {
  /** The setting of its port. */
  readonly key: string
  readonly host: string
  readonly port: number
}

/** The API, and the dashboard if it has an address of its own. */
function listApiServers(config: GodwitConfig): readonly ApiServer[] {
  const { isEnabled, host, port, dashboard } = config.http
  const [defaultHost = ''] = listPortHosts(config)
  if (!isEnabled) return []
  const api = { key: 'http_server.port', host: host ?? defaultHost, port }
  const bind = dashboard?.bind
  return bind === undefined ? [api] : [api, { key: 'dashboard.bind', host: bind.host ?? defaultHost, port: bind.port }]
}

async function findPortProblem({ key, host, port }: ApiServer): Promise<Problem | undefined> {
  try {
    const reserved = await reserveTcpPort(host, port, [])
    await reserved.release()
    return undefined
  } catch (error) {
    return { problem: `${key}: ${describeListenError(error as NodeJS.ErrnoException, host, port)}` }
  }
}
