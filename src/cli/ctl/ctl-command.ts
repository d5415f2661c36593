// The type of a command of `godwit ctl`. The command line is built from these objects. Each calls the API with the typed client;
// `print-outcome.ts` prints the results.

import type { ApiClient, Failure, Result } from '../../contract/index.ts'
import type { ProgressOutput } from './progress-lines.ts'
import type { Secrets } from './secrets.ts'

export interface CtlCommand {
  /** Words after `ctl`: `clients show`. */
  readonly name: string
  readonly description: string
  /** `<client>` is required; `[filters...]` is optional and can be repeated. */
  readonly arguments?: readonly string[]
  readonly options?: readonly CtlOption[]
  /** The command calls no broker, so none must be reachable. */
  readonly isLocal?: true
  run(call: CtlCall): Promise<Outcome> | Outcome
}

export interface CtlOption {
  /** `-q, --qos <level>` */
  readonly flags: string
  readonly description: string
}

/** The arguments and options of one call, and the client of the API. */
export interface CtlCall {
  readonly client: ApiClient
  /** Values in the order of `arguments`; a repeated argument has all its values at the end. */
  readonly words: readonly string[]
  /** Options by their long flag in camel case (`dryRun`); true for a flag without a value. */
  readonly options: Readonly<Record<string, string | true | undefined>>
  readonly secrets: Secrets
  /** For progress before the outcome; it is not shown to programs. */
  readonly progress: ProgressOutput
  readonly place: {
    /** Absolute path of the installation. */
    readonly root: string
    /** The broker is on this machine and is called over its socket. */
    readonly isSocket: boolean
    /** Folder of the archives; undefined: the broker may be on another machine. */
    readonly backupFolder: string | undefined
  }
}

/** One line of a table. */
export type Row = Readonly<Record<string, unknown>>

export type Outcome =
  /** `columns`: the columns of the table, in order; a document for programs has all fields. */
  | {
      readonly rows: readonly Row[]
      readonly columns?: readonly string[]
      /** A row reports a failure: exit code 1. */
      readonly hasFailed?: boolean
    }
  /** One object: a line per key. `document`: the output for programs. */
  | { readonly thing: Row; readonly document?: unknown }
  /** A text. `document`: the output for programs. */
  | { readonly text: string; readonly document?: unknown }
  /** A sentence that the command is done. */
  | { readonly done: string }
  | { readonly failure: Failure }
  /** A sentence: the command was used wrongly. */
  | { readonly usage: string }
  /** A sentence: the command failed on this side, not at the broker. */
  | { readonly problem: string }

/** Returns the outcome that `show` makes of a reply. A failure is returned unchanged. */
export async function shown<Reply>(asked: Promise<Result<Reply>>, show: (reply: Reply) => Outcome): Promise<Outcome> {
  const result = await asked
  return 'failure' in result ? result : show(result.reply)
}

/** Returns `done` with this sentence if the call succeeded. */
export function doneAs(asked: Promise<Result<unknown>>, words: string): Promise<Outcome> {
  return shown(asked, () => ({ done: words }))
}
