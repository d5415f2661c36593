// What a command of `godwit ctl` is: an object. The command line is made of these, and each asks the API through its
// typed client; what comes back is printed in one place.

import type { ApiClient, Failure, Result } from '../../contract/index.ts'
import type { ProgressOutput } from './progress-lines.ts'
import type { Secrets } from './secrets.ts'

export interface CtlCommand {
  /** Its words behind `ctl`: `clients show`. */
  readonly name: string
  readonly description: string
  /** `<client>` must be given, `[filters...]` may be, and more than once. */
  readonly arguments?: readonly string[]
  readonly options?: readonly CtlOption[]
  /** Speaks with no broker: then there is none to be reached. */
  readonly isLocal?: true
  run(call: CtlCall): Promise<Outcome> | Outcome
}

export interface CtlOption {
  /** `-q, --qos <level>` */
  readonly flags: string
  readonly description: string
}

/** The words of the command line, and the client of the API. */
export interface CtlCall {
  readonly client: ApiClient
  /** In the order of `arguments`, one that repeats as what was given. */
  readonly words: readonly string[]
  /** By the long flag in camel case (`dryRun`); true where it takes no value. */
  readonly options: Readonly<Record<string, string | true | undefined>>
  readonly secrets: Secrets
  /** For what is told before the outcome is there; programs are not told. */
  readonly progress: ProgressOutput
  readonly place: {
    /** The folder of the installation, absolute. */
    readonly root: string
    /** The broker is one of this machine, reached over its socket. */
    readonly isSocket: boolean
    /** Where archives are; undefined: on a machine that may be another. */
    readonly backupFolder: string | undefined
  }
}

/** One line of a table. */
export type Row = Readonly<Record<string, unknown>>

export type Outcome =
  /** `columns`: those of the rows that people are shown, in their order; a document has all of them. */
  | {
      readonly rows: readonly Row[]
      readonly columns?: readonly string[]
      /** One of the rows says that something failed: exit code 1. */
      readonly hasFailed?: boolean
    }
  /** One thing: a line for each of its keys. `document`: what programs get in its place. */
  | { readonly thing: Row; readonly document?: unknown }
  /** `document`: what programs get in its place. */
  | { readonly text: string; readonly document?: unknown }
  /** Nothing to show but that it is done. */
  | { readonly done: string }
  | { readonly failure: Failure }
  /** The command was used wrongly, in a sentence. */
  | { readonly usage: string }
  /** It failed here and not at the broker, in a sentence. */
  | { readonly problem: string }

/** What is shown of a reply. A failure goes through. */
export async function shown<Reply>(asked: Promise<Result<Reply>>, show: (reply: Reply) => Outcome): Promise<Outcome> {
  const result = await asked
  return 'failure' in result ? result : show(result.reply)
}

/** `done` with these words where all went well. */
export function doneAs(asked: Promise<Result<unknown>>, words: string): Promise<Outcome> {
  return shown(asked, () => ({ done: words }))
}
