// Commands that drain, stop and restart the broker.

import { setTimeout as wait } from 'node:timers/promises'
import type { ReplyOf } from '../../../contract/index.ts'
import type { endpoints } from '../../../api/endpoints.ts'
import { type CtlCall, type CtlCommand, type Outcome, reportDone, showReply } from '../ctl-command.ts'

const pollMs = 500

export const controlCommands: readonly CtlCommand[] = [
  {
    name: 'drain',
    description:
      'refuse new clients and disconnect connected ones, so that they connect to other brokers; wait until all are gone',
    options: [
      { flags: '--per-second <clients>', description: 'clients that are disconnected per second (default: 1000)' },
      { flags: '--timeout <seconds>', description: 'maximum time to wait (default: 300; 0: do not wait)' },
      { flags: '--cancel', description: 'accept clients again' },
    ],
    run: drain,
  },
  {
    name: 'stop',
    description: 'stop the broker: disconnects clients and closes the store',
    run: ({ client }) => reportDone(client.ctrl_broker({ params: { action: 'stop' } }), 'stopping'),
  },
  {
    name: 'restart',
    description: 'restart the broker with the current configuration file',
    run: ({ client }) => reportDone(client.ctrl_broker({ params: { action: 'restart' } }), 'restarting'),
  },
]

async function drain({ client, options }: CtlCall): Promise<Outcome> {
  if (options['cancel'] === true) return reportDone(client.cancel_drain({}), 'clients are accepted again')
  const seconds = Number(options['timeout'] ?? 300)
  const clientsPerSecond = Number(options['perSecond'] ?? 1_000)
  if (!(seconds >= 0 && seconds <= 86_400)) return { usage: '--timeout: give seconds, from 0 to 86400' }
  if (!(clientsPerSecond >= 1 && clientsPerSecond <= 1_000_000)) {
    return { usage: '--per-second: give a number of clients, from 1 to 1000000' }
  }
  const endMs = performance.now() + seconds * 1_000
  let result = await client.start_drain({ body: { clients_per_second: clientsPerSecond } })
  while (!('failure' in result) && result.reply.data.connected > 0 && performance.now() < endMs) {
    await wait(pollMs)
    result = await client.get_drain({})
  }
  return showReply(Promise.resolve(result), ({ data }) => reportDrain(data, seconds))
}

function reportDrain(
  { connected, sessions }: ReplyOf<(typeof endpoints)['get_drain']>['data'],
  seconds: number,
): Outcome {
  const stay = `${sessions} sessions stay on this broker`
  if (connected === 0) return { done: `all clients are disconnected; ${stay}` }
  if (seconds === 0) return { done: `clients are being disconnected; connected now: ${connected}` }
  return { problem: `after ${seconds} s clients are still connected: ${connected}; ${stay}` }
}
