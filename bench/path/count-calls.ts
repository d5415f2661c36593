// Preloaded into a broker by measure.ts, in each thread. A shard counts the functions that are called between two requests, by V8's precise
// coverage. Requests come to the main thread by IPC and go on to all threads.

import { type Profiler, Session } from 'node:inspector/promises'
import { isMainThread, threadId } from 'node:worker_threads'

/** Answer of a shard: called functions by file below the checkout, as `name:offset`. */
export interface Calls {
  readonly threadId: number
  readonly files: Readonly<Record<string, readonly string[]>>
}

const root = new URL('../../', import.meta.url).href
const requests = new BroadcastChannel('count-calls')
const answers = new BroadcastChannel('calls')

if (isMainThread) {
  process.on('message', (request) => requests.postMessage(request))
  answers.addEventListener('message', (event) => {
    if ('data' in event) process.send?.(event.data)
  })
} else {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  requests.addEventListener('message', () => {
    void session
      .post('Profiler.takePreciseCoverage')
      .then(({ result }) => answers.postMessage({ threadId, files: calledFunctions(result) } satisfies Calls))
  })
}
requests.unref()
answers.unref()

function calledFunctions(scripts: readonly Profiler.ScriptCoverage[]): Record<string, string[]> {
  const files: Record<string, string[]> = {}
  for (const { url, functions } of scripts) {
    if (!url.startsWith(root) || url.includes('node_modules')) continue
    const called = functions
      .filter(
        ({ ranges, functionName }) =>
          (functionName !== '' || (ranges[0]?.startOffset ?? 0) > 0) && (ranges[0]?.count ?? 0) > 0,
      )
      .map(
        ({ functionName, ranges }) => `${functionName === '' ? 'anonymous' : functionName}:${ranges[0]?.startOffset}`,
      )
    if (called.length > 0) files[url.slice(root.length)] = called
  }
  return files
}
