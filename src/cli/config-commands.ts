// `godwit config ...`: a file checked, and three texts that are made from the settings.

import { formatFault, loadConfig, writeExampleFile, writeJsonSchema, writeReferencePage } from '../config/index.ts'
import { includeReader, readConfigFile } from './config-files.ts'
import { exitCodes, type Terminal } from './terminal.ts'

/** Tells everything that is wrong with the file, a line each, and what in it has no effect. Gives the exit code. */
export function configCheck(file: string, environment: NodeJS.ProcessEnv, terminal: Terminal): number {
  const source = readConfigFile(file)
  if ('error' in source) return terminal.fail(`configuration ${file}: ${source.error}`)
  const { text } = source
  const loaded = loadConfig({ text, file, overrides: [], readInclude: includeReader(file), environment })
  if ('faults' in loaded) return terminal.fail(...loaded.faults.map(formatFault))
  for (const warning of loaded.warnings) terminal.say(`warning: ${formatFault(warning)}\n`)
  terminal.say(`${file}: the configuration is good\n`)
  return exitCodes.done
}

/** Prints the file with every default as a comment. */
export function configExample(terminal: Terminal): number {
  terminal.say(writeExampleFile())
  return exitCodes.done
}

/** Prints the reference page. */
export function configDocs(terminal: Terminal): number {
  terminal.say(writeReferencePage())
  return exitCodes.done
}

/** Prints the JSON Schema of the configuration. */
export function configSchema(terminal: Terminal): number {
  terminal.say(writeJsonSchema())
  return exitCodes.done
}
