// Output of a command: results on stdout, one line for each problem on stderr, an exit code.

import { Readable } from 'node:stream'
import type { ReadStream } from 'node:tty'

export const exitCodes = { done: 0, failed: 1, wrongUsage: 2 } as const

export interface TextOutput {
  write(text: string): unknown
  /** Whether the output is a terminal. */
  readonly isTTY?: boolean
  /** Width of the terminal. */
  readonly columns?: number
}

/** Input of a command: a terminal, a pipe or a file. */
export type TextInput = NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY' | 'setRawMode'>>

export class Terminal {
  readonly output: TextOutput
  readonly errors: TextOutput
  readonly input: TextInput
  readonly usesColors: boolean

  constructor(output: TextOutput, errors: TextOutput, input: TextInput = Readable.from([]), usesColors = false) {
    this.output = output
    this.errors = errors
    this.input = input
    this.usesColors = usesColors
  }

  /** The output is a terminal, not a pipe or a file. */
  get isTerminal(): boolean {
    return this.output.isTTY === true
  }

  /** Width of the terminal; undefined: the output is not a terminal, or its width is not known. */
  get columns(): number | undefined {
    return this.isTerminal ? this.output.columns : undefined
  }

  print(text: string): void {
    this.output.write(text)
  }

  /** Writes one line for each problem. Returns the exit code of a failure. */
  fail(...problems: readonly string[]): number {
    for (const problem of problems) this.errors.write(`godwit: ${problem}\n`)
    return exitCodes.failed
  }
}

/** Returns whether a command uses colors: on a terminal, unless `NO_COLOR` is set and not empty (no-color.org). */
export function wantsColors(
  { isTTY }: TextOutput,
  { NO_COLOR: noColor, TERM: name }: Readonly<Record<string, string | undefined>>,
): boolean {
  return isTTY === true && (noColor === undefined || noColor === '') && name !== 'dumb'
}
