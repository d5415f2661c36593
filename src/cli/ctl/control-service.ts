// The outcome of starting, stopping or restarting an action, a source or a connector: its state afterwards, not only that the command was carried out.

import { setTimeout as delay } from 'node:timers/promises'
import type { Result } from '../../contract/index.ts'
import type { Outcome } from './ctl-command.ts'

interface ServiceView {
  readonly status: string
  readonly status_reason?: string
}

/** Time for the service to respond. After it, the state is shown as it is. */
const maxWaitMs = 5_000
const pollMs = 200

export async function controlService(
  call: Promise<Result<unknown>>,
  { id, operation }: { readonly id: string; readonly operation: 'start' | 'stop' | 'restart' },
  getView: () => Promise<Result<unknown>>,
): Promise<Outcome> {
  const result = await call
  if ('failure' in result) return result
  const done = `${id}: ${operation} is done`
  if (operation === 'stop') return { done }
  const endMs = Date.now() + maxWaitMs
  for (;;) {
    const found = await getView()
    // The command was carried out, so a failure to read the state is not its failure.
    if ('failure' in found) return { done: `${done}, and its state is not known: ${found.failure.message}` }
    const { status, status_reason: reason = '' } = found.reply as ServiceView
    if (status === 'connected' || Date.now() > endMs)
      return { done: `${done}, and it is ${status}${reason === '' ? '' : `: ${reason}`}` }
    await delay(pollMs)
  }
}
