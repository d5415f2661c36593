// Sources of rules: what they receive from services.

import { type CtlCall, type CtlCommand, reportDone, showReply } from '../ctl-command.ts'
import { controlService } from '../control-service.ts'
import { settingsOption, withJson } from './rule-commands.ts'

export const sourceCommands: readonly CtlCommand[] = [
  {
    name: 'sources list',
    description: 'list sources with their status',
    run: ({ client }) =>
      showReply(client.get_sources(), (all) => ({
        rows: all.map((each) => ({ ...each, id: `${each.type}:${each.name}` })),
        columns: ['id', 'enable', 'status', 'status_reason'],
      })),
  },
  {
    name: 'sources show',
    description: 'show the settings of a source; secrets are masked',
    arguments: ['<id>'],
    run: ({ client, operands: [id = ''] }) => showReply(client.get_source({ params: { id } }), (thing) => ({ thing })),
  },
  {
    name: 'sources create',
    description: 'create a source; its ID is type:name',
    arguments: ['<id>'],
    options: [settingsOption],
    run: ({ client, operands: [id = ''], options }) =>
      withJson(options['settings'], (settings) => {
        const [type = '', name = ''] = id.split(':')
        return reportDone(client.add_source({ body: { ...settings, type, name } }), `${id} is created`)
      }),
  },
  {
    name: 'sources probe',
    description: 'check whether the service of a source can be reached; no message is received',
    arguments: ['<type>'],
    options: [settingsOption],
    run: ({ client, operands: [type = ''], options }) =>
      withJson(options['settings'], (settings) =>
        reportDone(client.probe_source({ body: { ...settings, type } }), 'the service is available'),
      ),
  },
  {
    name: 'sources delete',
    description: 'delete a source that no rule uses',
    arguments: ['<id>'],
    run: ({ client, operands: [id = ''] }) => reportDone(client.remove_source({ params: { id } }), `${id} is deleted`),
  },
  {
    name: 'sources metrics',
    description: 'show the counters of a source',
    arguments: ['<id>'],
    run: ({ client, operands: [id = ''] }) =>
      showReply(client.get_source_metrics({ params: { id } }), ({ metrics }) => ({ thing: metrics })),
  },
  ...(['start', 'stop', 'restart'] as const).map((operation) => ({
    name: `sources ${operation}`,
    description: `${operation} a source until the next change or start of the broker`,
    arguments: ['<id>'],
    run: ({ client, operands: [id = ''] }: CtlCall) =>
      controlService(client.control_source({ params: { id, operation } }), { id, operation }, () =>
        client.get_source({ params: { id } }),
      ),
  })),
]
