// Runs the checks of `godwit conformance` against a broker, one after the other.

import { describeReason } from '../../../src/protocol/index.ts'
import { describeConnectionError } from '../../../src/telemetry/index.ts'
import { type ProbeTarget, trustOption } from '../probe-socket.ts'
import type { ProbeVersion } from '../wire.ts'
import { CheckedClient, type CheckedOptions, Violation } from './checked-client.ts'
import { type CheckContext, createPersistentConnect, retain, toRetainedTopic, statements } from './statements.ts'

export interface ConformanceOptions {
  readonly target: ProbeTarget
  readonly versions: readonly ProbeVersion[]
  /** Maximum time for a response. */
  readonly responseTimeoutMs: number
}

export interface ConformanceResult {
  readonly version: ProbeVersion
  /** Name of the clause in the standard of that version: `MQTT-3.1.0-2`. */
  readonly clause: string
  readonly statement: string
  readonly isKept: boolean
  /** The behavior of the broker, if it violates the statement. */
  readonly seen: string | undefined
}

/**
 * Returns a problem if the broker refuses the client: then no statement can be checked. Rejects with the error of the
 * operating system if the broker cannot be reached at all.
 */
export async function runConformance(
  { target, versions, responseTimeoutMs }: ConformanceOptions,
  onResult: (result: ConformanceResult) => void,
): Promise<readonly ConformanceResult[] | { readonly problem: string }> {
  const run = `check-${process.pid}-${Date.now().toString(36)}`
  const results: ConformanceResult[] = []
  let number = 0
  for (const version of versions) {
    const problem = await findRefusal(`${run}-0`, { target, version, responseTimeoutMs })
    if (problem !== undefined) return { problem }
    for (const { v311, v5, statement, check } of statements) {
      const clause = version === 5 ? v5 : v311
      if (clause === undefined) continue
      number += 1
      const opened: CheckedClient[] = []
      const context = createContext(`${run}-${number}`, { target, version, responseTimeoutMs }, opened)
      const seen = await findViolation(() => check(context))
      if (context.hasSession || seen !== undefined) await findViolation(() => cleanUp(context))
      for (const client of opened) client.destroy()
      const result = { version, clause, statement, isKept: seen === undefined, seen }
      results.push(result)
      onResult(result)
    }
  }
  return results
}

/** Returns why the broker refuses the client; undefined: it accepts the client, or sends no CONNACK, which a check reports. */
async function findRefusal(clientId: string, options: CheckedOptions): Promise<string | undefined> {
  const client = await CheckedClient.open(options)
  try {
    const code = (await client.connect({ clientId }))[1] ?? 0
    if (code !== 0) return `the broker refused the client: ${describeReason(code, options.version)}`
    client.disconnect()
    return undefined
  } catch (error) {
    if (error instanceof Violation) return undefined
    throw error
  } finally {
    client.destroy()
  }
}

function createContext(
  name: string,
  options: CheckedOptions,
  opened: CheckedClient[],
): CheckContext & { readonly hasSession: boolean } {
  let hasSession = false
  const open = async (): Promise<CheckedClient> => {
    const client = await CheckedClient.open(options)
    opened.push(client)
    return client
  }
  const connectClient = async (clientId: string, isPersistent = false): Promise<CheckedClient> => {
    const client = await open()
    hasSession ||= isPersistent
    const connack = await client.connect(isPersistent ? createPersistentConnect(client, clientId) : { clientId })
    const code = connack[1] ?? 0xff
    if (code !== 0) throw new Violation(`the client was refused: ${describeReason(code, options.version)}`)
    return client
  }
  return {
    name,
    open,
    connectClient,
    get hasSession() {
      return hasSession
    },
  }
}

/** Deletes the session and the retained message of a check, because the broker may be in production use. */
async function cleanUp({ name, connectClient }: CheckContext): Promise<void> {
  const client = await connectClient(name)
  await retain(client, toRetainedTopic(name), '')
  client.disconnect()
}

/** Returns what was seen; undefined: the broker follows the statement. A connection that breaks is a violation; an internal error is thrown. */
async function findViolation(check: () => Promise<void>): Promise<string | undefined> {
  try {
    await check()
    return undefined
  } catch (error) {
    if (error instanceof Violation) return error.message
    if ((error as NodeJS.ErrnoException).code !== undefined) return describeConnectionError(error as Error, trustOption)
    throw error
  }
}
