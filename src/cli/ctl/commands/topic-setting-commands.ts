// Topics that are replaced, and subscriptions that the broker makes. They are changed with `config set`.

import { type CtlCommand, shown } from '../ctl-command.ts'

export const topicSettingCommands: readonly CtlCommand[] = [
  {
    name: 'rewrite list',
    description: 'rules by which topics of clients are replaced',
    run: ({ client }) =>
      shown(client.get_topic_rewrite(), (rows) => ({ rows, columns: ['action', 'source_topic', 're', 'dest_topic'] })),
  },
  {
    name: 'auto-subscribe list',
    description: 'subscriptions that clients are given when they connect',
    run: ({ client }) =>
      shown(client.get_auto_subscribe(), (rows) => ({ rows, columns: ['topic', 'qos', 'rh', 'rap', 'nl'] })),
  },
]
