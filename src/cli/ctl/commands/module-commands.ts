// Commands for modules: features that are turned on and off.

import { type CtlCommand, reportDone, showReply } from '../ctl-command.ts'

const columns = ['node', 'name', 'active', 'description']
const actions = [
  { action: 'load', description: 'turn a feature on, now and for the next starts', done: 'is on' },
  {
    action: 'unload',
    description: 'turn a feature off, now and for the next starts; what is stored stays',
    done: 'is off',
  },
  { action: 'reload', description: 'read the files of a feature again', done: 'is reloaded' },
] as const

export const moduleCommands: readonly CtlCommand[] = [
  {
    name: 'modules list',
    description: 'list the features that can be turned on and off',
    run: ({ client }) =>
      showReply(client.list_modules(), ({ data }) => ({
        rows: data.flatMap(({ node, modules }) => modules.map((module) => ({ node, ...module }))),
        columns,
      })),
  },
  ...actions.map(({ action, description, done }): CtlCommand => ({
    name: `modules ${action}`,
    description,
    arguments: ['<name>'],
    run: ({ client, operands: [name = ''] }) =>
      reportDone(client.control_module({ params: { name, action } }), `${name} ${done}`),
  })),
]
