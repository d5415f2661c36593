// `godwit config ...`: checks a file, and prints three texts that are generated from the settings.

import {
  formatConfigError,
  loadConfig,
  writeExampleFile,
  writeJsonSchema,
  writeReferencePage,
  type ConfigError,
  type GodwitConfig,
  type Warning,
} from '../config/index.ts'
import { createIncludeReader, createNamedFileReader, readConfigFile } from '../node/index.ts'
import { findStartProblems } from '../boot/index.ts'
import { exitCodes, type Terminal } from './terminal/terminal.ts'

export interface CheckRequest {
  readonly file: string
  /** Values for substitutions that the file does not define. */
  readonly environment: NodeJS.ProcessEnv
  /** Whether ports in use are errors. */
  readonly checksPorts?: boolean
  /** Print one JSON document for programs, instead of lines. */
  readonly asJson: boolean
}

interface Findings {
  readonly errors: readonly ConfigError[]
  readonly warnings: readonly Warning[]
}

/** Prints all errors of the file, and all settings without effect. Returns the exit code. */
export async function checkConfig(request: CheckRequest, terminal: Terminal): Promise<number> {
  const findings = await findErrors(request)
  const isGood = findings.errors.length === 0
  if (request.asJson) {
    terminal.print(
      `${JSON.stringify({ file: request.file, isGood, faults: findings.errors, warnings: findings.warnings })}\n`,
    )
    return isGood ? exitCodes.done : exitCodes.failed
  }
  if (!isGood) return terminal.fail(...findings.errors.map(formatConfigError))
  for (const warning of findings.warnings) terminal.print(`warning: ${formatConfigError(warning)}\n`)
  terminal.print(`${request.file}: the configuration is good\n`)
  return exitCodes.done
}

async function findErrors({ file, environment, checksPorts = false }: CheckRequest): Promise<Findings> {
  const source = readConfigFile(file)
  if ('error' in source) {
    const hint = 'name a configuration file'
    return { errors: [{ file, line: 0, column: 0, key: '', message: source.error, hint }], warnings: [] }
  }
  const { text } = source
  const loaded = loadConfig({
    text,
    file,
    overrides: [],
    readInclude: createIncludeReader(file),
    readFile: createNamedFileReader(file),
    environment,
  })
  if ('errors' in loaded) return { errors: loaded.errors, warnings: [] }
  const problems = await findStartProblems(loaded.config, { checksPorts })
  const errors = problems.map((problem) => toConfigError(problem, loaded.config, file))
  return { errors, warnings: loaded.warnings }
}

/** Converts a sentence that begins with a key, or with a position and a key, to an error in the line of that key. */
function toConfigError(problem: string, { places }: GodwitConfig, file: string): ConfigError {
  const [, key = '', message = problem] =
    /^(?:.+?:\d+:\d+: |configuration: )?([a-z_]+(?:\.[^\s:]+)+): ([^]*)$/.exec(problem) ?? []
  const place = places.get(key) ?? { file, line: 0, column: 0 }
  return { ...place, key, message, hint: '' }
}

/** Prints the file with every default as a comment. */
export function printConfigExample(terminal: Terminal): number {
  terminal.print(writeExampleFile())
  return exitCodes.done
}

/** Prints the reference page. */
export function printConfigDocs(terminal: Terminal): number {
  terminal.print(writeReferencePage())
  return exitCodes.done
}

/** Prints the JSON Schema of the configuration. */
export function printConfigSchema(terminal: Terminal): number {
  terminal.print(writeJsonSchema())
  return exitCodes.done
}
