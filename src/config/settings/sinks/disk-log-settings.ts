// connectors.disk_log, actions.disk_log: lines in files.

import { path } from '../../schema/path-type.ts'
import { size } from '../../schema/quantities.ts'
import { section, setting } from '../../schema/setting.ts'
import { choice, integer, optional } from '../../schema/setting-type.ts'
import { actionSettings, anyText, connectorSettings, listNamedSinks, resourceOptions, template } from './sink-parts.ts'

const kilobyte = 1_024
const megabyte = 1_048_576
const terabyte = 1_099_511_627_776

const diskLogConnector = section('A file that actions append lines to, and the older files that it replaced.', {
  ...connectorSettings,
  filepath: setting(optional(path('data-directory', { isWritten: true }), 'none'), undefined, {
    description:
      'File that lines are appended to, such as exports/readings.jsonl. Each shard after the first writes a file of its own: readings-shard1.jsonl.',
    isRequired: true,
  }),
  max_file_size: setting(size({ minBytes: kilobyte, maxBytes: terabyte }), 10 * megabyte, {
    description: 'Maximum size of the file. Before it would grow larger, it is renamed and a new file is started.',
  }),
  max_file_number: setting(integer({ min: 1, max: 10_000 }), 10, {
    description:
      'Number of files that each shard keeps, the current one included. When there are more, the oldest is deleted.',
  }),
})

const diskLogAction = section('An action that appends a line to the file for each result.', {
  ...actionSettings,
  parameters: section('The format of the line.', {
    format: setting(choice(['lines', 'csv']), 'lines', {
      description:
        'lines: each line is the text of the template. csv: the values that the template inserts are quoted where CSV needs it.',
    }),
    template: setting(optional(template, 'none'), undefined, {
      description: 'Template of one line, with ${...} for values.',
      defaultWords: 'all columns as JSON',
    }),
    header: setting(anyText, '', {
      description: 'First line of each new file, such as the column names time,topic,value.',
    }),
    write_mode: setting(choice(['sync', 'async']), 'sync', {
      description: 'Has no effect: a line counts as written when it is on disk, in both modes.',
    }),
  }),
  resource_opts: resourceOptions,
})

export const diskLogConnectors = listNamedSinks('Files that actions append lines to.', diskLogConnector)
export const diskLogActions = listNamedSinks('Actions that append lines to files.', diskLogAction)
