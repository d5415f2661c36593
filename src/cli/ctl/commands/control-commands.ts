// Commands that stop and restart the broker.

import { type CtlCommand, reportDone } from '../ctl-command.ts'

export const controlCommands: readonly CtlCommand[] = [
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
