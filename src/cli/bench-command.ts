// `godwit bench publish|subscribe|connect`: measures a broker, with a line for each second.

import { readFile } from 'node:fs/promises'
import {
  type BenchOptions,
  type BenchResult,
  type BenchScenario,
  parseTarget,
  type ProbeTarget,
  runBench,
} from '../../lib/probes/index.ts'
import { exitCodes, type Terminal } from './terminal/terminal.ts'
import { describeFileError } from '../telemetry/index.ts'

export interface ProbeArguments {
  readonly url: string
  readonly username?: string | undefined
  readonly passwordFile?: string | undefined
  readonly ca?: string | undefined
}

export interface BenchArguments extends ProbeArguments {
  readonly clients: string
  readonly seconds: string
  readonly rate?: string | undefined
  readonly qos: string
  readonly size: string
  readonly protocol: string
  readonly json?: true
}

/** Returns the target of a probe, or a sentence about an invalid option. Passwords come from files, never from the command line. */
export async function readTarget(args: ProbeArguments): Promise<ProbeTarget | { readonly problem: string }> {
  const address = parseTarget(args.url)
  if ('problem' in address) return address
  const ca = await readOptionalFile(args.ca)
  if (ca !== undefined && 'problem' in ca) return ca
  const password = await readOptionalFile(args.passwordFile)
  if (password !== undefined && 'problem' in password) return password
  return { ...address, ca: ca?.text, username: args.username, password: password?.text.replace(/\r?\n$/, '') }
}

async function readOptionalFile(file: string | undefined): Promise<{ text: string } | { problem: string } | undefined> {
  if (file === undefined) return undefined
  try {
    return { text: await readFile(file, 'utf8') }
  } catch (error) {
    return { problem: `${file}: ${describeFileError(error)}` }
  }
}

export async function runBenchCommand(
  scenario: BenchScenario,
  args: BenchArguments,
  terminal: Terminal,
): Promise<number> {
  const options = await readOptions(scenario, args)
  if ('problem' in options) {
    terminal.fail(options.problem)
    return exitCodes.wrongUsage
  }
  const what = { publish: 'published', subscribe: 'delivered', connect: 'connected' }[scenario]
  const result = await runBench(options, ({ seconds, count, latencies }) => {
    if (args.json === true) return
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => latencies.computePercentileMs(share).toFixed(2))
    terminal.print(
      `${seconds.toFixed(0).padStart(4)} s  ${what} ${count}/s  p50 ${p50} ms  p95 ${p95} ms  p99 ${p99} ms\n`,
    )
  })
  if ('problem' in result) return terminal.fail(`${args.url}: ${result.problem}`)
  terminal.print(args.json === true ? `${JSON.stringify(result)}\n` : formatResult(result, what))
  if (result.failure === undefined) return exitCodes.done
  return terminal.fail(`${result.failed} clients failed, the first: ${result.failure}`)
}

function formatResult({ clients, seconds, count, perSecond, latencyMs }: BenchResult, countLabel: string): string {
  const { p50, p95, p99, max } = latencyMs
  const latency = [`p50 ${p50.toFixed(2)}`, `p95 ${p95.toFixed(2)}`, `p99 ${p99.toFixed(2)}`, `max ${max.toFixed(2)}`]
  return `${clients} clients, ${seconds.toFixed(1)} s: ${count} ${countLabel}, ${Math.round(perSecond)}/s; latency in ms: ${latency.join(', ')}\n`
}

async function readOptions(
  scenario: BenchScenario,
  args: BenchArguments,
): Promise<BenchOptions | { readonly problem: string }> {
  const target = await readTarget(args)
  if ('problem' in target) return target
  const numbers = {
    clients: parseNumber('--clients', args.clients, 100_000),
    seconds: parseNumber('--seconds', args.seconds, 86_400),
    rate: args.rate === undefined ? undefined : parseNumber('--rate', args.rate, 10_000_000),
    payloadBytes: parseNumber('--size', args.size, 10_485_760),
  }
  for (const value of Object.values(numbers)) if (typeof value === 'string') return { problem: value }
  if (!['0', '1', '2'].includes(args.qos)) return { problem: '--qos: use 0, 1 or 2' }
  if (!['4', '5'].includes(args.protocol)) return { problem: '--protocol: give 4 (MQTT 3.1.1) or 5' }
  const qos = Number(args.qos) as 0 | 1 | 2
  return {
    ...(numbers as { clients: number; seconds: number; rate: number | undefined; payloadBytes: number }),
    scenario,
    target,
    qos,
    version: args.protocol === '5' ? 5 : 4,
  }
}

/** Returns a whole number of at least 1, or a text about the problem. */
function parseNumber(option: string, word: string, max: number): number | string {
  const number = Number(word)
  return Number.isInteger(number) && number >= 1 && number <= max
    ? number
    : `${option} ${word}: give a number from 1 to ${max}`
}
