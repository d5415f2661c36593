// Runs one task in the process of the load generator, on the processor that the broker does not use.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { pinnedTo } from './brokers.ts'
import type { GeneratorTask } from './generator.ts'
import type { IdleOptions, IdleResult } from './idle-run.ts'
import type { LoadOptions, LoadResult } from './load-run.ts'

const generator = fileURLToPath(new URL('./generator.ts', import.meta.url))

/** Defaults: one publisher, one subscriber, payloads of 64 bytes, maximum rate. */
export const plainLoad: Omit<LoadOptions, 'port' | 'brokerPid'> = {
  version: 4,
  qos: 0,
  publishers: 1,
  subscribers: 1,
  topics: 1,
  wildcard: false,
  payloadBytes: 64,
  window: 100,
  ratePerSecond: 0,
  measuresLatency: false,
  persistent: false,
  stalledReaders: 0,
  warmSeconds: 1,
  seconds: 3,
  memorySampleSeconds: 0,
}

/** Throws an Error with the generator's sentence when the run failed. */
export async function generateLoad(options: LoadOptions): Promise<LoadResult> {
  return (await run({ kind: 'load', options })) as LoadResult
}

/** Throws an Error with the generator's sentence when the run failed. */
export async function generateIdle(options: IdleOptions): Promise<IdleResult> {
  return (await run({ kind: 'idle', options })) as IdleResult
}

function run(task: GeneratorTask): Promise<unknown> {
  const [program, ...rest] = [
    ...pinnedTo(1),
    process.execPath,
    '--max-semi-space-size=64',
    generator,
    JSON.stringify(task),
  ]
  return new Promise((resolve, reject) => {
    execFile(program, rest, (error, output, errorOutput) => {
      const lastLine = output.trim().split('\n').at(-1) ?? ''
      if (!lastLine.startsWith('{')) {
        reject(new Error(`the generator ended without a result: ${errorOutput.trim() || (error?.message ?? '')}`))
        return
      }
      const { result, failure } = JSON.parse(lastLine) as { result?: unknown; failure?: string }
      if (failure === undefined) resolve(result)
      else reject(new Error(failure))
    })
  })
}
