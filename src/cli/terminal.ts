// What every command speaks through: results on stdout, one line for each problem on stderr, an exit code.

import { Readable } from 'node:stream'
import type { ReadStream } from 'node:tty'

export const exitCodes = { done: 0, failed: 1, wrongUsage: 2 } as const

export interface TextOutput {
  write(text: string): unknown
  /** Of a terminal: people look at it. */
  readonly isTTY?: boolean
  /** Width of the terminal. */
  readonly columns?: number
}

/** What is read from: a terminal, a pipe or a file. */
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

  /** People read what is said, and no program. */
  get isForPeople(): boolean {
    return this.output.isTTY === true
  }

  /** Undefined: the output is no terminal, or its width is not known. */
  get columns(): number | undefined {
    return this.isForPeople ? this.output.columns : undefined
  }

  say(text: string): void {
    this.output.write(text)
  }

  /** One line for each problem. Gives the exit code of what failed. */
  fail(...problems: readonly string[]): number {
    for (const problem of problems) this.errors.write(`godwit: ${problem}\n`)
    return exitCodes.failed
  }
}

/** Where people look, unless they have said otherwise: `NO_COLOR` with any value but an empty one (no-color.org). */
export function wantsColors(
  { isTTY }: TextOutput,
  { NO_COLOR: noColor, TERM: name }: Readonly<Record<string, string | undefined>>,
): boolean {
  return isTTY === true && (noColor === undefined || noColor === '') && name !== 'dumb'
}
