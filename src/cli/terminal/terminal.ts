// Output of a command: results on stdout, one line for each problem on stderr, an exit code.

import { Readable } from 'node:stream'
import type { ReadStream } from 'node:tty'

export const exitCodes = { done: 0, failed: 1, wrongUsage: 2 } as const

export interface TextOutput {
  /** `onWritten` is called with an error if the text was not written. */
  write(text: string, onWritten?: (error?: Error | null) => void): unknown
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

  /** Writes a text on which nothing may depend. Returns the error if it could not be written. */
  show(text: string): unknown {
    try {
      this.print(text)
      return undefined
    } catch (error) {
      return error
    }
  }

  /** Writes on stdout, or on stderr if its reader has gone. Calls `onLost` if the text could not be written to either. */
  printImportant(text: string, onLost: () => void): void {
    this.output.write(text, (outputError) => {
      if (outputError === undefined || outputError === null) return
      this.errors.write(text, (error) => {
        if (error !== undefined && error !== null) onLost()
      })
    })
  }

  /** Writes one line for each problem. Returns the exit code of a failure. */
  fail(...problems: readonly string[]): number {
    for (const problem of problems) this.errors.write(`godwit: ${problem}\n`)
    return exitCodes.failed
  }
}

/** Returns whether a command uses colors: on a terminal, unless `NO_COLOR` is set and not empty (no-color.org). */
export function shouldUseColors(
  { isTTY }: TextOutput,
  { NO_COLOR: noColor, TERM: name }: Readonly<Record<string, string | undefined>>,
): boolean {
  return isTTY === true && (noColor === undefined || noColor === '') && name !== 'dumb'
}
