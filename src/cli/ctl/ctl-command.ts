// The type of a command of `godwit ctl`. The command line is built from these objects. Each calls the API with the typed client;
// `print-outcome.ts` prints the results.

import type { Failure, Result } from '../../contract/index.ts'
import type { ApiClient } from '../../api/endpoints.ts'
import type { ProgressOutput } from '../terminal/progress-lines.ts'
import type { Secrets } from './secrets.ts'

export interface CtlCommand {
  /** One or two words, such as `clients show`; the first of two words is a group. */
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
  /** Values of `arguments`, in their order; the values of an argument that can be repeated are at the end. */
  readonly operands: readonly string[]
  /** Options by their long flag in camel case (`dryRun`); true for a flag without a value. */
  readonly options: Readonly<Record<string, string | true | undefined>>
  readonly secrets: Secrets
  /** For progress before the outcome; it is not shown to programs. */
  readonly progress: ProgressOutput
  readonly archives: ArchiveLocation
}

/** Directory in which the commands for archives look for files. */
export interface ArchiveLocation {
  /** Absolute path of the installation. */
  readonly installationRoot: string
  /** The command uses the control socket, so the broker is on this machine. */
  readonly isLocal: boolean
  /** Backup directory of the broker; undefined: the broker may be on another machine. */
  readonly backupDirectory: string | undefined
}

/** One line of a table. */
export type Row = Readonly<Record<string, unknown>>

export type Outcome =
  /** `columns`: the columns of the table, in order; the output for programs has all fields, or is `document`. */
  | {
      readonly rows: readonly Row[]
      readonly columns?: readonly string[]
      readonly document?: readonly Row[]
      /** A row reports a failure: exit code 1. */
      readonly hasFailed?: boolean
    }
  /** One object: a line per key. `document`: the output for programs. */
  | { readonly thing: Row; readonly document?: unknown }
  /** A text. `document`: the output for programs. */
  | { readonly text: string; readonly document?: unknown }
  /** A sentence that the command is done. */
  | { readonly done: string }
  /** `hasLines`: each line of the message is one error, of a text that the user wrote. */
  | { readonly failure: Failure; readonly hasLines?: boolean }
  /** A sentence: the command was used wrongly. */
  | { readonly usage: string }
  /** A sentence: the command failed on this side, not at the broker. */
  | { readonly problem: string }

/** Returns the outcome that `show` makes of the reply, or the failure of the call. */
export async function showReply<Reply>(
  call: Promise<Result<Reply>>,
  show: (reply: Reply) => Outcome,
): Promise<Outcome> {
  const result = await call
  return 'failure' in result ? result : show(result.reply)
}

/** Returns `sentence` as the outcome of a call that succeeds, and its failure otherwise. */
export function reportDone(call: Promise<Result<unknown>>, sentence: string): Promise<Outcome> {
  return showReply(call, () => ({ done: sentence }))
}
