// Rules for what functions take: few positional parameters, and the parts of the core's state instead of the whole.

import type { Violation } from './inspect-architecture.ts'
import type { SourceFile, SourceFunction } from './source-file.ts'

export interface ParameterRules {
  /** Maximum positional parameters of a function. */
  readonly max: number
  /** Functions that may have more, by file; `all`: every function of the file. */
  readonly allowed: Readonly<Record<string, readonly string[] | 'all'>>
}

export interface WholeStateRules {
  /** The type of the whole state. */
  readonly type: string
  /** Files with functions that may take it. */
  readonly files: readonly string[]
  /** Function parameters through which the whole state is passed on. */
  readonly callbacks: readonly string[]
}

/** Also reports entries of the list that are not needed. */
export function inspectParameters(sources: readonly SourceFile[], { max, allowed }: ParameterRules): Violation[] {
  const lists = new Map(Object.entries(allowed))
  const used = new Set<string>()
  const violations = sources.flatMap((file) =>
    file.functions.flatMap(({ name, line, parameters }): Violation[] => {
      if (parameters.length <= max) return []
      const names = lists.get(file.path)
      if (names === 'all' || names?.includes(name) === true) {
        used.add(names === 'all' ? file.path : `${file.path} ${name}`)
        return []
      }
      const message = `${name} has ${parameters.length} positional parameters, at most ${max}: use an object`
      return [{ kind: 'parameters', file: file.path, line, message }]
    }),
  )
  const entries = [...lists].flatMap(([path, names]) =>
    names === 'all' ? [{ path, key: path }] : names.map((name) => ({ path, key: `${path} ${name}` })),
  )
  const stale = entries.filter(({ key }) => !used.has(key))
  return [...violations, ...stale.map(({ path, key }) => unused('parameters', path, key))]
}

/**
 * A function takes the whole state only if it passes it to another function that takes it, and only in the files of the
 * list. So the reason is always the end of a chain of calls: `callbacks`.
 */
export function inspectWholeState(sources: readonly SourceFile[], rules: WholeStateRules): Violation[] {
  const found = sources.flatMap((file) =>
    file.functions.filter((one) => takesWhole(one, rules.type)).map((one) => ({ file: file.path, one })),
  )
  const names = new Set([...rules.callbacks, ...found.map(({ one }) => one.name)])
  const stale = rules.files.filter((path) => !found.some(({ file }) => file === path))
  return [
    ...found.flatMap(({ file, one }): Violation[] => {
      const advice = 'take the parts that it uses, see src/core/state/parts.ts'
      const report = (text: string): Violation[] => [
        { kind: 'whole-state', file, line: one.line, message: `${one.name} ${text}: ${advice}` },
      ]
      if (!rules.files.includes(file)) return report(`takes ${rules.type}`)
      return passesOnWhole(one, rules.type, names) ? [] : report(`does not pass on all of ${rules.type}`)
    }),
    ...stale.map((path) => unused('whole-state', path, path)),
  ]
}

function takesWhole({ parameters }: SourceFunction, type: string): boolean {
  return parameters.some((parameter) => parameter.type === type)
}

function passesOnWhole({ parameters, calls }: SourceFunction, type: string, names: ReadonlySet<string>): boolean {
  const whole = parameters.filter((parameter) => parameter.type === type).map(({ name }) => name)
  return calls.some(({ name, passed }) => names.has(name) && passed.some((argument) => whole.includes(argument)))
}

function unused(kind: Violation['kind'], file: string, entry: string): Violation {
  return { kind, file, line: 1, message: `the entry ${entry} of the list is not needed: delete it` }
}
