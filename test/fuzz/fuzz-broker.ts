// Clients that went wrong against a real broker, many at a time, for a while. What must hold:
//
// - the process lives, no shard of it dies, and no alarm is raised;
// - a healthy client is served throughout: each of its QoS 1 messages comes back in time;
// - when all have gone, what they left is over and the broker has had its time to tidy up, its memory is what it was after
//   a third of them.

import { readFileSync } from 'node:fs'
import { Random } from '../protocol/fuzz/random.ts'
import type { WatchedProcess } from '../e2e/godwit-process.ts'
import { fuzzSession } from './fuzz-session.ts'
import { HealthyClient } from './healthy-client.ts'
import { play, type FuzzPorts } from './fuzz-stream.ts'

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
  readonly seconds: number
  /** Unsaid: 40. */
  readonly clientsAtOnce?: number
  readonly tell: (line: string) => void
}

export interface FuzzOutcome {
  readonly sessions: number
  /** Of the healthy client. */
  readonly roundTrips: number
  readonly longestRoundTripMs: number
  /** `before` the first client; at the end of the first third; at the end. */
  readonly residentMib: { readonly before: number; readonly warm: number; readonly after: number }
}

/** What a process keeps of memory that it once needed differs by so much between two moments of rest. */
const toleratedShare = 1.1
const toleratedMib = 16
/**
 * What the last clients left (sessions, retained messages) is over after a few seconds. An idle broker gives memory back in
 * two steps of fifteen seconds each, after fifteen in which it has seen that it is idle (`src/shard/runtime/idle-gc.ts`).
 */
const restSeconds = 50
const warmShare = 1 / 3

/** Throws an Error that names the seed where one of the promises does not hold. */
export async function fuzzBroker(options: FuzzOptions): Promise<FuzzOutcome> {
  const { broker, ports, seconds, seed } = options
  const healthy = await HealthyClient.connect(ports.tcp)
  const tally = { sessions: 0 }
  const before = residentMib(broker)
  try {
    const warmSeconds = seconds * warmShare
    await fuzzFor(warmSeconds, options, tally, healthy)
    const warm = await memoryAtRest(options, healthy)
    options.tell(`warm: ${tally.sessions} sessions, ${warm.toFixed(1)} MiB`)
    await fuzzFor(seconds - warmSeconds, options, tally, healthy)
    const after = await memoryAtRest(options, healthy)
    options.tell(`at the end: ${tally.sessions} sessions, ${after.toFixed(1)} MiB, cold ${before.toFixed(1)}`)
    const outcome = { ...tally, ...healthy.served, residentMib: { before, warm, after } }
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

async function fuzzFor(
  seconds: number,
  { broker, ports, seed, clientsAtOnce = 40 }: FuzzOptions,
  tally: { sessions: number },
  healthy: HealthyClient,
): Promise<void> {
  const untilMs = performance.now() + seconds * 1_000
  const one = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      if (broker.child.exitCode !== null || broker.child.signalCode !== null) throw new Error('the broker has ended')
      healthy.throwIfFailed()
      const random = new Random(seed * 1_000_003 + tally.sessions++)
      await play(fuzzSession(random), ports, random)
    }
  }
  await Promise.all(Array.from({ length: clientsAtOnce }, one))
}

async function memoryAtRest({ broker }: FuzzOptions, healthy: HealthyClient): Promise<number> {
  const untilMs = performance.now() + restSeconds * 1_000
  while (performance.now() < untilMs) await healthy.nextRoundTrip()
  return residentMib(broker)
}

/** Of the process, as the system counts it. */
export function residentMib({ child }: WatchedProcess): number {
  const pages = readFileSync(`/proc/${child.pid}/statm`, 'latin1').split(' ')[1]
  return (Number(pages) * 4) / 1_024
}

function check(broker: WatchedProcess, { residentMib: { warm, after } }: FuzzOutcome): void {
  // The alarm `overload` says how fast the machine is.
  const lines = broker.soFar.split('\n').filter((line) => !line.includes('"name":"overload"'))
  const bad = lines.find((line) => /shard failed|alarm|did not start|uncaught/i.test(line))
  if (bad !== undefined) throw new Error(`the broker said: ${bad}`)
  const allowed = warm * toleratedShare + toleratedMib
  if (after > allowed) throw new Error(`memory went from ${warm.toFixed(1)} to ${after.toFixed(1)} MiB`)
}
