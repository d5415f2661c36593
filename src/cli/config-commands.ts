// `godwit config ...`: a file checked, and three texts that are made from the settings.

import {
  formatConfigError,
  loadConfig,
  writeExampleFile,
  writeJsonSchema,
  writeReferencePage,
  type ConfigError,
  type Warning,
} from '../config/index.ts'
import { includeReader, namedFileReader, readConfigFile } from '../node/index.ts'
import { exitCodes, type Terminal } from './terminal.ts'

export interface CheckRequest {
  readonly file: string
  /** What substitutions in the file may fall back to. */
  readonly environment: NodeJS.ProcessEnv
  /** One JSON document on stdout, for programs, in place of lines for people. */
  readonly asJson: boolean
}

interface Findings {
  readonly faults: readonly ConfigError[]
  readonly warnings: readonly Warning[]
}

/** Tells everything that is wrong with the file, and what in it has no effect. Gives the exit code. */
export function configCheck(request: CheckRequest, terminal: Terminal): number {
  const findings = findFaults(request)
  const isGood = findings.faults.length === 0
  if (request.asJson) {
    terminal.say(`${JSON.stringify({ file: request.file, isGood, ...findings })}\n`)
    return isGood ? exitCodes.done : exitCodes.failed
  }
  if (!isGood) return terminal.fail(...findings.faults.map(formatConfigError))
  for (const warning of findings.warnings) terminal.say(`warning: ${formatConfigError(warning)}\n`)
  terminal.say(`${request.file}: the configuration is good\n`)
  return exitCodes.done
}

function findFaults({ file, environment }: CheckRequest): Findings {
  const source = readConfigFile(file)
  if ('error' in source) {
    const hint = 'name a configuration file'
    return { faults: [{ file, line: 0, column: 0, key: '', message: source.error, hint }], warnings: [] }
  }
  const { text } = source
  const loaded = loadConfig({
    text,
    file,
    overrides: [],
    readInclude: includeReader(file),
    readFile: namedFileReader(file),
    environment,
  })
  return 'faults' in loaded ? { faults: loaded.faults, warnings: [] } : { faults: [], warnings: loaded.warnings }
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
