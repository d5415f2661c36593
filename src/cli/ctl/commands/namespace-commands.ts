// Parts of the broker that know nothing of each other. What is of one is looked at with `--namespace NAME`.

import { type CtlCommand, doneAs, shown } from '../ctl-command.ts'

export const namespaceCommands: readonly CtlCommand[] = [
  {
    name: 'namespaces list',
    description: 'namespaces that were made, or that a listener or an account names',
    run: ({ client }) => shown(client.get_namespaces(), ({ data }) => ({ rows: data })),
  },
  {
    name: 'namespaces add',
    description: 'make a namespace known',
    arguments: ['<name>'],
    run: ({ client, words: [namespace = ''] }) =>
      doneAs(client.add_namespace({ body: { namespace } }), `${namespace} is made`),
  },
  {
    name: 'namespaces del',
    description: 'take a namespace away, with its credentials, rules and bans',
    arguments: ['<name>'],
    run: ({ client, words: [namespace = ''] }) =>
      doneAs(client.remove_namespace({ params: { namespace } }), `${namespace} is taken away`),
  },
]
