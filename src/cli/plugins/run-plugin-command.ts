// Runs a command of `godwit plugins`: with the running broker, or with its data directory if none runs.

import type { Installation } from '../../node/index.ts'
import { connectApi } from '../ctl/connect-api.ts'
import type { Outcome } from '../ctl/ctl-command.ts'
import { printOutcome } from '../ctl/print-outcome.ts'
import type { CtlInvocation } from '../ctl/run-ctl.ts'
import { InputSecrets } from '../ctl/secrets.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { PluginCommand } from './plugin-command-list.ts'
import { createRunningTarget } from './running-broker.ts'

/** Returns the exit code: 0, 1 for a failure, 2 for wrong usage. */
export async function runPluginCommand(
  command: PluginCommand,
  invocation: CtlInvocation,
  dependencies: { readonly installation: Installation; readonly terminal: Terminal },
): Promise<number> {
  const outcome = await runCommand(command, invocation, dependencies)
  return printOutcome(outcome, dependencies.terminal, invocation.asJson)
}

async function runCommand(
  command: PluginCommand,
  { connect, ...call }: CtlInvocation,
  { installation, terminal }: { readonly installation: Installation; readonly terminal: Terminal },
): Promise<Outcome> {
  const secrets = new InputSecrets(terminal)
  const connected = await connectApi(connect, installation, secrets).finally(() => secrets.close())
  if ('usage' in connected) return connected
  const { client, dataDirectory: directory, explain } = connected
  const probe = await client.get_plugins()
  if (!('failure' in probe)) return command.run(createRunningTarget(client), call)
  const { failure } = probe
  if (failure.kind !== 'unreachable') return { failure }
  // A socket that this user must not open belongs to a running broker.
  if (directory === undefined || /^connect (?:EACCES|EPERM) /.test(failure.message)) {
    return { problem: explain(failure) }
  }
  const { withStoppedBroker } = await import('./stopped-broker.ts')
  return withStoppedBroker({ directory, config: connect.config, installation, terminal }, (target) =>
    command.run(target, call),
  )
}
