// Commands for alarms.

import { type CtlCommand, reportDone, showReply } from '../ctl-command.ts'

const columns = ['node', 'name', 'message', 'activated_at', 'deactivated_at']

export const alarmCommands: readonly CtlCommand[] = [
  {
    name: 'alarms',
    description: 'list the active alarms',
    options: [
      { flags: '--all', description: 'also list ended alarms' },
      { flags: '--end <name>', description: 'end the alarm with this name; it is raised again if its cause remains' },
    ],
    run: ({ client, options: { all, end } }) => {
      if (typeof end === 'string')
        return reportDone(client.deactivate_alarm({ body: { name: end } }), `${end} is ended`)
      return showReply(all === true ? client.list_alarms() : client.list_activated_alarms(), ({ data }) => {
        const rows = data.flatMap(({ node, alarms }) => alarms.map((alarm) => ({ node, ...alarm })))
        return { rows, columns }
      })
    },
  },
]
