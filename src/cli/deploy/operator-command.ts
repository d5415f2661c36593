// `godwit deploy operator`: runs the operator until a signal, or until it loses its lease.

import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { toJson } from '../../deploy/index.ts'
import { KubeClient, readKubeconfig, readPodConnection, type ConnectionReading } from '../../kubernetes/index.ts'
import { parseManifests } from '../../manifests/index.ts'
import { startOperator } from '../../operator/index.ts'
import { createLogger, describeFileError } from '../../telemetry/index.ts'
import { exitCodes, type Terminal } from '../terminal/terminal.ts'

export interface OperatorArguments {
  readonly namespace: readonly string[]
  readonly allNamespaces?: true | undefined
  readonly emqxGroup?: true | undefined
  /** False with `--no-leader-election`. */
  readonly leaderElection: boolean
  readonly kubeconfig?: string | undefined
  readonly healthPort: string
}

const maxPort = 65_535

/** Returns the exit code when the operator has ended. */
export async function runOperator(args: OperatorArguments, terminal: Terminal): Promise<number> {
  const { namespace: named, allNamespaces = false, kubeconfig } = args
  const healthPort = Number(args.healthPort)
  if (allNamespaces && named.length > 0) {
    terminal.fail('--namespace and --all-namespaces exclude each other: use one of them')
    return exitCodes.wrongUsage
  }
  if (!Number.isInteger(healthPort) || healthPort < 0 || healthPort > maxPort) {
    terminal.fail(`--health-port ${args.healthPort}: give a port, from 0 to ${maxPort}`)
    return exitCodes.wrongUsage
  }
  const reading = kubeconfig === undefined ? readPodConnection(process.env) : await readConfigFile(kubeconfig)
  if ('problem' in reading) return terminal.fail(reading.problem)
  const { connection } = reading
  const targets = { to: ['console'], dir: '', file: '', rotationSizeBytes: 0, rotationCount: 0 } as const
  const log = await createLogger({ level: 'info', ...targets })
  const ownNamespaces = named.length > 0 ? named : [connection.namespace]
  const operator = await startOperator({
    client: new KubeClient(connection),
    namespaces: allNamespaces ? undefined : ownNamespaces,
    acceptsEmqx: args.emqxGroup === true,
    usesLeaderElection: args.leaderElection,
    identity: `${hostname()}_${randomUUID()}`,
    log,
    healthPort,
  })
  log.info('operator started', {
    namespaces: allNamespaces ? 'all' : ownNamespaces.join(', '),
    healthPort: operator.healthPort,
  })
  const stop = (): void => void operator.stop()
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  const result = await operator.ended
  await operator.stop()
  await log.close()
  return result === 'stopped' ? exitCodes.done : exitCodes.failed
}

async function readConfigFile(file: string): Promise<ConnectionReading> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    return { problem: `--kubeconfig ${file}: ${describeFileError(error)}` }
  }
  const parsed = parseManifests(text)
  if ('faults' in parsed) return { problem: `${file}:${parsed.faults[0]?.line}: ${parsed.faults[0]?.message}` }
  const [document] = parsed.documents
  return readKubeconfig(document === undefined ? undefined : toJson(document), file)
}
