// Conditions, identifiers, stored values and jq.

import { compileJq, type JqProgram, runJq } from '../../jq/index.ts'
import {
  decodeJson,
  encodeJson,
  equals,
  isArray,
  isText,
  RuleError,
  type RuleValue,
  requireString,
  toTextForm,
} from '../../values/index.ts'
import { requireInteger } from './arguments.ts'
import type { Call, FunctionDefinition, FunctionDefinitions, RunFunction } from './rule-function.ts'

const variablePrefix = 'EMQXVAR_'

function coalesce(isSkipped: (value: RuleValue) => boolean, description: string): FunctionDefinition {
  return {
    signatures: ['list: array', 'first: any, second: any'],
    returns: 'any',
    description,
    run: (args) => {
      const values = args.length === 1 && isArray(args[0]) ? args[0] : args
      return values.find((value) => !isSkipped(value))
    },
  }
}

/** Time limit of jq at most. */
const maxJqTimeoutMs = 60_000

interface CompiledJq {
  readonly text: string
  readonly program: JqProgram
}

/** The program is mostly constant: each place in the SQL keeps its last one. */
function compileProgram(text: string, { site, budget }: Call): JqProgram {
  const known = site.memo as CompiledJq | undefined
  if (known !== undefined && known.text === text) return known.program
  budget.countRead(16 * text.length)
  const program = compileJq(text)
  site.memo = { text, program }
  return program
}

/** The limits of the rule hold as well. */
function jq([program, input, timeout]: readonly RuleValue[], call: Call): RuleValue {
  const timeoutMs =
    timeout === undefined ? call.host.jqTimeoutMs : requireInteger(timeout, 'jq: the time limit', 0, maxJqTimeoutMs)
  if (isText(input)) call.budget.countRead(16 * input.length)
  const value = isText(input) ? decodeJson(requireString(input, 'jq: the input')) : (input ?? null)
  const compiled = compileProgram(program as string, call)
  return call.budget.runWithin(timeoutMs, `jq: the program takes longer than ${timeoutMs} ms`, () =>
    runJq(compiled, value, call.budget),
  )
}

function toKey(key: RuleValue, { budget }: Call): string {
  return requireString(toTextForm(key, budget), 'the key')
}

function createStoreFunction(run: (key: string, args: readonly RuleValue[], call: Call) => RuleValue): RunFunction {
  return (args, call) => run(toKey(args[0], call), args, call)
}

/** Stored values are written as JSON once, so that one value cannot grow without bound through references. */
function requireStorable(value: RuleValue, { budget }: Call): RuleValue {
  if (value === undefined) throw new RuleError('undefined cannot be stored: use the function that deletes')
  if (typeof value === 'object') encodeJson(value, budget)
  return value
}

export const systemFunctions: FunctionDefinitions = {
  eq: {
    signatures: ['x: any, y: any'],
    returns: 'boolean',
    description: 'Whether two values are equal, without conversion: 1 equals 1.0 but not the text 1.',
    run: ([x, y], { budget }) => equals(x, y, budget),
  },
  null: { signatures: [''], returns: 'undefined', description: 'The value undefined.', run: () => undefined },
  coalesce: coalesce((value) => value === undefined, 'The first value that is not undefined.'),
  coalesce_ne: coalesce(
    (value) => value === undefined || value === '',
    'The first value that is neither undefined nor an empty text.',
  ),
  jq: {
    signatures: ['program: text, input: any', 'program: text, input: any, timeout_ms: integer'],
    returns: 'array',
    description:
      'Results of a jq program. A text is JSON input. The program is stopped after `timeout_ms`, or when it reaches a limit of the rule.',
    run: jq,
  },
  uuid_v4: { signatures: [''], returns: 'text', description: 'A random UUID.', run: (_args, { host }) => host.uuid() },
  uuid_v4_no_hyphen: {
    signatures: [''],
    returns: 'text',
    description: 'A random UUID without hyphens.',
    run: (_args, { host }) => host.uuid().replaceAll('-', ''),
  },
  getenv: {
    signatures: ['name: text'],
    returns: 'text',
    description: 'The environment variable `EMQXVAR_` + name; an empty text if it is not set.',
    run: ([name], { host }) => host.readEnvironmentVariable(variablePrefix + (name as string)) ?? '',
  },
  kv_store_put: {
    signatures: ['key: any, value: any'],
    returns: 'boolean',
    description: 'Stores a value for all rules of the node, in memory. Returns true.',
    run: createStoreFunction((key, [, value], call) => {
      call.host.storeValue('node', key, requireStorable(value, call))
      return true
    }),
  },
  kv_store_get: {
    signatures: ['key: any', 'key: any, default: any'],
    returns: 'any',
    description: 'A value that was stored; undefined or the default if there is none.',
    run: createStoreFunction((key, [, fallback], { host }) => {
      const value = host.readStoredValue('node', key)
      return value === undefined ? fallback : value
    }),
  },
  kv_store_del: {
    signatures: ['key: any'],
    returns: 'boolean',
    description: 'Deletes a stored value. Returns true.',
    run: createStoreFunction((key, _args, { host }) => {
      host.storeValue('node', key, undefined)
      return true
    }),
  },
  proc_dict_put: {
    signatures: ['key: any, value: any'],
    returns: 'any',
    description: 'Stores a value for the rules of the shard, in memory. Returns the previous value.',
    run: createStoreFunction((key, [, value], call) =>
      call.host.storeValue('shard', key, requireStorable(value, call)),
    ),
  },
  proc_dict_get: {
    signatures: ['key: any'],
    returns: 'any',
    description: 'A value that was stored with `proc_dict_put`.',
    run: createStoreFunction((key, _args, { host }) => host.readStoredValue('shard', key)),
  },
  proc_dict_del: {
    signatures: ['key: any'],
    returns: 'any',
    description: 'Deletes a value that was stored with `proc_dict_put`, and returns it.',
    run: createStoreFunction((key, _args, { host }) => host.storeValue('shard', key, undefined)),
  },
}
