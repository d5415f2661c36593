// Runs one command of `godwit ctl`: connects to the broker, prints the outcome and returns the exit code.

import { join } from 'node:path'
import type { ApiClient } from '../../api/endpoints.ts'
import type { Installation } from '../../node/index.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { CtlCall, CtlCommand, Outcome } from './ctl-command.ts'
import { printOutcome } from './print-outcome.ts'
import type { ProgressOutput } from '../terminal/progress-lines.ts'
import { type ConnectOptions, connectApi } from './connect-api.ts'
import { InputSecrets, type Secrets } from './secrets.ts'

export interface CtlDependencies {
  readonly installation: Installation
  readonly terminal: Terminal
}

/** A parsed command line. */
export interface CtlInvocation extends Pick<CtlCall, 'operands' | 'options'> {
  readonly connect: ConnectOptions
  readonly asJson: boolean
}

/** Returns the exit code: 0, 1 for a failure, 2 for wrong usage. */
export async function runCtl(
  command: CtlCommand,
  invocation: CtlInvocation,
  dependencies: CtlDependencies,
): Promise<number> {
  const secrets = new InputSecrets(dependencies.terminal)
  const outcome = await runCommand(command, invocation, { ...dependencies, secrets }).finally(() => secrets.close())
  return printOutcome(outcome, dependencies.terminal, invocation.asJson)
}

async function runCommand(
  command: CtlCommand,
  invocation: CtlInvocation,
  { installation, terminal, secrets }: CtlDependencies & { readonly secrets: Secrets },
): Promise<Outcome> {
  const { connect, asJson } = invocation
  const isLocal = connect.url === undefined
  const archives = { installationRoot: installation.root, isLocal, backupDirectory: undefined }
  const call = { ...invocation, secrets, archives, progress: createProgressOutput(terminal, asJson) }
  if (command.isLocal === true) return command.run({ ...call, client: noClient })
  const connected = await connectApi(connect, installation, secrets)
  if ('usage' in connected) return connected
  const { client, dataDirectory, explain } = connected
  const backupDirectory = dataDirectory && toBackupDirectory(dataDirectory, connect.namespace)
  const outcome = await command.run({ ...call, client, archives: { ...archives, backupDirectory } })
  const isUnreachable = 'failure' in outcome && outcome.failure.kind === 'unreachable'
  return isUnreachable ? { problem: explain(outcome.failure) } : outcome
}

function toBackupDirectory(dataDirectory: string, namespace: string | undefined): string {
  return join(dataDirectory, 'backup', ...(namespace === undefined ? [] : ['ns', namespace]))
}

function createProgressOutput(terminal: Terminal, asJson: boolean): ProgressOutput {
  return {
    isTerminal: terminal.isTerminal && !asJson,
    write: (text) => {
      if (!asJson) terminal.print(text)
    },
  }
}

/** Local commands use no API. */
const noClient = {} as ApiClient
