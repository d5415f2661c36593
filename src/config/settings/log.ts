import { listOf } from '../schema/collections.ts'
import { path } from '../schema/path-type.ts'
import { size } from '../schema/quantities.ts'
import { section, setting } from '../schema/setting.ts'
import { choice, integer, optional, text, type SettingType } from '../schema/setting-type.ts'

const kilobyte = 1_024
const gigabyte = 1_073_741_824

const fileName = text({
  maxBytes: 255,
  form: { pattern: /^(?!\.{1,2}$)[^/\\\p{Cc}]+$/u, name: 'the name of a file, without a directory' },
})

type LogTarget = 'console' | 'file' | 'syslog' | 'uds'

const targets = listOf(choice<LogTarget>(['console', 'file', 'syslog', 'uds']), 4)

/** Targets in files of other brokers that are accepted and get no lines. */
const targetsWithWarning: SettingType<readonly LogTarget[]> = {
  ...targets,
  read(value) {
    const read = targets.read(value)
    if ('problem' in read) return read
    const idle = read.value.filter((target) => target === 'syslog' || target === 'uds')
    return idle.length === 0 ? read : { ...read, warning: `${idle.join(' and ')}: accepted without effect` }
  },
}

export const log = section('The log of the broker: where its lines are written, and which ones.', {
  to: setting(targetsWithWarning, ['console'], {
    description: 'Targets of the log lines: console, file, or both. syslog and uds are accepted without effect.',
    appliesOn: 'at-once',
  }),
  level: setting(optional(choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal']), 'auto'), undefined, {
    field: 'level',
    description: 'Lowest level of the lines that are written; trace is the lowest, fatal the highest.',
    defaultWords: 'info if the console is a terminal, so that connections are shown; otherwise warn',
    appliesOn: 'at-once',
  }),
  dir: setting(optional(path('data-directory', { isWritten: true }), 'auto'), undefined, {
    field: 'dir',
    description: 'Directory of the log files.',
    defaultWords: 'log in the data directory',
    appliesOn: 'at-once',
  }),
  file: setting(fileName, 'godwit.log', { field: 'file', description: 'Name of the log file.', appliesOn: 'at-once' }),
  rotation: section('Rotation of log files.', {
    size: setting(size({ minBytes: kilobyte, maxBytes: 64 * gigabyte }), 10 * kilobyte * kilobyte, {
      field: 'rotationSizeBytes',
      description: 'Maximum size of a log file. When it is reached, the file is renamed and a new one is started.',
      appliesOn: 'at-once',
    }),
    count: setting(integer({ min: 1, max: 1_000 }), 5, {
      field: 'rotationCount',
      description: 'Maximum number of renamed log files that are kept. The oldest is deleted first.',
      appliesOn: 'at-once',
    }),
  }),
  uds_addr: setting(optional(path('working-directory', { isWritten: true }), 'none'), undefined, {
    description: 'Path of the Unix socket for the target uds.',
  }),
})
