// Commands of `godwit` within the process of the test, which takes a tenth of the time of a process of its own.

import { Readable } from 'node:stream'
import { runProgram } from '../../src/cli/program.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'

/** The result of a command. */
export interface CommandRun {
  readonly code: number
  readonly output: string
  readonly errors: string
}

const installation = { root: '/nowhere/', isCheckout: false }

/** Runs `godwit` with these arguments, and these lines on stdin. `isTerminal`: the output is a terminal. */
export async function runHere(
  words: readonly string[],
  { lines = [], isTerminal = false }: { readonly lines?: readonly string[]; readonly isTerminal?: boolean } = {},
): Promise<CommandRun> {
  const written = { output: '', errors: '' }
  const output = { isTTY: isTerminal, write: (text: string) => (written.output += text) }
  const input = Readable.from([lines.map((line) => `${line}\n`).join('')])
  const terminal = new Terminal(output, { write: (text) => (written.errors += text) }, input)
  return { code: await runProgram(words, { version: '0', installation }, terminal), ...written }
}
