// One command of `godwit ctl`, from its words to its exit code.

import { join } from 'node:path'
import type { ApiClient } from '../../contract/index.ts'
import type { Installation } from '../../node/index.ts'
import type { Terminal } from '../terminal.ts'
import type { CtlCall, CtlCommand, Outcome } from './ctl-command.ts'
import { printOutcome } from './print-outcome.ts'
import type { ProgressOutput } from './progress-lines.ts'
import { type ConnectOptions, connectApi } from './connect-api.ts'
import { InputSecrets, type Secrets } from './secrets.ts'

export interface CtlDependencies {
  readonly installation: Installation
  readonly terminal: Terminal
}

export interface CtlArguments extends Pick<CtlCall, 'words' | 'options'> {
  readonly reach: ConnectOptions
  readonly asJson: boolean
}

/** Gives the exit code. */
export async function runCtl(command: CtlCommand, said: CtlArguments, dependencies: CtlDependencies): Promise<number> {
  const secrets = new InputSecrets(dependencies.terminal)
  const outcome = await outcomeOf(command, said, { ...dependencies, secrets }).finally(() => secrets.close())
  return printOutcome(outcome, dependencies.terminal, said.asJson)
}

async function outcomeOf(
  command: CtlCommand,
  said: CtlArguments,
  { installation, terminal, secrets }: CtlDependencies & { readonly secrets: Secrets },
): Promise<Outcome> {
  const place = { root: installation.root, isSocket: said.reach.url === undefined, backupFolder: undefined }
  const surroundings = { secrets, place, progress: progressOn(terminal, said.asJson) }
  if (command.isLocal === true) return command.run({ ...said, ...surroundings, client: noClient })
  const reached = await connectApi(said.reach, installation, secrets)
  if ('usage' in reached) return reached
  const { client, dataDirectory } = reached
  const backupFolder = dataDirectory && backupFolderOf(dataDirectory, said.reach.namespace)
  const outcome = await command.run({ ...said, ...surroundings, client, place: { ...place, backupFolder } })
  const isUnreachable = 'failure' in outcome && outcome.failure.kind === 'unreachable'
  return isUnreachable ? { problem: reached.explain(outcome.failure) } : outcome
}

function backupFolderOf(dataDirectory: string, namespace: string | undefined): string {
  return join(dataDirectory, 'backup', ...(namespace === undefined ? [] : ['ns', namespace]))
}

function progressOn(terminal: Terminal, asJson: boolean): ProgressOutput {
  return {
    isForPeople: terminal.isTerminal && !asJson,
    write: (text) => {
      if (!asJson) terminal.say(text)
    },
  }
}

/** Local commands use no API. */
const noClient = {} as ApiClient
