// The process of the load generator, which can be pinned to a processor. Accepts one task as JSON on the command line
// and prints one line of JSON: `{"result": ...}` or `{"failure": "..."}`.

import { runIdle, type IdleOptions } from './idle-run.ts'
import { runLoad, type LoadOptions } from './load-run.ts'

export type GeneratorTask =
  | { readonly kind: 'load'; readonly options: LoadOptions }
  | { readonly kind: 'idle'; readonly options: IdleOptions }

const task = JSON.parse(process.argv[2]) as GeneratorTask
try {
  const result = task.kind === 'idle' ? await runIdle(task.options) : await runLoad(task.options)
  console.log(JSON.stringify({ result }))
} catch (error) {
  console.log(JSON.stringify({ failure: (error as Error).message }))
  process.exitCode = 1
}
