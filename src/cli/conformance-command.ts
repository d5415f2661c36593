// `godwit conformance`: a report by clause.

import { type ConformanceResult, runConformance, trustOption } from '../../lib/probes/index.ts'
import { describeConnectionError } from '../telemetry/index.ts'
import { type ProbeArguments, readTarget } from './bench-command.ts'
import { exitCodes, type Terminal } from './terminal/terminal.ts'

export interface ConformanceArguments extends ProbeArguments {
  readonly protocol?: string
  readonly timeout: string
  readonly json?: true
}

/** Failed where a statement is not kept. Gives the exit code. */
export async function runConformanceCommand(args: ConformanceArguments, terminal: Terminal): Promise<number> {
  const { protocol, timeout, json } = args
  const target = await readTarget(args)
  const responseTimeoutMs = Number(timeout)
  const isVersion = protocol === undefined || protocol === '4' || protocol === '5'
  const isTime = responseTimeoutMs >= 10 && responseTimeoutMs <= 60_000
  if ('problem' in target || !isVersion || !isTime) {
    const wrong = isVersion ? '--timeout: give 10 to 60000' : '--protocol: give 4 or 5'
    terminal.fail('problem' in target ? target.problem : wrong)
    return exitCodes.wrongUsage
  }
  const versions = protocol === undefined ? ([4, 5] as const) : [protocol === '5' ? (5 as const) : (4 as const)]
  try {
    const results = await runConformance({ target, versions, responseTimeoutMs }, (result) => {
      if (json !== true) terminal.print(formatResult(result))
    })
    if ('problem' in results) return terminal.fail(`${args.url}: ${results.problem}`)
    const broken = results.filter(({ isKept }) => !isKept).length
    terminal.print(
      json === true
        ? `${JSON.stringify(results)}\n`
        : `the broker conforms to ${results.length - broken} of ${results.length} statements\n`,
    )
    return broken === 0 ? exitCodes.done : exitCodes.failed
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    return terminal.fail(`${args.url}: ${describeConnectionError(error as Error, trustOption)}`)
  }
}

function formatResult({ version, clause, statement, isKept, seen }: ConformanceResult): string {
  const state = isKept ? 'kept  ' : 'BROKEN'
  return `${state}  ${version === 5 ? '5.0  ' : '3.1.1'}  ${clause.padEnd(14)}  ${statement}${seen === undefined ? '' : `: ${seen}`}\n`
}
