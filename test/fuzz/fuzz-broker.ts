// Many incorrect clients at a time against a real broker. Requirements:
//
// - the process does not end, no shard fails, and no alarm is raised;
// - a healthy client is served all the time: each of its QoS 1 messages returns in time;
// - in runs with a duration: when all clients are disconnected, their sessions have expired and the idle broker has returned
//   memory, the broker uses as much memory as after a third of the run.

import { readFileSync } from 'node:fs'
import { Random } from '../protocol/fuzz/random.ts'
import type { WatchedProcess } from '../e2e/godwit-process.ts'
import { fuzzSession } from './fuzz-session.ts'
import { HealthyClient } from './healthy-client.ts'
import { runSession, type FuzzPorts } from './fuzz-stream.ts'

/** Settings of the fuzzed broker: sessions of unauthenticated clients end soon. */
export const fuzzSettings = [
  'mqtt.idle_timeout=2s',
  'mqtt.session_expiry_interval=2s',
  'mqtt.max_session_expiry_interval=2s',
  'mqtt.await_rel_timeout=2s',
  'mqtt.retry_interval=1s',
  'mqtt.max_unsent_bytes=256KB',
  'retainer.max_retained_messages=100',
  'retainer.msg_expiry_interval=5s',
  'log.level=error',
] as const

export interface FuzzOptions {
  readonly broker: WatchedProcess
  readonly ports: FuzzPorts
  readonly seed: number
  /**
   * Sessions, or a duration. Memory is compared only after a duration: a broker is not warm after some seconds, and each of the two
   * comparisons waits 50 s for the memory of a broker at rest.
   */
  readonly length: { readonly sessions: number } | { readonly seconds: number }
  /** Default: 40. */
  readonly clientsAtOnce?: number
  readonly report: (line: string) => void
}

/** Memory `before` the first client, at the end of the first third, and at the end. */
export interface ResidentMib {
  readonly before: number
  readonly warm: number
  readonly after: number
}

export interface FuzzOutcome {
  readonly sessions: number
  /** Delays of the healthy client. */
  readonly roundTrips: number
  readonly maxRoundTripMs: number
  /** Undefined in a run with a number of sessions. */
  readonly residentMib?: ResidentMib
}

/** The memory that an idle process keeps differs by at most this much between two measurements. */
const toleratedShare = 1.1
const toleratedMib = 16
/**
 * Sessions and retained messages of the last clients expire after a few seconds. An idle broker returns memory in
 * two steps of fifteen seconds each, after fifteen seconds in which it was idle (`src/shard/runtime/idle-gc.ts`).
 */
const restSeconds = 50
const warmShare = 1 / 3

/** Throws an Error with the seed if a requirement is violated. */
export async function fuzzBroker(options: FuzzOptions): Promise<FuzzOutcome> {
  const { broker, ports, length, seed } = options
  const healthy = await HealthyClient.connect(ports.tcp)
  const run: FuzzRun = { options, healthy, tally: { sessions: 0 } }
  const { tally } = run
  try {
    const resident = 'seconds' in length ? await fuzzWithRests(run, length.seconds) : undefined
    if ('sessions' in length) await fuzzUntil(run, () => tally.sessions >= length.sessions)
    await healthy.nextRoundTrip()
    const outcome = { ...tally, ...healthy.served, ...(resident === undefined ? {} : { residentMib: resident }) }
    check(broker, outcome)
    return outcome
  } catch (error) {
    throw new Error(
      `seed ${seed}, ${tally.sessions} sessions: ${(error as Error).message}\n${broker.soFar.slice(-2_000)}`,
      {
        cause: error,
      },
    )
  } finally {
    await healthy.end()
  }
}

interface FuzzRun {
  readonly options: FuzzOptions
  readonly healthy: HealthyClient
  /** Number of started sessions. */
  readonly tally: { sessions: number }
}

async function fuzzWithRests(run: FuzzRun, seconds: number): Promise<ResidentMib> {
  const { options, tally } = run
  const before = residentMib(options.broker)
  const warmSeconds = seconds * warmShare
  await fuzzFor(run, warmSeconds)
  const warm = await memoryAtRest(run)
  options.report(`warm: ${tally.sessions} sessions, ${warm.toFixed(1)} MiB`)
  await fuzzFor(run, seconds - warmSeconds)
  const after = await memoryAtRest(run)
  options.report(`at the end: ${tally.sessions} sessions, ${after.toFixed(1)} MiB, cold ${before.toFixed(1)}`)
  return { before, warm, after }
}

function fuzzFor(run: FuzzRun, seconds: number): Promise<void> {
  const untilMs = performance.now() + seconds * 1_000
  return fuzzUntil(run, () => performance.now() >= untilMs)
}

async function fuzzUntil({ options, healthy, tally }: FuzzRun, isOver: () => boolean): Promise<void> {
  const { broker, ports, seed, clientsAtOnce = 40 } = options
  const one = async (): Promise<void> => {
    while (!isOver()) {
      if (broker.child.exitCode !== null || broker.child.signalCode !== null) throw new Error('the broker has ended')
      healthy.throwIfFailed()
      const random = new Random(seed * 1_000_003 + tally.sessions++)
      await runSession(fuzzSession(random), ports, random)
    }
  }
  await Promise.all(Array.from({ length: clientsAtOnce }, one))
}

async function memoryAtRest({ options: { broker }, healthy }: FuzzRun): Promise<number> {
  const untilMs = performance.now() + restSeconds * 1_000
  while (performance.now() < untilMs) await healthy.nextRoundTrip()
  return residentMib(broker)
}

/** Memory of the process, as the system counts it. */
export function residentMib({ child }: WatchedProcess): number {
  const pages = readFileSync(`/proc/${child.pid}/statm`, 'latin1').split(' ')[1]
  return (Number(pages) * 4) / 1_024
}

function check(broker: WatchedProcess, { residentMib }: FuzzOutcome): void {
  // The alarm `overload` depends on the speed of the machine, so it is ignored.
  const lines = broker.soFar.split('\n').filter((line) => !line.includes('"name":"overload"'))
  const bad = lines.find((line) => /shard failed|alarm|did not start|uncaught/i.test(line))
  if (bad !== undefined) throw new Error(`the broker logged: ${bad}`)
  if (residentMib === undefined) return
  const { warm, after } = residentMib
  const allowed = warm * toleratedShare + toleratedMib
  if (after > allowed) throw new Error(`memory went from ${warm.toFixed(1)} to ${after.toFixed(1)} MiB`)
}
